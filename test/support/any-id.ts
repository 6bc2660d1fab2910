import { newId } from '../../src/database/new-id.ts';
import { homeSlot, type IdKind } from '../../src/kernel/id.ts';

/** An id of a record that a test writes past the service, whose slot does not matter. */
export function anyId(kind: IdKind): string {
  return newId(kind as 'event', homeSlot);
}
