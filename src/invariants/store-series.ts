import { sql } from 'kysely';
import type { Database } from '../database/database.ts';

// A series of an environment stays in its cell, and its documents move with their customers. So only all cells together know whether
// it has a gap, and no snapshot shows all cells. Three reads replace one: the incomplete series, then their last numbers, then the
// documents up to these numbers, which are all committed by then.

/** The numbers of invoices and credit notes, split into stem and counter. One that does not split gets a stem that no series has. */
const numberedDocuments = sql`
  select environment_id, id, coalesce(substring(number from '^(.*-)[0-9]+$'), '') as stem,
         coalesce(substring(number from '-([0-9]+)$')::numeric, 1) as n
    from (select environment_id, id, invoice_number as number from invoices where invoice_number is not null
          union all select environment_id, id, credit_note_number from credit_notes) documents`;

/** The series that are not complete by themselves in this database. */
export const incompleteSeries = sql`
  select environment_id, stem as id, s.counted, count(d.id) as documents, count(distinct d.n) as numbers,
         min(d.n) as first_number, max(d.n) as last_number
    from number_series s full join (${numberedDocuments}) d using (environment_id, stem)
   group by environment_id, stem, s.counted
  having s.counted is distinct from count(d.id) or count(distinct d.n) <> count(d.id)
      or min(d.n) <> 1 or max(d.n) <> count(d.id)`;

interface Series {
  readonly environmentId: number;
  readonly id: string;
}

/** Numbers of a series in one cell, or in all of them. */
interface Numbers {
  /** The last number taken. */
  readonly counted: bigint;
  readonly lastNumber: bigint;
  readonly documents: bigint;
  readonly sum: bigint;
  readonly squares: bigint;
}

type SeriesWithGap = Series & Pick<Numbers, 'counted' | 'documents' | 'lastNumber'>;

/** Asks each cell, the home cell too. */
type AskEach = <Answer>(question: (db: Database) => Promise<readonly Answer[]>) => Promise<readonly Answer[]>;

/** The series that are not numbered from 1 to the last number taken over all cells. No customer may move meanwhile. */
export async function findSeriesWithGaps(ask: AskEach): Promise<SeriesWithGap[]> {
  const found = new Map<string, Series & Numbers>();
  const add = (rows: readonly (Series & Partial<Numbers>)[]) => {
    for (const { environmentId, id, ...numbers } of rows) {
      const key = `${environmentId} ${id}`;
      const known = found.get(key) ?? { environmentId, id, ...nothing };
      const lastNumber = [known.lastNumber, numbers.lastNumber ?? 0n].reduce((a, b) => (a > b ? a : b));
      found.set(key, {
        ...known,
        lastNumber,
        counted: known.counted + (numbers.counted ?? 0n),
        documents: known.documents + (numbers.documents ?? 0n),
        sum: known.sum + (numbers.sum ?? 0n),
        squares: known.squares + (numbers.squares ?? 0n),
      });
    }
  };
  add(await ask(listIncomplete));
  add(await ask((db) => listCounted(db, [...found.values()])));
  add(await ask((db) => sumDocuments(db, [...found.values()])));
  return [...found.values()]
    .filter((series) => !isComplete(series))
    .map(({ environmentId, id, counted, documents, lastNumber }) => ({
      environmentId,
      id,
      counted,
      documents,
      lastNumber,
    }));
}

const nothing: Numbers = { counted: 0n, lastNumber: 0n, documents: 0n, sum: 0n, squares: 0n };

/** Whether these are the numbers from 1 to the last one. Sums of squares differ where a duplicate makes up for a gap in the sums. */
export function isComplete({ counted, lastNumber, documents, sum, squares }: Numbers): boolean {
  return (
    lastNumber <= counted &&
    documents === counted &&
    sum === (counted * (counted + 1n)) / 2n &&
    squares === (counted * (counted + 1n) * (2n * counted + 1n)) / 6n
  );
}

async function listIncomplete(db: Database) {
  const { rows } = await sql<Series & Pick<Numbers, 'lastNumber'>>`
    select environment_id, id, coalesce(last_number, 0) as last_number from (${incompleteSeries}) series`.execute(db);
  return rows;
}

async function listCounted(db: Database, wanted: readonly Series[]) {
  const { rows } = await sql<Series & Pick<Numbers, 'counted'>>`
    select environment_id, stem as id, s.counted::numeric
      from unnest(${wanted.map((each) => each.environmentId)}::bigint[], ${wanted.map((each) => each.id)}::text[])
             as wanted (environment_id, stem)
      join number_series s using (environment_id, stem)`.execute(db);
  return rows;
}

async function sumDocuments(db: Database, upTo: readonly (Series & Numbers)[]) {
  const { rows } = await sql<Series & Pick<Numbers, 'documents' | 'sum' | 'squares'>>`
    select environment_id, stem as id, count(*)::numeric as documents, sum(n) as sum, sum(n * n) as squares
      from unnest(${upTo.map((each) => each.environmentId)}::bigint[], ${upTo.map((each) => each.id)}::text[],
                  ${upTo.map((each) => each.counted)}::numeric[]) as wanted (environment_id, stem, counted)
      join (${numberedDocuments}) numbered using (environment_id, stem)
     where n <= counted
     group by environment_id, stem`.execute(db);
  return rows;
}
