import { sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { decodeCursor } from '../../src/kernel/pagination.ts';
import type { Answer, Body, TestApp } from './harness.ts';
import type { Tenant } from './tenants-world.ts';

/** What the victim writes into every text of its own: nobody else has it. */
const mark = 'Zerzura';
// Ids, and numbers that are no small counts: amounts, instants.
const ownText = /_[0-9A-Za-z]{21}|victim|zerzura/i;
const leastNumber = 1_000_000;

/** Writes the mark into everything of the victim's that has a name, a reason or the like. */
export async function markTexts(app: TestApp, { environmentId, world }: Tenant): Promise<void> {
  for (const { owner } of app.cells) {
    const { rows } = await sql<{ table: string; column: string }>`
      select c.relname as table, a.attname as column
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid
        join pg_attribute m on m.attrelid = c.oid and m.attname = 'pricing_model_id'
       where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind = 'r' and a.atttypid = 'text'::regtype
         and a.attname in ('name', 'description', 'memo', 'reason', 'customer_name', 'output_name', 'failure_message')
         -- Copies follow home.
         and ((select is_home from cell) or c.relname not in (select name from copied_tables()))`.execute(owner);
    for (const { table, column } of rows) {
      // Why an invoice was made is one of a few words, in the sums of days too.
      if (['invoices', 'money_days'].includes(table) && column === 'reason') continue;
      await sql`update ${sql.table(table)} set ${sql.ref(column)} = coalesce(${sql.ref(column)}, '') || ${` ${mark}`}
        where environment_id = ${environmentId} and pricing_model_id = ${world.pricingModelId}`.execute(owner);
    }
  }
}

/** What may be seen of nobody but the victim: its ids, texts and large numbers, without what the intruder has too. */
export async function marksOf(app: TestApp, victim: Tenant, intruder: Tenant): Promise<readonly string[]> {
  const hidden = new Set<string>();
  const { organizationId } = await app.owner
    .selectFrom('environments')
    .select('organizationId')
    .where('id', '=', intruder.environmentId)
    .executeTakeFirstOrThrow();
  const own = new Set<string>([organizationId]);
  await app.copyCatalogs();
  const rows = (await Promise.all(app.cells.map(({ owner }) => readRows(owner)))).flat();
  for (const { table, row } of rows) {
    const isOwn = mayBeSeenBy(intruder, table, row);
    if (!isOwn && row.environment_id !== victim.environmentId) continue;
    for (const value of valuesIn(row)) (isOwn ? own : hidden).add(value);
  }
  return [...hidden].filter((value) => !own.has(value));
}

/** What the intruder's key is for. */
function mayBeSeenBy({ environmentId, pinnedPricingModelId }: Tenant, table: string, row: Body): boolean {
  if (row.environment_id !== environmentId) return false;
  const model = table === 'pricing_models' ? row.id : row.pricing_model_id;
  return pinnedPricingModelId === null || model === undefined || model === pinnedPricingModelId;
}

async function readRows(owner: Database): Promise<{ table: string; row: Body }[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment_id'
     where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p')`.execute(
    owner,
  );
  const all: { table: string; row: Body }[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ row: Body }>`select to_jsonb(t) as row from ${sql.table(name)} t`.execute(owner);
    all.push(...rows.map(({ row }) => ({ table: name, row })));
  }
  return all;
}

function* valuesIn(value: unknown): Generator<string> {
  if (typeof value === 'string' && ownText.test(value)) yield value;
  else if (typeof value === 'number' && value >= leastNumber) yield String(value);
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) yield* valuesIn(each);
}

/** An answer as whoever asked sees it: status, headers and body, without what every answer has anew. */
export function shownText({ status, headers, body }: Answer): string {
  const kept = [...headers].filter(([name]) => !everNew.has(name));
  return JSON.stringify({ status, headers: kept, body }, (key, value) => {
    if (everNewFields.has(key)) return undefined;
    return /^(current|next)Cursor$/.test(key) ? decodeCursor(value) : value;
  });
}

const everNew = new Set(['x-request-id', 'date', 'content-length', 'etag', 'connection', 'keep-alive']);
const everNewFields = new Set(['request_id', 'previewGeneratedAt']);

/** A value of the same form that names nothing. */
export function absentLike(value: string): string {
  const end = value === value.toUpperCase() ? 'ZZZZ' : 'zzzz';
  return `${value.slice(0, -end.length)}${end}`;
}

/** The same words about any record. */
export function withoutValue(text: string, value: string): string {
  return text.replaceAll(value, '<asked>').replaceAll(encodeURIComponent(value), '<asked>');
}

/** What of the victim an answer shows, besides the value that was asked for. */
export function shownMarks(text: string, marks: readonly string[], requested: string): string[] {
  const rest = withoutValue(text, requested);
  return marks.filter((each) => rest.includes(each));
}

/** What came of asking for something of the victim's. */
export interface Refusal {
  readonly answer: Answer;
  /** What came of asking for something that nobody has; null where that is something else. */
  readonly ofAbsent: Answer | null;
  readonly value: string;
  readonly marks: readonly string[];
}

export function answerTo(app: TestApp, method: string, path: string, body: unknown, key: string): Promise<Answer> {
  return app.request(method, path, body, { key });
}

/** What is wrong with a refusal: nothing, when it tells no more than that there is nothing. */
export function refusalOf({ answer, ofAbsent, value, marks }: Refusal, statuses: readonly number[]): string[] {
  const text = shownText(answer);
  const wrong = shownMarks(text, marks, value).map((each) => `shows ${each}`);
  const isEmpty = statuses.includes(404) && answer.status === 200 && answer.body?.data?.length === 0;
  if (!statuses.includes(answer.status) && !isEmpty) wrong.push(`is answered ${text}`);
  if (ofAbsent === null) return wrong;
  const other = withoutValue(shownText(ofAbsent), absentLike(value));
  const same = withoutValue(text, value);
  return same === other ? wrong : [...wrong, `differs from nothing: ${same} and ${other}`];
}

// As many as the service has connections for, and some are left for the others.
const atOnce = 8;

/** Acts on each, a few at a time. */
export async function inTurns<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await act(item);
    }),
  );
}
