import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { idArray, idColumn, jsonElement, textArray } from '../database/array-literal.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { KeyEntry, Work } from '../database/work.ts';
import { Turns } from '../jobs/turns.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idPrefixes } from '../kernel/id.ts';
import { listRatesOfMeters, type MeterRate } from '../pricing/store-credit-pools.ts';
import { indexConditions } from '../rating/conditions.ts';
import { hourOf } from './event-query.ts';
import {
  type Draft,
  type NamedCustomer,
  seriesOf,
  thresholdsOf,
  type UsagePart,
  type UsageSum,
} from './usage-draft.ts';
import {
  type ConditionalPrice,
  canonicalJson,
  type EventMeter,
  type PoolRates,
  type ReferenceKind,
  type UsageEvent,
  type UsagePrice,
  type UsagePrices,
} from './usage-event.ts';

/** A reference to a price in a pricing model. */
export interface PriceReference {
  readonly pricingModelId: string;
  /** The product whose rates apply to a usage meter. */
  readonly productId: string;
  readonly kind: ReferenceKind;
  readonly value: string;
}

const ofEvents = sql`case when p.pricing ->> 'model' = 'dynamic' then 'own' when p.pricing ? 'fixedAmountPerEvent' then 'counted' else 'none' end as of_events`;

