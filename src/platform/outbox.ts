import { sql } from 'kysely';
import { enqueue } from './jobs.ts';
import { newId } from './new-id.ts';
import type { Work } from './work.ts';

/** Something that happened to a record, to be told in the commit of the change. */
export interface Happening {
  readonly type: string;
  readonly object: string;
  readonly objectId: string;
  readonly pricingModelId: string;
  readonly customer: { readonly id: string; readonly externalId: string };
}

/** The task that takes new events to their receivers. */
export const relayTask = 'relay_events';

/** Writes the events of this unit of work, and asks for their delivery, in its commit. */
export async function publish(work: Work, happenings: readonly Happening[]): Promise<void> {
  if (happenings.length === 0) return;
  const rows = happenings.map((happening) => {
    const eventId = newId('event');
    const payload = {
      id: happening.objectId,
      object: happening.object,
      customer: happening.customer,
      pricingModelId: happening.pricingModelId,
      type: happening.type,
      eventId,
      occurredAt: work.now,
      livemode: work.livemode,
    };
    return {
      environmentId: work.environmentId,
      id: eventId,
      pricingModelId: happening.pricingModelId,
      type: happening.type,
      object: happening.object,
      objectId: happening.objectId,
      payload: sql<never>`${JSON.stringify(payload)}::jsonb`,
      occurredAt: work.now,
      createdAt: work.now,
    };
  });
  await work.db.insertInto('events').values(rows).execute();
  await enqueue(work, relayTask, { eventIds: rows.map((row) => row.id) });
}
