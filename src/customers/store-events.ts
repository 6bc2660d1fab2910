import { sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';

/** A domain event about a record, published in the commit of the change. */
export interface DomainEvent {
  readonly type: string;
  readonly object: string;
  readonly objectId: string;
  readonly pricingModelId: string;
  readonly customer: { readonly id: string; readonly externalId: string };
  /** The record after the change, as the API answers it. */
  readonly data: object;
  /** Set when the event is about one usage meter of the record. */
  readonly usageMeterId?: string;
  /** Set when the event is about a credit pool of the customer, with its balance then. */
  readonly creditPool?: { readonly id: string; readonly availableBalance: string };
  /** Set when the event is about attempts of one kind and scope. */
  readonly attempts?: { readonly kind: string; readonly scope: string };
  /** Set when the event is about a refund of the payment. */
  readonly refund?: { readonly id: string; readonly amount: bigint };
  /** Set when the event is about a spend limit of the customer. */
  readonly spendLimit?: object;
  /**
   * The cause, of which a record has at most one event of this type: '' where there is one in its life. Absent: a change
   * whose condition is part of its update.
   */
  readonly cause?: string;
}

// The limits of requests keep records below it. A receiver may refuse larger messages.
const maxDataLength = 256 * 1024;

/** The record, or null if it is too large for a message. */
function sized(data: object): object | null {
  return JSON.stringify(data).length > maxDataLength ? null : data;
}

/** Publishes the events of this unit of work. A database trigger addresses them to webhooks in the same commit. */
export async function publish(work: Work, events: readonly DomainEvent[]): Promise<void> {
  if (events.length === 0) return;
  const eventIds = events.map(({ customer }) => newId('event', customer.id));
  const { environmentId, livemode } = work;
  const instants = events.map(({ customer }) => instantOf(work, customer.id));
  const payloads = events.map(({ objectId, cause: _, data, ...event }, index) =>
    JSON.stringify({
      id: objectId,
      ...event,
      eventId: eventIds[index],
      occurredAt: instants[index],
      livemode,
      data: sized(data),
    }),
  );
  const all = <Key extends keyof DomainEvent>(key: Key) => events.map((event) => event[key]);
  await sql`
    insert into events (environment_id, id, pricing_model_id, type, object, object_id, cause, payload, occurred_at, created_at)
    select ${environmentId}, new.*, new.occurred_at
      from one_row, unnest(${eventIds}::text[], ${all('pricingModelId')}::text[], ${all('type')}::text[], ${all('object')}::text[],
                  ${all('objectId')}::text[], ${events.map(({ cause }) => cause ?? null)}::text[], ${payloads}::jsonb[],
                  ${instants}::bigint[]) as new (id, pricing_model_id, type, object, object_id, cause, payload, occurred_at)
        on conflict (environment_id, object_id, type, cause) where cause is not null do nothing`.execute(work.db);
}
