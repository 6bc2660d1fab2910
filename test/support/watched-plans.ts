import pg from 'pg';

// Looks at the plans of statements as they would be on full tables, without filling any.

/**
 * Makes the planner believe that each table has so many rows, and that the rows of an environment have nothing in common.
 */
export async function pretendManyRows(owner: pg.Pool, rows: number): Promise<void> {
  // Without statistics of a column, each of its values is taken for one of hundreds.
  await owner.query(`do $$
    declare t record;
    begin
      for t in select c.oid::regclass as name, string_agg(format('alter column %I set statistics 0', a.attname), ', ') as changes
                 from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p') and a.attname not in ('environment_id', 'id')
                group by c.oid loop
        execute format('alter table %s %s', t.name, t.changes);
      end loop;
    end $$`);
  await owner.query(`delete from pg_statistic s using pg_class c, pg_attribute a
    where c.oid = s.starelid and c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and a.attrelid = c.oid and a.attnum = s.staattnum
      and a.attname not in ('environment_id', 'id')`);
  await owner.query('analyze');
  // The planner multiplies the size of a file by the rows on a page of it.
  await owner.query(
    `update pg_class set reltuples = $1, relpages = greatest(pg_relation_size(oid) / 8192, 1)
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'i')`,
    [rows],
  );
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A scan in the plan of a statement that reads a whole table, or all rows of an environment. */
export interface WideScan {
  readonly table: string;
  readonly kind: 'table' | 'environment';
  readonly statement: string;
}

// Only these have plans of their own. Transactions, settings and listeners do not.
const planned = /^\s*(select|with|insert|update|delete)\b/i;
// A sort or an aggregate needs all rows before it answers the first.
const needsAll = /Sort|Aggregate|Hash|Materialize|WindowAgg/;

/** Whether an index is asked for more than an environment: `((environment_id = 1) AND (id = 'a'))` is, or it is of few rows. */
function isNarrow(node: PlanNode | undefined, partial: ReadonlySet<string>): boolean {
  return partial.has(node?.['Index Name'] ?? '') || / AND |^\((?!environment_id)/.test(node?.['Index Cond'] ?? '');
}

function* wideScans(
  node: PlanNode,
  isLimited: boolean,
  partial: ReadonlySet<string>,
): Generator<Omit<WideScan, 'statement'>> {
  const type = node['Node Type'];
  const table = node['Relation Name'];
  if (type === 'Seq Scan' && table !== undefined) yield { table, kind: 'table' };
  if (/^Index/.test(type) && table !== undefined && !isLimited && !isNarrow(node, partial))
    yield { table, kind: 'environment' };
  if (type === 'Bitmap Heap Scan' && table !== undefined) {
    const [index] = node.Plans ?? [];
    if (index?.Plans === undefined && !isNarrow(index, partial)) yield { table, kind: 'environment' };
  }
  const isStill = type === 'Limit' || (isLimited && !needsAll.test(type));
  for (const part of node.Plans ?? []) yield* wideScans(part, isStill, partial);
}

/**
 * Runs `act`, and asks for the plan of every statement that it sends, on its own connection and in its own transaction.
 */
export async function watchPlans<Answer>(
  owner: pg.Pool,
  act: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly scans: readonly WideScan[] }> {
  const scans = new Map<string, WideScan>();
  const { rows: indexes } = await owner.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where indpred is not null',
  );
  const partial = new Set(indexes.map(({ name }) => name));
  const query = pg.Client.prototype.query as unknown as (this: pg.Client, ...given: unknown[]) => Promise<unknown>;
  const look = async (client: pg.Client, text: string, values: unknown) => {
    const explained = { text: `explain (format json) ${text}`, values };
    const { rows } = (await query.call(client, explained)) as { rows: { 'QUERY PLAN': [{ Plan: PlanNode }] }[] };
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) return;
    for (const scan of wideScans(plan, false, partial))
      scans.set(`${scan.kind} ${scan.table} ${text}`, { ...scan, statement: text.replace(/\s+/g, ' ').trim() });
  };
  const watched = async function (this: pg.Client, ...given: unknown[]) {
    const [asked, values] = given;
    const { text, values: own } = typeof asked === 'string' ? { text: asked, values } : (asked as pg.QueryConfig);
    if (planned.test(text)) await look(this, text, own);
    return query.apply(this, given);
  };
  Object.assign(pg.Client.prototype, { query: watched });
  try {
    return { answer: await act(), scans: [...scans.values()] };
  } finally {
    Object.assign(pg.Client.prototype, { query });
  }
}
