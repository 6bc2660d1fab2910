import { sql } from 'kysely';
import type { PageRequest } from '../kernel/page.ts';
import { selectPage } from '../platform/select-page.ts';
import type { Work } from '../platform/work.ts';
import { isBehind } from '../subscriptions/store-renewals.ts';
import type { ReferenceKind, UsageEvent, UsagePrice, UsageSubscription } from './usage-event.ts';

/**
 * The subscriptions with these ids, held until the work ends: whoever ends or renews one waits for the usage that is
 * under way, so all of it is on the bill. They are held in the order in which the subscriptions of a customer are. One
 * for which something is due is not there: as it stands it is not the one that the usage is for.
 */
export async function holdSubscriptions(work: Work, ids: readonly string[]): Promise<UsageSubscription[]> {
  const { rows } = await sql<UsageSubscription>`
    select s.id, s.status, s.pricing_model_id, s.customer_id, c.archived as customer_archived, s.current_billing_period_start
      from subscriptions s join customers c on c.environment_id = s.environment_id and c.id = s.customer_id
     where s.environment_id = ${work.environmentId} and s.id = any(${ids}::text[]) and not ${isBehind(work.now)}
     order by s.id desc for share of s`.execute(work.db);
  return rows;
}

/** The current billing period of each of the subscriptions that has one, by the subscription's id. */
export async function findCurrentPeriods(
  work: Work,
  subscriptions: readonly UsageSubscription[],
): Promise<ReadonlyMap<string, string>> {
  // A statement of its own: it sees what was committed while the subscriptions were waited for.
  const { rows } = await sql<{ id: string; subscriptionId: string }>`
    select p.id, p.subscription_id
      from unnest(
             ${subscriptions.map((subscription) => subscription.id)}::text[],
             ${subscriptions.map((subscription) => subscription.currentBillingPeriodStart)}::bigint[]
           ) as asked (subscription_id, start_at)
      join billing_periods p on p.environment_id = ${work.environmentId} and p.subscription_id = asked.subscription_id
       and p.start_at = asked.start_at and p.start_at <= ${work.now}`.execute(work.db);
  return new Map(rows.map((row) => [row.subscriptionId, row.id]));
}

/** What to look for in a pricing model. */
export interface PriceReference {
  readonly pricingModelId: string;
  readonly kind: ReferenceKind;
  readonly value: string;
}

