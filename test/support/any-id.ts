import { newId } from '../../src/database/new-id.ts';
import { homeSlot, type IdKind } from '../../src/kernel/id.ts';

let usualSlot = homeSlot;

/** Lets ids of this process have a slot of the cell that a test writes to. */
export function useSlot(slot: string): void {
  usualSlot = slot;
}

/** An id of a record that a test writes past the service. */
export function anyId(kind: IdKind, slot = usualSlot): string {
  return newId(kind as 'event', slot);
}
