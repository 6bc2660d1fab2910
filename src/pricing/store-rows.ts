import { constraintOf } from '../database/database-problem.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';

/** Columns that every new row begins with. */
export function newRowStamps(work: Work): { environmentId: number; createdAt: Instant; updatedAt: Instant } {
  return { environmentId: work.environmentId, createdAt: work.now, updatedAt: work.now };
}

const maxParameters = 65_535;
// More take long to put into words.
const maxRowsPerStatement = 2000;

/** Splits rows into statements, as long ones as the protocol allows: one for any realistic catalog. */
export function* statementsOf<Row extends object>(rows: readonly Row[]): Generator<Row[]> {
  const columns = Object.keys(rows[0] ?? {}).length;
  const rowsPerStatement = Math.min(maxRowsPerStatement, Math.floor(maxParameters / Math.max(columns, 1)));
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    yield rows.slice(start, start + rowsPerStatement);
  }
}

// Enough to recognize the request, short enough for one line.
const maxSlugsNamed = 5;

/**
 * Runs a statement about these rows, and names the slug if a unique constraint refuses it: under row-level security
 * PostgreSQL does not report the value. Names the first few of several rows.
 */
export async function namingTakenSlug<Answer>(
  record: string,
  rows: readonly { readonly slug: string | null }[],
  statement: Promise<Answer>,
): Promise<Answer> {
  try {
    return await statement;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const isTaken = code === '23505' && constraintOf(error)?.endsWith('slug_unique');
    if (!isTaken) throw error;
    const slugs = rows.flatMap(({ slug }) => slug ?? []);
    const named = slugs.slice(0, maxSlugsNamed).join(', ');
    const slug = slugs.length === 1 ? named : `(one of ${named}${slugs.length > maxSlugsNamed ? ', ...' : ''})`;
    throw new Problem('slugTaken', { slug, record });
  }
}