/** How each kind of reference finds its price. A slug is looked for among the prices that are in use, an id among all. */
function searchFor(kind: ReferenceKind, environmentId: number) {
  switch (kind) {
    case 'priceId':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id
          from asked join prices p on p.environment_id = ${environmentId} and p.id = asked.value
           and p.pricing_model_id = asked.pricing_model_id
         where asked.kind = 'priceId'`;
    case 'priceSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id
          from asked join prices p on p.environment_id = ${environmentId} and p.pricing_model_id = asked.pricing_model_id
           and p.slug = asked.value and p.active and p.type = 'usage'
         where asked.kind = 'priceSlug'`;
    case 'usageMeterId':
    case 'usageMeterSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, m.id as usage_meter_id
          from asked join usage_meters m on m.environment_id = ${environmentId} and m.pricing_model_id = asked.pricing_model_id
           and ${sql.ref(kind === 'usageMeterId' ? 'm.id' : 'm.slug')} = asked.value
          left join prices p on p.environment_id = ${environmentId} and p.usage_meter_id = m.id and p.is_default
         where asked.kind = ${kind}`;
    default:
      return kind satisfies never;
  }
}

/** What each reference leads to, in the order asked; undefined where it leads nowhere. */
export async function resolvePrices(work: Work, asked: readonly PriceReference[]): Promise<(UsagePrice | undefined)[]> {
  // Only the kinds that are asked for: nearly always one, and a statement of four takes twice as long to plan.
  const kinds = [...new Set(asked.map((each) => each.kind))].sort();
  const searches = kinds.map((kind) => searchFor(kind, work.environmentId));
  const { rows } = await sql<UsagePrice & { position: number }>`
    with asked as (
      select * from unnest(
        ${asked.map((each) => each.pricingModelId)}::text[],
        ${asked.map((each) => each.kind)}::text[],
        ${asked.map((each) => each.value)}::text[]
      ) with ordinality as asked (pricing_model_id, kind, value, position)
    ), found as (${sql.join(searches, sql` union all `)})
    select found.*, m.aggregation_type
      from found left join usage_meters m on m.environment_id = ${work.environmentId} and m.id = found.usage_meter_id`.execute(
    work.db,
  );
  const byPosition = new Map(rows.map(({ position, ...price }) => [position, price]));
  return asked.map((_, index) => byPosition.get(index + 1));
}

/** An event to be stored. `propertiesText` are its properties as JSON. */
export interface EventRow {
  readonly event: UsageEvent;
  readonly propertiesText: string | null;
}

/**
 * Stores the events whose (usage meter, transactionId) no event has yet, the first of equal ones. Answers the ids of
 * those that it stored. Equal requests that arrive at once wait here for one another, always in the same order.
 */
export async function insertNewEvents(work: Work, rows: readonly EventRow[]): Promise<ReadonlySet<string>> {
  // What the events of one subscription and price have in common is sent once, and each event says where it stands.
  const positions = new Map<string, number>();
  const shared: UsageEvent[] = [];
  const targets = rows.map(({ event }) => {
    const key = `${event.subscriptionId} ${event.priceId}`;
    const known = positions.get(key);
    if (known !== undefined) return known;
    const position = shared.push(event);
    positions.set(key, position);
    return position;
  });
  const stored = await sql<{ id: string }>`
    insert into usage_events (environment_id, id, pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id,
           billing_period_id, transaction_id, amount, usage_date, properties, created_at)
    select ${work.environmentId}, new.id, target.pricing_model_id, target.customer_id, target.subscription_id,
           target.usage_meter_id, target.price_id, target.billing_period_id, new.transaction_id, new.amount, new.usage_date,
           new.properties, ${work.now}::bigint
      from unnest(
             ${targets}::integer[],
             ${rows.map(({ event }) => event.id)}::text[],
             ${rows.map(({ event }) => event.transactionId)}::text[],
             ${rows.map(({ event }) => event.amount)}::bigint[],
             ${rows.map(({ event }) => event.usageDate)}::bigint[],
             ${rows.map(({ propertiesText }) => propertiesText)}::json[]
           ) as new (target, id, transaction_id, amount, usage_date, properties)
      join unnest(
             ${shared.map((event) => event.pricingModelId)}::text[],
             ${shared.map((event) => event.customerId)}::text[],
             ${shared.map((event) => event.subscriptionId)}::text[],
             ${shared.map((event) => event.usageMeterId)}::text[],
             ${shared.map((event) => event.priceId)}::text[],
             ${shared.map((event) => event.billingPeriodId)}::text[]
           ) with ordinality
           as target (pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id, billing_period_id, position)
        on target.position = new.target
     order by target.usage_meter_id collate "C", new.transaction_id collate "C", new.id collate "C"
    on conflict (environment_id, usage_meter_id, transaction_id) do nothing
    returning id`.execute(work.db);
  return new Set(stored.rows.map((row) => row.id));
}

/** An event without what the work itself tells. */
export type StoredEvent = Omit<UsageEvent, 'livemode' | 'updatedAt'>;

const columns = [
  'id',
  'createdAt',
  'pricingModelId',
  'customerId',
  'subscriptionId',
  'usageMeterId',
  'priceId',
  'billingPeriodId',
  'transactionId',
  'amount',
  'usageDate',
  'properties',
] as const;

/** The stored events that have the meter and transactionId of one of these. */
export async function listByTransaction(
  work: Work,
  asked: readonly { usageMeterId: string; transactionId: string }[],
): Promise<StoredEvent[]> {
  const selected = sql.join(columns.map((column) => sql.ref(`e.${column}`)));
  const { rows } = await sql<StoredEvent>`
    select ${selected}
      from (select distinct * from unnest(
             ${asked.map((each) => each.usageMeterId)}::text[],
             ${asked.map((each) => each.transactionId)}::text[]) as pairs (usage_meter_id, transaction_id)) asked
      join usage_events e on e.environment_id = ${work.environmentId} and e.usage_meter_id = asked.usage_meter_id
       and e.transaction_id = asked.transaction_id`.execute(work.db);
  return rows;
}

/** The properties of an event, as a digest, on a meter that counts distinct ones. */
export interface DistinctRow {
  readonly event: UsageEvent;
  /** SHA-256 of the canonical JSON, in hexadecimal. */
  readonly digest: string;
}

/** Remembers the properties seen in a period. Answers the ids of the events that were the first with theirs. */
export async function insertFirstWithProperties(
  work: Work,
  rows: readonly DistinctRow[],
): Promise<ReadonlySet<string>> {
  const first = await sql<{ usageEventId: string }>`
    insert into usage_event_distinct_properties (environment_id, subscription_id, usage_meter_id, billing_period_id, digest,
           usage_event_id)
    select ${work.environmentId}, new.subscription_id, new.usage_meter_id, new.billing_period_id, decode(new.digest, 'hex'),
           new.usage_event_id
      from unnest(
             ${rows.map(({ event }) => event.subscriptionId)}::text[],
             ${rows.map(({ event }) => event.usageMeterId)}::text[],
             ${rows.map(({ event }) => event.billingPeriodId)}::text[],
             ${rows.map(({ digest }) => digest)}::text[],
             ${rows.map(({ event }) => event.id)}::text[]
           ) as new (subscription_id, usage_meter_id, billing_period_id, digest, usage_event_id)
     order by new.subscription_id collate "C", new.usage_meter_id collate "C", new.digest collate "C",
              new.usage_event_id collate "C"
    on conflict do nothing
    returning usage_event_id`.execute(work.db);
  return new Set(first.rows.map((row) => row.usageEventId));
}

export async function findEvent(work: Work, id: string): Promise<StoredEvent | null> {
  const { rows } = await sql<StoredEvent>`
    select ${sql.join(columns.map((column) => sql.ref(column)))} from usage_events
     where environment_id = ${work.environmentId} and id = ${id}`.execute(work.db);
  return rows[0] ?? null;
}

export async function pageOfEvents(work: Work, request: PageRequest): Promise<{ rows: StoredEvent[]; total: number }> {
  return selectPage<StoredEvent>(work, 'usage_events', columns, request, {
    customerId: 'customerId',
    subscriptionId: 'subscriptionId',
    usageMeterId: 'usageMeterId',
  });
}
