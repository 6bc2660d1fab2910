import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { readUsageEntry } from './actions-ledger-entries.ts';
import { toUsageEvent } from './actions-record.ts';
import { toEventQuery } from './event-query.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import * as store from './store-read.ts';
import type { UsageEvent } from './usage-event.ts';

export async function getUsageEvent(work: Work, id: string): Promise<UsageEvent> {
  const row = await store.findEvent(work, id);
  if (row === null) throw new Problem('usageEventNotFound', { id });
  return toUsageEvent(work, row);
}

/** The ledger entry in which an event was booked; null if it did not count. Refuses with `usageEventNotFound`. */
export async function getEntryOfUsageEvent(work: Work, id: string): Promise<LedgerEntry | null> {
  const booking = await store.findBooking(work, id);
  if (booking === null) throw new Problem('usageEventNotFound', { id });
  return booking.counts ? readUsageEntry(work, booking) : null;
}

/** A page of events in order of creation. The filters are those of `eventFilters`. */
export async function listUsageEvents(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfEvents(work, toEventQuery(request.filters), request);
  return page(
    request,
    rows.map((row) => toUsageEvent(work, row)),
    total,
  );
}
