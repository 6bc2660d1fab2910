import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type PageRequest, page } from '../kernel/page.ts';
import { Problem } from '../kernel/problem.ts';
import { postUsage } from '../ledger/actions.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import * as store from './store.ts';
import {
  type BillablePrice,
  canonicalJson,
  checkProperties,
  type EventPath,
  type NewUsageEvent,
  referenceOf,
  refusal,
  requirePrice,
  requireSubscription,
  type UsageEvent,
  type UsagePrice,
  type UsageSubscription,
} from './usage-event.ts';

/** Does what is due for these subscriptions, so that what is recorded next meets them as they are now. */
export type CatchUp = (work: Work, subscriptionIds: readonly string[]) => Promise<void>;

/** Records one event, as `recordUsageEvents` does. */
export async function recordUsageEvent(work: Work, given: NewUsageEvent, catchUp: CatchUp): Promise<UsageEvent> {
  const [event] = await recordUsage(work, [given], () => ['usageEvent'], catchUp);
  assert(event !== undefined, 'one answer for one event');
  return event;
}

/**
 * Records usage, all or nothing: the events are stored and booked on the ledger accounts. Answers one event for each
 * that was given, in order. An event whose transactionId its meter has already is answered as it was first stored, and
 * counts no more; when another subscription recorded it, the request is refused. As many statements for ten thousand
 * events as for one. A refusal names the event that it is about. `catchUp` is asked where the period of a subscription
 * is over, so that the usage is not counted to that.
 */
export function recordUsageEvents(
  work: Work,
  given: readonly NewUsageEvent[],
  catchUp: CatchUp,
): Promise<UsageEvent[]> {
  return recordUsage(work, given, (index) => ['usageEvents', index], catchUp);
}

async function recordUsage(
  work: Work,
  given: readonly NewUsageEvent[],
  pathOf: (index: number) => EventPath,
  catchUp: CatchUp,
): Promise<UsageEvent[]> {
  const subscriptions = await holdSubscriptions(work, given, catchUp);
  const drafts = await draftEvents(work, given, pathOf, subscriptions);
  const storedIds = await store.insertNewEvents(work, drafts);
  const isNew = ({ event }: Draft) => storedIds.has(event.id);
  await bookUsage(work, drafts.filter(isNew));
  if (storedIds.size === drafts.length) return drafts.map(({ event }) => event);
  const earlier = await findEarlier(
    work,
    drafts.filter((draft) => !isNew(draft)),
  );
  return drafts.map((draft) => {
    if (isNew(draft)) return draft.event;
    const first = earlier.get(transactionKey(draft.event));
    assert(first !== undefined, 'what could not be stored is there already');
    if (first.subscriptionId === draft.event.subscriptionId) return first;
    const { transactionId } = draft.event;
    throw refusal('transactionIdTaken', [...draft.path, 'transactionId'], transactionId);
  });
}

/** An event of a request that passed every check and was not yet stored. */
interface Draft {
  readonly event: UsageEvent;
  readonly propertiesText: string | null;
  readonly price: BillablePrice;
  readonly path: EventPath;
}

/** The subscriptions of the events as they are now. Where nothing is due, and all exist, one statement. */
async function holdSubscriptions(
  work: Work,
  given: readonly NewUsageEvent[],
  catchUp: CatchUp,
): Promise<UsageSubscription[]> {
  const ids = [...new Set(given.map((event) => event.subscriptionId))];
  const found = await store.holdSubscriptions(work, ids);
  if (found.length === ids.length) return found;
  const foundIds = new Set(found.map((subscription) => subscription.id));
  const others = ids.filter((id) => !foundIds.has(id));
  await catchUp(work, others);
  return [...found, ...(await store.holdSubscriptions(work, others))];
}

async function draftEvents(
  work: Work,
  given: readonly NewUsageEvent[],
  pathOf: (index: number) => EventPath,
  found: readonly UsageSubscription[],
): Promise<Draft[]> {
  const byId = new Map(found.map((subscription) => [subscription.id, subscription]));
  const subscriptions = given.map((event, index) =>
    requireSubscription(event, pathOf(index), byId.get(event.subscriptionId)),
  );
  const prices = await resolvePrices(work, given, subscriptions);
  const periods = await store.findCurrentPeriods(work, found);
  return given.map((event, index) => {
    const subscription = subscriptions[index];
    assert(subscription !== undefined, 'each event has its subscription');
    const path = pathOf(index);
    const price = requirePrice(event, path, prices[index]);
    const properties = event.properties === undefined ? {} : event.properties;
    const propertiesText = properties === null ? null : JSON.stringify(properties);
    const billingPeriodId = periods.get(subscription.id) ?? null;
    checkProperties(event, path, propertiesText, { aggregationType: price.aggregationType, billingPeriodId });
    return {
      event: toEvent(work, event, { subscription, price, billingPeriodId, properties }),
      propertiesText,
      price,
      path,
    };
  });
}

