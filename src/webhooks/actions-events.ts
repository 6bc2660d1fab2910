import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { Event } from './event.ts';
import * as store from './store.ts';

/** Adds the fields of the environment. */
function render(work: Work, row: store.EventRow): Event {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/** Refuses with `eventNotFound`. */
export async function getEvent(work: Work, id: string): Promise<Event> {
  const row = await store.findEvent(work, id);
  if (row === null) throw new Problem('eventNotFound', { id });
  return render(work, row);
}

/** The environment's events, in order of creation. Refuses an empty time range. */
export async function listEvents(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfEvents(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}
