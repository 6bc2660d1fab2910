import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { type CheckedInvariant, checkInvariants } from './invariants/check-invariants.ts';
import { readMark } from './invariants/store-checks.ts';
import { maxRows, type Violations } from './invariants/store-invariants.ts';
import { findSeriesWithGaps } from './invariants/store-series.ts';
import { type Allowance, findUnknownAllowances } from './invoicing/store-allowances.ts';
import { type Output, print } from './main-admin.ts';
import { eachCell, type SchemaOfServer, type WorkerAccess, withWorker } from './main-database.ts';
import { readSlots } from './organizations/store-cells.ts';

const reading = { access: 'read' } as const;

// An allowance that both cells are about to change is the same in both within this time.
const looks = 3;
const lookAgainMs = 500;
// Versions of slots begin with 0.
const noVersion = -1;

/** Compares two cells, which no snapshot shows together. */
async function checkAllowances(home: Database, there: Database): Promise<CheckedInvariant> {
  let unknown: readonly Allowance[] = await findUnknownAllowances(home, there);
  for (let look = 1; look < looks && unknown.length > 0; look++) {
    await sleep(lookAgainMs);
    unknown = await findUnknownAllowances(home, there);
  }
  return {
    name: 'homeCountsAllowances',
    sentence: 'The home cell counts as many redemptions of a discount for a slot as its cell may have.',
    violations: violationsOf(unknown),
  };
}

function violationsOf(rows: readonly object[]): Violations {
  return { count: rows.length, rows: rows.slice(0, maxRows).map((row) => ({ ...row })) };
}

/** Compares all cells. Null: customers were moving, so some would have been missed or met twice. */
async function checkSeries({ worker }: WorkerAccess, server: SchemaOfServer): Promise<CheckedInvariant | null> {
  const before = await readSlots(worker, noVersion);
  if (before === null || before.isMoving) return null;
  const series = await findSeriesWithGaps(async (question) => {
    const others = await eachCell(worker, server, (there) => question(there.worker), reading);
    return [...(await question(worker)), ...others.flatMap(({ answer }) => answer)];
  });
  // The start of a move is another version.
  if ((await readSlots(worker, before.version)) !== null) return null;
  return {
    name: 'seriesOfCellsHaveNoGap',
    sentence: 'The documents of a series in all cells are numbered from 1 without gaps up to the last number taken.',
    violations: violationsOf(series),
  };
}

interface CheckOptions extends Output {
  readonly full?: boolean;
}

/**
 * Returns whether all invariants hold. Read-only; the service's own checks keep their stored results.
 */
export async function check(config: Config, { full = false, ...output }: CheckOptions): Promise<boolean> {
  const startedAt = Date.now();
  const checkOne = async ({ worker }: WorkerAccess) => {
    const since = full ? null : await readMark(worker);
    return { isFull: since === null, results: await checkInvariants(worker, since) };
  };
  const checkCell = (homeWorker: Database) => async (there: WorkerAccess) => {
    const { isFull: all, results: ofCell } = await checkOne(there);
    return { isFull: all, results: [...ofCell, await checkAllowances(homeWorker, there.worker)] };
  };
  const { home, cells, series } = await withWorker(
    config,
    async (access, server) => {
      const ofHome = await checkOne(access);
      const ofCells = await eachCell(access.worker, server, checkCell(access.worker), reading);
      const ofAll = ofCells.length > 0 ? await checkSeries(access, server) : null;
      return { home: ofHome, cells: ofCells, series: ofAll };
    },
    reading,
  );
  const isFull = home.isFull && cells.every(({ answer }) => answer.isFull);
  const results: readonly (CheckedInvariant & { readonly cell?: string })[] = [
    ...home.results,
    ...cells.flatMap(({ cell, answer }) => answer.results.map((result) => ({ ...result, cell }))),
    ...(series === null ? [] : [series]),
  ];
  const broken = results.filter(({ violations }) => violations.count > 0);
  const text = [
    ...broken.flatMap(({ name, cell, sentence, violations: { count, rows } }) => [
      `BROKEN  ${cell === undefined ? '' : `cell ${cell}, `}${name}: ${sentence}`,
      `${count} ${count === 1 ? 'row breaks' : 'rows break'} it${count > rows.length ? `, such as these ${rows.length}` : ''}:`,
      ...rows.map((row) => `  ${JSON.stringify(row)}`),
      '',
    ]),
    ...(cells.length > 0 && series === null
      ? ['Series of numbers were not compared between cells, because customers were moving. Check again.']
      : []),
    isFull ? 'All data was checked.' : 'Usage that passed an earlier check was skipped. Use --full to check all data.',
    `${results.length} invariants checked, ${broken.length} broken.`,
  ];
  const data = {
    checked: results.length,
    broken,
    full: isFull,
    durationMs: Date.now() - startedAt,
    invariants: results,
  };
  print(output, data, text.join('\n'));
  return broken.length === 0;
}