interface Resolved {
  readonly subscription: UsageSubscription;
  readonly price: BillablePrice;
  readonly billingPeriodId: string | null;
  readonly properties: UsageEvent['properties'];
}

function toEvent(
  work: Work,
  { transactionId, amount, usageDate = work.now }: NewUsageEvent,
  { subscription, price, billingPeriodId, properties }: Resolved,
): UsageEvent {
  return {
    id: newId('usageEvent'),
    createdAt: work.now,
    updatedAt: work.now,
    livemode: work.livemode,
    pricingModelId: subscription.pricingModelId,
    customerId: subscription.customerId,
    subscriptionId: subscription.id,
    usageMeterId: price.usageMeterId,
    priceId: price.priceId,
    billingPeriodId,
    transactionId,
    amount,
    usageDate,
    properties,
  };
}

/** What each event's reference leads to. Each (pricing model, reference) is looked up once. */
async function resolvePrices(
  work: Work,
  given: readonly NewUsageEvent[],
  subscriptions: readonly UsageSubscription[],
): Promise<(UsagePrice | undefined)[]> {
  const asked = new Map<string, store.PriceReference & { position: number }>();
  const positions = given.map((event, index) => {
    const pricingModelId = subscriptions[index]?.pricingModelId ?? '';
    const { kind, value } = referenceOf(event);
    const key = `${pricingModelId} ${kind} ${value}`;
    const known = asked.get(key) ?? { pricingModelId, kind, value, position: asked.size };
    asked.set(key, known);
    return known.position;
  });
  const found = await store.resolvePrices(work, [...asked.values()]);
  return positions.map((position) => found[position]);
}

/** Books the amounts of new events; of those on a meter that counts distinct properties, the first with theirs only. */
async function bookUsage(work: Work, drafts: readonly Draft[]): Promise<void> {
  const [first] = drafts;
  if (first === undefined) return;
  const distinct = drafts.filter(({ price }) => price.aggregationType === 'count_distinct_properties');
  const firstIds = distinct.length === 0 ? new Set<string>() : await findFirsts(work, distinct);
  const counted = drafts.filter(({ event, price }) => price.aggregationType === 'sum' || firstIds.has(event.id));
  const postings = counted.map(({ event }) => ({
    subscriptionId: event.subscriptionId,
    usageMeterId: event.usageMeterId,
    pricingModelId: event.pricingModelId,
    priceId: event.priceId,
    billingPeriodId: event.billingPeriodId,
    units: BigInt(event.amount),
  }));
  await postUsage(work, first.event.id, postings);
}

function findFirsts(work: Work, drafts: readonly Draft[]): Promise<ReadonlySet<string>> {
  const rows = drafts.map(({ event }) => ({ event, digest: hash('sha256', canonicalJson(event.properties), 'hex') }));
  return store.insertFirstWithProperties(work, rows);
}

/** The events that are stored under the transactions of these, by meter and transactionId. */
async function findEarlier(work: Work, drafts: readonly Draft[]): Promise<ReadonlyMap<string, UsageEvent>> {
  const rows = await store.listByTransaction(
    work,
    drafts.map(({ event }) => event),
  );
  return new Map(rows.map((row) => [transactionKey(row), render(work, row)]));
}

function transactionKey({ usageMeterId, transactionId }: { usageMeterId: string; transactionId: string }): string {
  return `${usageMeterId} ${transactionId}`;
}

/** An event never changes, so it was last changed when it was made. */
function render(work: Work, { id, createdAt, ...rest }: store.StoredEvent): UsageEvent {
  return { id, createdAt, updatedAt: createdAt, livemode: work.livemode, ...rest };
}

export async function getUsageEvent(work: Work, id: string): Promise<UsageEvent> {
  const row = await store.findEvent(work, id);
  if (row === null) throw new Problem('usageEventNotFound', { id });
  return render(work, row);
}

export async function listUsageEvents(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfEvents(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}