/** How each kind of reference finds its price. A slug is looked for among the prices that are in use, an id among all. */
function searchFor(kind: ReferenceKind, environmentId: number) {
  switch (kind) {
    case 'priceId':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id, p.where, ${ofEvents}
          from asked join prices p on p.environment_id = ${environmentId} and p.id = asked.value
           and p.pricing_model_id = asked.pricing_model_id
         where asked.kind = 'priceId'`;
    case 'priceSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id, p.where, ${ofEvents}
          from asked join prices p on p.environment_id = ${environmentId} and p.pricing_model_id = asked.pricing_model_id
           and p.slug = asked.value and p.active and p.type = 'usage'
         where asked.kind = 'priceSlug'`;
    case 'usageMeterId':
    case 'usageMeterSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, m.id as usage_meter_id, p.where, ${ofEvents}
          from asked join usage_meters m on m.environment_id = ${environmentId} and m.pricing_model_id = asked.pricing_model_id
           and ${sql.ref(kind === 'usageMeterId' ? 'm.id' : 'm.slug')} = asked.value
          left join products plan on plan.environment_id = ${environmentId} and plan.id = asked.product_id
          left join prices p on p.environment_id = ${environmentId} and p.usage_meter_id = m.id
           and (case when plan.usage_prices ? m.id then p.id = plan.usage_prices ->> m.id else p.is_default end
                or p.active and p.where is not null)
         where asked.kind = ${kind}`;
    default:
      return kind satisfies never;
  }
}

/** The usage meters of pricing models that count events of these names, by `textOfName`, in order of creation. */
export async function findEventMeters(
  work: Work,
  names: readonly { readonly pricingModelId: string; readonly name: string }[],
): Promise<ReadonlyMap<string, readonly EventMeter[]>> {
  const { rows } = await sql<EventMeter & { pricingModelId: string; name: string }>`
    select m.pricing_model_id, m.event_name as name, m.id, m.slug, m.where, m.value_property, m.aggregation_type, m.is_measured,
           m.recurring as is_recurring
      from unnest(${textArray(names.map(({ pricingModelId }) => pricingModelId))}::text[],
                  ${textArray(names.map(({ name }) => name))}::text[]) as asked (pricing_model_id, name)
      join usage_meters m on m.environment_id = ${work.environmentId} and m.pricing_model_id = asked.pricing_model_id
       and m.event_name = asked.name
     order by m.id`.execute(work.db);
  return Map.groupBy(rows, textOfName);
}

export function textOfName({ pricingModelId, name }: { pricingModelId: string; name: string }): string {
  return `${pricingModelId} ${name}`;
}

/** The prices that each reference may mean, in the order asked; undefined where there is none. */
export async function resolvePrices(
  work: Work,
  requested: readonly PriceReference[],
): Promise<(UsagePrices | undefined)[]> {
  // Only the kinds that are asked for: nearly always one, and a statement of four takes twice as long to plan.
  const kinds = [...new Set(requested.map((each) => each.kind))].sort();
  const searches = kinds.map((kind) => searchFor(kind, work.environmentId));
  const { rows } = await sql<Omit<UsagePrice, 'isRest'> & { position: number }>`
    with asked as (
      select * from unnest(
        ${textArray(requested.map((each) => each.pricingModelId))}::text[],
        ${textArray(requested.map((each) => each.productId))}::text[],
        ${textArray(requested.map((each) => each.kind))}::text[],
        ${textArray(requested.map((each) => each.value))}::text[]
      ) with ordinality as asked (pricing_model_id, product_id, kind, value, position)
    ), found as (${sql.join(searches, sql` union all `)})
    select found.*, m.aggregation_type, m.is_measured, m.recurring as is_recurring, m.low_balance_threshold
      from found left join usage_meters m on m.environment_id = ${work.environmentId} and m.id = found.usage_meter_id`.execute(
    work.db,
  );
  const byPosition = Map.groupBy(rows, ({ position }) => position);
  const meterIds = [...new Set(rows.flatMap(({ usageMeterId }) => usageMeterId ?? []))];
  const rates = Map.groupBy(await listRatesOfMeters(work, meterIds), ({ usageMeterId }) => usageMeterId);
  return requested.map(({ kind }, index) => {
    const prices = (byPosition.get(index + 1) ?? []).map(({ position: _, ...price }) => {
      return { ...price, isRest: false, poolRates: indexRates(rates.get(price.usageMeterId ?? '') ?? []) };
    });
    const [first] = prices;
    const conditional = prices.filter(isConditional);
    if (kind === 'priceId' || kind === 'priceSlug' || conditional.length === 0)
      return first && { rest: first, conditional: null };
    const rest = prices.find((price) => !isConditional(price));
    return rest && { rest: { ...rest, isRest: true }, conditional: indexConditions(conditional) };
  });
}

function indexRates(rates: readonly MeterRate[]): PoolRates | null {
  if (rates.length === 0) return null;
  const ofRest = rates.filter(({ where }) => where === null);
  const conditional = rates.flatMap(({ where, ...rate }) => (where === null ? [] : { ...rate, where }));
  return {
    conditional: conditional.length === 0 ? null : indexConditions(conditional),
    // A rate comes before a pool that draws at the price.
    rest: ofRest.find(({ unitCost }) => unitCost !== null) ?? ofRest[0] ?? null,
  };
}

function isConditional(price: UsagePrice): price is ConditionalPrice {
  return price.where !== null;
}

const idPrefix = `${idPrefixes.usageEvent}_`;

/** The id of an event as it is stored: without the prefix of its kind, which would be the same for each. */
export function shortId(id: string): string {
  return id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id;
}

/** The permanent key of a transaction: the first half of the SHA-256 of its environment, meter and transactionId. */
export function transactionKeyOf(
  environmentId: number,
  { usageMeterId, transactionId }: Pick<UsageEvent, 'usageMeterId' | 'transactionId'>,
): string {
  return hash('sha256', `${environmentId} ${usageMeterId} ${transactionId}`, 'hex').slice(0, 32);
}

/** The digest of properties in a billing period, on a meter that counts distinct properties. */
export function propertiesDigest(
  ledgerAccountId: string,
  { billingPeriodId, properties }: Pick<UsageEvent, 'billingPeriodId' | 'properties'>,
): string {
  return hash('sha256', `${ledgerAccountId} ${billingPeriodId} ${canonicalJson(properties)}`, 'hex');
}

/** The environment of an API key, and what else recording usage needs to know of it. */
export interface KeyScope {
  readonly environmentId: number;
  readonly livemode: boolean;
  /** The test clock, where one is set. */
  readonly clockNow: Instant | null;
  /** The only pricing model that the key may see, or null. */
  readonly pricingModelId: string | null;
}

/** Null where the key is not valid, or has not the permission. */
export async function readScope(database: Database, { apiKeyHash, sufficient }: KeyEntry): Promise<KeyScope | null> {
  const { rows } = await sql<{ [Key in keyof KeyScope]: KeyScope[Key] | null }>`
    select environment_id, livemode, clock_now, pinned_to as pricing_model_id
      from authenticate(${apiKeyHash}, ${Date.now()}, ${sufficient}::text[])`.execute(database);
  const [scope] = rows;
  return typeof scope?.environmentId === 'number' ? (scope as KeyScope) : null;
}

/** The number under which a unit of work records usage. Until it ends, no other partition is opened for events. */
export async function nextBooking(work: Work): Promise<number> {
  const { rows } = await sql<{ booking: number }>`select next_usage_booking() as booking`.execute(work.db);
  assert(rows[0] !== undefined, 'a sequence has a next value');
  return rows[0].booking;
}

/**
 * The columns of new events as arrays, in the order of `series, key, id, transaction, amount, date, properties, own_price,
 * label`.
 */
async function eventArrays(environmentId: number, drafts: readonly Draft[]): Promise<RawBuilder<unknown>> {
  const turns = new Turns();
  const keys = await turns.map(drafts, (draft) => transactionKeyOf(environmentId, draft.event));
  const properties = await turns.map(drafts, ({ propertiesText }) => jsonElement(propertiesText));
  await turns.next();
  return sql`
    ${idColumn(drafts, (draft) => seriesOf(draft).id)}::bigint[],
    ${idArray(keys)}::uuid[],
    ${idColumn(drafts, ({ event }) => shortId(event.id))}::text[],
    ${textArray(drafts.map(({ event }) => event.transactionId))}::text[],
    ${idColumn(drafts, ({ event }) => event.amount)}::bigint[],
    ${idColumn(drafts, ({ event }) => event.usageDate)}::bigint[],
    ${`{${properties.join()}}`}::json[],
    ${textArray(drafts.map(({ event }) => event.price ?? null))}::numeric[],
    ${textArray(drafts.map(({ event }) => event.label ?? null))}::text[]`;
}

/**
 * Stores the events whose transaction no event has yet, the first of equal ones. Answers how many it stored. Equal
 * requests that arrive at once wait here for one another, always in the same order.
 */
export async function insertEvents(work: Work, drafts: readonly Draft[], booking: number): Promise<number> {
  const { environmentId, now } = work;
  const { numAffectedRows } = await sql`
    with new as materialized (
      select * from unnest(${await eventArrays(environmentId, drafts)})
               as new (series, key, id, transaction, amount, date, properties, own_price, label)
    )
    insert into usage_events (environment_id, booking, series_id, transaction_key, id, transaction_id, amount, usage_date, properties,
           own_price, label, created_at)
    select ${environmentId}, ${booking}, new.*, ${now}::bigint
      from one_row, new
     where ${isNewest(booking)}
     order by new.key, new.id collate "C"
    on conflict do nothing`.execute(work.db);
  return Number(numAffectedRows);
}

const bookingsOfPartition = 2 ** 40;

/**
 * Whether no older partition has the transaction of a new event `new`. These get no events any more, so what a look finds
 * stays true. The partition of the booking has a unique key.
 */
function isNewest(booking: number): RawBuilder<boolean> {
  const first = Math.floor(booking / bookingsOfPartition) * bookingsOfPartition;
  if (first === 0) return sql<boolean>`true`;
  // One look for all keys: a look for each takes twice as long.
  return sql<boolean>`new.key not in (
    select e.transaction_key from usage_events e
     where e.transaction_key = any(array(select key from new)) and e.booking >= (select usage_unique_from()) and e.booking < ${sql.lit(first)})`;
}

/** Usage in the order in which accounts are locked. Additions to roll-ups of other hours are apart. */
interface BookingOrder {
  readonly usages: readonly UsageSum[];
  readonly rollUps: readonly { seriesId: number; hour: Instant; units: bigint; events: number }[];
}

function orderOf(sums: readonly UsageSum[], now: Instant): BookingOrder {
  const usages = sums.filter(({ units }) => units > 0n).sort(compareLocks);
  const rollUps = sums.flatMap((sum) => {
    const seriesId = seriesOf(sum.draft).id;
    const others = Array.from(sum.otherHours, ([hour, { units, events }]) => ({ seriesId, hour, units, events }));
    // An account on which nothing is booked is not written.
    if (sum.units === 0n && sum.hourEvents > 0)
      others.push({ seriesId, hour: hourOf(now), units: 0n, events: sum.hourEvents });
    return others;
  });
  return { usages, rollUps };
}

/** The order in which all accounts are locked: subscription, then usage meter. */
function compareLocks({ draft: one }: UsageSum, { draft: other }: UsageSum): number {
  const [a, b] = [one.event, other.event];
  if (a.subscriptionId !== b.subscriptionId) return a.subscriptionId < b.subscriptionId ? -1 : 1;
  if (a.usageMeterId === b.usageMeterId) return 0;
  return a.usageMeterId < b.usageMeterId ? -1 : 1;
}

/** For each usage, the units of its account up to it, and at the first of an account all its units. */
function unitsOfAccounts(usages: readonly UsageSum[]) {
  const accountOf = ({ draft }: UsageSum) => seriesOf(draft).ledgerAccountId;
  const totals = new Map<string, bigint>();
  const upTo = usages.map((usage) => {
    const units = (totals.get(accountOf(usage)) ?? 0n) + usage.units;
    totals.set(accountOf(usage), units);
    return units;
  });
  const ofAccount = usages.map((usage, index) =>
    upTo[index] === usage.units ? (totals.get(accountOf(usage)) ?? null) : null,
  );
  return { upTo, ofAccount };
}

/** The parts of usages in the order in which they came, each with the position of its usage. */
function partsOf(usages: readonly UsageSum[]) {
  const parts = usages.flatMap((usage, index) => usage.parts.map((part) => ({ ...part, usage: index + 1 })));
  return parts.sort((one, other) => one.position - other.position);
}

/** The arguments of `book_usage` from u_account to d_pool_entry: see migrations/0015-record-usage.sql. */
function bookingArrays({ usages, rollUps }: BookingOrder, isWatched: boolean): RawBuilder<unknown> {
  const { upTo, ofAccount } = unitsOfAccounts(usages);
  const parts = partsOf(usages);
  return sql`
    ${idColumn(usages, ({ draft }) => seriesOf(draft).ledgerAccountId)}::text[],
    ${idColumn(usages, ({ draft }) => draft.subscription.revision)}::bigint[],
    ${idColumn(usages, ({ draft }) => draft.event.priceId)}::text[],
    ${idColumn(usages, ({ draft }) => draft.event.billingPeriodId)}::text[],
    ${idColumn(usages, ({ draft }) => seriesOf(draft).id)}::bigint[],
    ${idColumn(usages, ({ draft }) => newId('ledgerEntry', seriesOf(draft).ledgerAccountId))}::text[],
    ${idColumn(usages, ({ units }) => units)}::numeric[],
    ${idColumn(usages, ({ hourUnits }) => hourUnits)}::numeric[],
    ${idColumn(usages, ({ hourEvents }) => hourEvents)}::bigint[],
    ${idArray(upTo)}::numeric[],
    ${idArray(ofAccount)}::numeric[],
    ${idColumn(usages, ({ draft }) => (isWatched ? draft.price.lowBalanceThreshold : null))}::numeric[],
    ${idColumn(usages, ({ events }) => events)}::numeric[],
    ${idColumn(usages, ({ ownAmount }) => ownAmount)}::numeric[],
    ${idColumn(rollUps, ({ seriesId }) => seriesId)}::bigint[],
    ${idColumn(rollUps, ({ hour }) => hour)}::bigint[],
    ${idColumn(rollUps, ({ units }) => units)}::numeric[],
    ${idColumn(rollUps, ({ events }) => events)}::bigint[],
    ${textArray(thresholdsOf(usages.map(({ draft }) => draft)))}::text[],
    ${idColumn(parts, ({ usage }) => usage)}::integer[],
    ${idColumn(parts, ({ units }) => units)}::numeric[],
    ${idColumn(parts, ({ rate }) => rate?.creditPoolId ?? null)}::text[],
    ${idColumn(parts, ({ rate }) => rate?.unitCost ?? null)}::numeric[],
    ${idColumn(parts, ({ rate }) => (isWatched ? (rate?.lowBalanceThreshold ?? null) : null))}::numeric[],
    ${idColumn(parts, ({ entryId }) => entryId)}::text[],
    ${idColumn(parts, ({ usage }) => newEntryId(usages, usage))}::text[]`;
}

/** The id of an entry of a usage, by the position of the usage. */
function newEntryId(usages: readonly UsageSum[], position: number): string {
  const usage = usages[position - 1];
  assert(usage, 'a part belongs to a usage');
  return newId('ledgerEntry', seriesOf(usage.draft).ledgerAccountId);
}

/** The arguments d_pooled and d_amount of `book_usage`. */
function paidArrays(parts: readonly UsagePart[]): RawBuilder<unknown> {
  if (parts.every(({ paid }) => paid === null)) return sql`null::numeric[], null::numeric[]`;
  return sql`
    ${idColumn(parts, ({ paid }) => paid?.units ?? 0n)}::numeric[],
    ${idColumn(parts, ({ paid }) => paid?.amount ?? null)}::numeric[]`;
}

/** The smallest units that booked usage of this unit of work took from credit pools, by the id of its entry. */
export async function listDrawn(
  work: Work,
  accountIds: readonly string[],
  entryIds: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  if (entryIds.length === 0) return new Map();
  const { rows } = await sql<{ id: string; drawn: bigint }>`
    select id, coalesce(pool_amount, amount * pool_unit_cost) as drawn from ledger_entries
     where environment_id = ${work.environmentId} and ledger_account_id = any(${textArray(accountIds)}::text[])
       and created_at >= ${work.now}::bigint and id = any(${textArray(entryIds)}::text[])`.execute(work.db);
  return new Map(rows.map(({ id, drawn }) => [id, drawn]));
}

/**
 * Books usage whose events this unit of work has stored. Answers the accounts whose balance fell below the threshold of
 * their meter or credit pool, where these are watched. Fails with 40001 where a subscription has changed since it was read.
 */
export async function bookUsage(
  work: Work,
  sums: readonly UsageSum[],
  { booking, isWatched = true }: { readonly booking: number; readonly isWatched?: boolean },
): Promise<readonly string[]> {
  if (sums.length === 0) return [];
  const { environmentId, now } = work;
  const order = orderOf(sums, now);
  const { rows } = await sql<{ fallen: string[] | null }>`
    select book_usage(${environmentId}, ${now}, ${hourOf(now)}, ${booking}, ${newId('ledgerTransaction')},
      ${sums[0]?.draft.event.pricingModelId}, true, ${bookingArrays(order, isWatched)}, ${paidArrays(partsOf(order.usages))}) as fallen`.execute(
    work.db,
  );
  return rows[0]?.fallen ?? [];
}

/** The customers that events name as arrays, in the order of `kind, value, state`. */
function customerArrays(drafts: readonly Draft[]): RawBuilder<unknown> {
  const named = new Set<NamedCustomer>();
  for (const { customer } of drafts) if (customer !== undefined) named.add(customer);
  const columns = [...named];
  return sql`
    ${textArray(columns.map(({ kind }) => kind))}::text[],
    ${textArray(columns.map(({ value }) => value))}::text[],
    ${textArray(columns.map(({ state }) => state))}::text[]`;
}

/** The SQLSTATEs by which `record_usage` asks for a transaction in its place. */
const needsTransaction = new Set(['40001', '40P01', '23505', 'TK001', 'TK002']);
/** The SQLSTATE of a balance that does not cover the usage: a transaction decides which of the requests are refused. */
const isUncovered = 'TK003';

/** The balance that a batch leaves on each account that it consumes from. Empty where nothing is consumed. */
export type BalancesLeft = ReadonlyMap<string, bigint>;

/**
 * Stores and books new events of an API key: one statement, which is a transaction by itself. Null where something that
 * was read before has changed, an event is there already, or a balance falls below its threshold: nothing is stored then.
 * The answer is 'uncovered' where `consumes` and a balance does not cover all its usage.
 */
export async function recordAtOnce(
  database: Database,
  { entry, scope, realNow, now }: { entry: KeyEntry; scope: KeyScope; realNow: Instant; now: Instant },
  drafts: readonly Draft[],
  { sums, consumes }: { readonly sums: readonly UsageSum[]; readonly consumes: boolean },
): Promise<BalancesLeft | 'uncovered' | null> {
  const { environmentId } = scope;
  const models = [
    ...new Map(sums.map(({ draft: { subscription } }) => [subscription.pricingModelId, subscription.catalogVersion])),
  ];
  const events = await eventArrays(environmentId, drafts);
  const order = orderOf(sums, now);
  try {
    const { rows } = await sql<{ balances: string[] | null }>`
      select record_usage(${entry.apiKeyHash}, ${entry.sufficient}::text[], ${realNow}, ${environmentId}, ${now}, ${hourOf(now)},
        ${idColumn(models, ([id]) => id)}::text[], ${idColumn(models, ([, version]) => version)}::bigint[],
        ${newId('ledgerTransaction')}, ${sums[0]?.draft.event.pricingModelId},
        ${customerArrays(drafts)}, ${events}, ${bookingArrays(order, true)}, ${consumes})::text[] as balances`.execute(
      database.withoutPlugins(),
    );
    const balances = rows[0]?.balances;
    if (!balances) return new Map();
    return new Map(order.usages.map(({ draft }, at) => [seriesOf(draft).ledgerAccountId, BigInt(balances[at] ?? 0)]));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === isUncovered) return 'uncovered';
    if (needsTransaction.has(String(code))) return null;
    throw error;
  }
}

/** An event without what the work itself tells. */
export type StoredEvent = Omit<UsageEvent, 'livemode' | 'updatedAt'>;

interface StoredRow extends Omit<StoredEvent, 'properties' | 'price' | 'label' | 'beyondLimit'> {
  readonly propertiesText: string | null;
  readonly ownPrice: string | null;
  readonly label: string | null;
  readonly beyondLimit: true | null;
}

/** The columns of an event `e` and its series `s`, as `toStoredEvent` reads them. */
export const eventColumns = sql`
  ${sql.lit(idPrefix)} || e.id as id, e.created_at, s.pricing_model_id, s.customer_id, s.subscription_id, s.usage_meter_id, s.price_id,
  s.billing_period_id, e.transaction_id, e.amount, e.usage_date, e.properties::text as properties_text,
  trim_scale(e.own_price)::text as own_price, e.label, e.beyond_limit`;

/** Runs a select of `eventColumns`. */
export async function selectEvents(work: Work, query: RawBuilder<unknown>): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`${query}`.execute(work.db);
  return new Turns().map(rows, ({ propertiesText, ownPrice, label, beyondLimit, ...row }) => ({
    ...row,
    ...(ownPrice === null ? {} : { price: ownPrice }),
    ...(label === null ? {} : { label }),
    ...(beyondLimit === null ? {} : { beyondLimit }),
    // The text was parsed as an object or null before it was stored.
    properties: propertiesText === null ? {} : (JSON.parse(propertiesText) as UsageEvent['properties']),
  }));
}

/** Matches events whose transactions count as repeats now. A transaction that has several means the last of them. */
const isRecent = sql<boolean>`booking >= (select usage_unique_from())`;

/** The id, without prefix, of the event that each of these transactions has, by its key. */
export async function listIdsByTransactionKey(
  work: Work,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ key: string; id: string }>`
    select replace(transaction_key::text, '-', '') as key, id from usage_events
     where environment_id = ${work.environmentId} and transaction_key = any(${idArray(keys)}::uuid[]) and ${isRecent}
     order by booking`.execute(work.db);
  return new Map(rows.map((row) => [row.key, row.id]));
}

/** The stored events of these transactions. */
export async function listByTransactionKey(work: Work, keys: readonly string[]): Promise<StoredEvent[]> {
  // The events first: a plan that was made for any number of keys could begin with every series there is.
  return selectEvents(
    work,
    sql`
    with e as materialized (
      select * from usage_events
       where environment_id = ${work.environmentId} and transaction_key = any(${idArray(keys)}::uuid[]) and ${isRecent}
    )
    select ${eventColumns} from e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
     order by e.booking`,
  );
}

/** Marks stored events that a blocking spend limit would have refused. */
export async function markBeyondLimit(work: Work, drafts: readonly Draft[]): Promise<void> {
  if (drafts.length === 0) return;
  await sql`
    update usage_events set beyond_limit = true
     where environment_id = ${work.environmentId} and id = any(${idColumn(drafts, ({ event }) => shortId(event.id))}::text[])`.execute(
    work.db,
  );
}

/** The digests that an event has counted with. */
export async function listSeenProperties(work: Work, digests: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ digest: string }>`
    select encode(p.digest, 'hex') as digest
      from unnest(${idArray(digests)}::text[]) as asked (digest)
      join usage_event_distinct_properties p on p.environment_id = ${work.environmentId} and p.digest = decode(asked.digest, 'hex')`.execute(
    work.db,
  );
  return rows.map((row) => row.digest);
}

/** The properties of an event, as a digest, on a meter that counts distinct ones. */
interface DistinctRow {
  /** Without the prefix of its kind. */
  readonly eventId: string;
  /** SHA-256 of the account, the period and the canonical JSON, in hexadecimal. */
  readonly digest: string;
}

/** Stores the properties seen in a period. Answers the ids of the events that were the first with theirs. */
export async function insertFirstWithProperties(
  work: Work,
  rows: readonly DistinctRow[],
): Promise<ReadonlySet<string>> {
  const first = await sql<{ usageEventId: string }>`
    insert into usage_event_distinct_properties (environment_id, digest, usage_event_id)
    select ${work.environmentId}, decode(new.digest, 'hex'), new.usage_event_id
      from one_row, unnest(${idArray(rows.map(({ digest }) => digest))}::text[], ${idArray(rows.map(({ eventId }) => eventId))}::text[])
             as new (digest, usage_event_id)
     order by new.digest collate "C", new.usage_event_id collate "C"
    on conflict do nothing
    returning usage_event_id`.execute(work.db);
  return new Set(first.rows.map((row) => row.usageEventId));
}
