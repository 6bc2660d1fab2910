import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { slots } from './kernel/id.ts';
import { type Output, print } from './main-admin.ts';
import { readSlotCount } from './main-cells.ts';
import { asOnlyMover, finishMove, type Moved, type Mover } from './main-mover.ts';
import { countSlots } from './organizations/store-cells.ts';
import { beginMove, deleteCell, hasCustomers, listSlots } from './organizations/store-moves.ts';

// Lists of all cells are read while nothing moves.
const pauseMs = 100;

/** The slots that a call has moved, and those that stay, by the reason. */
interface Outcome {
  readonly moved: Set<string>;
  readonly stay: Map<string, string>;
}

/** Runs `act` while nobody else moves slots. Slots of a move that was interrupted count too. */
function withMover<Answer>(
  config: Config,
  action: string,
  act: (mover: Mover, outcome: Outcome) => Promise<Answer>,
): Promise<Answer> {
  return asOnlyMover(config, action, (mover, interrupted) => {
    const outcome: Outcome = { moved: new Set(), stay: new Map() };
    if (interrupted !== null) note(outcome, interrupted);
    return act(mover, outcome);
  });
}

// Slots that move together are closed together. Many of a small cell have few rows.
const mostSlots = 256;
const [fastMs, slowMs] = [200, 1_000];

interface Moving {
  readonly source: string | null;
  /** The cell of the next slots. */
  readonly targetOf: () => string | null;
  /** How many slots are still to be moved. */
  readonly lacking: () => number;
}

/** Moves slots of a cell, as many at once as move within a moment. Notes those that cannot move. */
async function moveAll(mover: Mover, { source, targetOf, lacking }: Moving, outcome: Outcome): Promise<void> {
  const waiting = await listSlots(mover.home, source);
  for (let size = 1; waiting.length > 0 && lacking() > 0; ) {
    const next = waiting.splice(0, Math.min(size, lacking()));
    const codes = next.filter((code) => !outcome.moved.has(code) && !outcome.stay.has(code));
    if (codes.length === 0) continue;
    const move = { codes, source, target: targetOf() };
    const begunAt = performance.now();
    await beginMove(mover.home, move);
    const moved = await finishMove(mover, move);
    const tookMs = performance.now() - begunAt;
    if (moved.reason !== null && codes.length > 1) {
      // Each by itself shows which one has to stay.
      waiting.unshift(...codes);
      size = 1;
      continue;
    }
    note(outcome, moved);
    if (tookMs < fastMs) size = Math.min(2 * size, mostSlots);
    else if (tookMs > slowMs) size = Math.ceil(size / 2);
    await sleep(pauseMs);
  }
}

function note({ moved, stay }: Outcome, { codes, reason }: Moved): void {
  for (const code of codes)
    if (reason === null) moved.add(code);
    else stay.set(code, reason);
}

interface MoveOptions extends Output {
  /** How many slots the target has afterwards. */
  readonly slots: string;
}

/** Moves slots from one cell to another until that one has so many. Safe to repeat. */
export async function moveSlots(
  config: Config,
  from: string,
  to: string,
  { slots: text, ...output }: MoveOptions,
): Promise<void> {
  const wanted = readSlotCount(text);
  if (from === to) throw new Error('<to>: must be another cell than <from>');
  await withMover(config, 'cells move', async (mover, outcome) => {
    const [source, target] = [placeOf(mover, from), placeOf(mover, to)];
    await Promise.all([mover.open(source), mover.open(target)]);
    const lackingAtFirst = wanted - ((await slotsOfPlaces(mover.home)).get(target) ?? 0) + outcome.moved.size;
    const moving = { source, targetOf: () => target, lacking: () => lackingAtFirst - outcome.moved.size };
    await moveAll(mover, moving, outcome);
    await report(mover, target, outcome, output);
  });
}

/** Moves all slots of a cell to the others that have slots, and to the home cell. Safe to repeat. */
export async function drainCell(config: Config, name: string, output: Output): Promise<void> {
  await withMover(config, 'cells drain', async (mover, outcome) => {
    const source = placeOf(mover, name);
    if (source === null) throw new Error(`${name} is the home cell, which has the slots that no other cell has.`);
    await mover.open(source);
    const places = await slotsOfPlaces(mover.home);
    places.delete(source);
    // In turn, so that each gets as many.
    const targets = [...places].toSorted((a, b) => a[1] - b[1]).map(([target]) => target);
    let turn = 0;
    const targetOf = () => targets[turn++ % targets.length] ?? null;
    await moveAll(mover, { source, targetOf, lacking: () => slots }, outcome);
    await report(mover, source, outcome, output);
  });
}

function placeOf({ homeName }: Mover, name: string): string | null {
  return name === homeName ? null : name;
}

/** The slots of the home cell, and of the others that have any. */
async function slotsOfPlaces(home: Database): Promise<Map<string | null, number>> {
  const counts = await countSlots(home);
  const given = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return new Map<string | null, number>([[null, slots - given], ...counts]);
}

async function report(mover: Mover, cell: string | null, { moved, stay }: Outcome, output: Output): Promise<void> {
  const has = (await slotsOfPlaces(mover.home)).get(cell) ?? 0;
  const name = cell ?? mover.homeName;
  const reasons = new Map<string, number>();
  for (const reason of stay.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const staying = [...reasons].map(([reason, count]) => ({ reason, slots: count }));
  const lines = [
    `${moved.size} slots moved. Cell ${name} has ${has} of ${slots} slots.`,
    ...staying.map(({ reason, slots: count }) => `${count} slots stay: ${reason}.`),
  ];
  print(output, { name, slots: has, moved: moved.size, staying }, lines.join('\n'));
}

/** Takes a cell without slots and customers out of the list. Its schema stays. */
export async function removeCell(config: Config, name: string, output: Output): Promise<void> {
  await withMover(config, 'cells remove', async (mover) => {
    const { worker: there } = await mover.open(name);
    if ((await hasCustomers(there)) || !(await deleteCell(mover.home, name)))
      throw new Error(`Cell ${name} has slots or customers. Run first: tollkeeper cells drain ${name}`);
  });
  print(output, { name }, `Cell ${name} is no part of the installation any more.`);
}
