import { randomInt } from 'node:crypto';
import {
  continueId,
  homeSlot,
  type IdKind,
  idRandomRange,
  idStart,
  idsPerMillisecond,
  type SharedIdKind,
  type SlotIdKind,
  slotOf,
} from '../kernel/id.ts';

let lastMs = 0;
let start = '';
let counter = 0;

/**
 * A new id of the kind. Ids of one process always increase, even when the machine's clock is set back. They follow real
 * time, not the environment's test clock: their order is the order of creation. Some kinds get the slot
 * of another id, `like`.
 */
export function newId(kind: SlotIdKind, like: string): string;
export function newId(kind: SharedIdKind): string;
export function newId(kind: IdKind, like: string = homeSlot): string {
  const nowMs = Date.now();
  counter += 1;
  if (nowMs > lastMs || counter >= idsPerMillisecond) {
    lastMs = Math.max(nowMs, lastMs + 1);
    start = idStart(lastMs, randomInt(0, 2 ** 41) % idRandomRange);
    counter = randomInt(0, idsPerMillisecond / 4);
  }
  return continueId(kind, start, counter, slotOf(like));
}
