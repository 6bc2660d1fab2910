import assert from 'node:assert/strict';
import { requireCustomerByExternalId } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { invalid, Problem, refusal } from '../kernel/problem.ts';
import { ledgerAmount } from '../pricing/credit-pool.ts';
import { listCreditPools } from '../pricing/store-credit-pools.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { isMeasured, noLimitOfMeasured } from '../pricing/usage-meter.ts';
import { lockLivingSubscriptions } from '../subscriptions/store.ts';
import { crossedBy, publishCrossed } from './actions-alerts.ts';
import {
  limitKey,
  mostAllowed,
  type SpendControls,
  type SpendControlsInput,
  type SpendLimitInput,
  type SpendLimitRow,
  shownAmount,
  subjectOfLimit,
} from './spend-limit.ts';
import { deleteLimits, insertLimits, listLimits, listPresentCounters, saveLimits } from './store.ts';

/** The most counters of a limit that are shown: one for each subscription of the customer. */
const maxCounters = 20;

/** The limits of a customer with what of them is used. */
export async function getSpendControls(
  work: Work,
  externalId: string,
  pricingModelId: string | undefined,
): Promise<SpendControls> {
  return readSpendControls(work, await requireCustomerByExternalId(work, externalId, pricingModelId));
}

async function readSpendControls(work: Work, customer: Pick<CustomerRow, 'id'>): Promise<SpendControls> {
  const limits = await listLimits(work, [customer.id]);
  const counters = Map.groupBy(
    await listPresentCounters(
      work,
      limits.map(({ id }) => id),
      maxCounters,
    ),
    ({ spendLimitId }) => spendLimitId,
  );
  const slugs = await slugsOf(work, limits);
  return {
    limits: limits.map(({ pricingModelId: _, customerId: __, ...limit }) => ({
      ...limit,
      ...namedSubject(limit, slugs),
      amount: shownAmount(limit, limit.amount),
      counters: (counters.get(limit.id) ?? []).map(({ subscriptionId, periodStart, periodEnd, used }) => ({
        subscriptionId,
        periodStart,
        resetsAt: periodEnd,
        usedAmount: shownAmount(limit, used),
        remainingAmount: shownAmount(limit, limit.amount > used ? limit.amount - used : 0n),
      })),
    })),
  };
}

/** The usage meter or credit pool of a limit, with its slug. */
function namedSubject(limit: Pick<SpendLimitRow, 'usageMeterId'>, slugs: ReadonlyMap<string, string>) {
  const slug = limit.usageMeterId === null ? null : (slugs.get(limit.usageMeterId) ?? null);
  const subject = subjectOfLimit(limit);
  return 'creditPoolId' in subject
    ? { ...subject, usageMeterSlug: null, ...(slug === null ? {} : { creditPoolSlug: slug }) }
    : { ...subject, usageMeterSlug: slug };
}

async function slugsOf(work: Work, limits: readonly SpendLimitRow[]): Promise<ReadonlyMap<string, string>> {
  const [first] = limits;
  if (limits.every(({ usageMeterId }) => usageMeterId === null) || first === undefined) return new Map();
  const subjects = [
    ...(await listUsageMeters(work, [first.pricingModelId])),
    ...(await listCreditPools(work, [first.pricingModelId])),
  ];
  return new Map(subjects.map(({ id, slug }) => [id, slug]));
}

/** Sets the limits of a customer by its seller and by itself, each in place of those before. */
export async function putSpendControls(
  work: Work,
  { externalId, pricingModelId }: { readonly externalId: string; readonly pricingModelId: string | undefined },
  { limits, ownLimits }: SpendControlsInput,
): Promise<SpendControls> {
  const customer = await requireCustomerByExternalId(work, externalId, pricingModelId);
  if (customer.archived) throw new Problem('customerArchived', { id: customer.id });
  if (limits !== undefined) await setLimits(work, customer, { setBy: 'seller', limits });
  if (ownLimits !== undefined) await setLimits(work, customer, { setBy: 'customer', limits: ownLimits });
  return readSpendControls(work, customer);
}

type Setter = Exclude<SpendLimitRow['setBy'], 'plan'>;

/** New limits, in place of those that the same one has set before. */
interface LimitsToSet {
  readonly setBy: Setter;
  readonly limits: readonly SpendLimitInput[];
}

/**
 * Sets limits. The subscriptions are locked, so all usage is either booked before or meets the new limits. A limit that
 * stays in place goes on counting; a new one counts from now on.
 */
async function setLimits(work: Work, { id }: Pick<CustomerRow, 'id'>, toSet: LimitsToSet): Promise<void> {
  const customer = await lockCustomer(work, id);
  assert(customer !== null, 'the customer was read');
  await lockLivingSubscriptions(work, id);
  const stored = await listLimits(work, [id]);
  const wanted = await toRows(work, customer, toSet);
  if (toSet.setBy === 'customer') refuseAbove(wanted, stored);
  const before = new Map(stored.filter(({ setBy }) => setBy === toSet.setBy).map((row) => [limitKey(row), row]));
  const after = wanted.map((row) => {
    const earlier = before.get(limitKey(row));
    return earlier === undefined ? row : { ...row, id: earlier.id };
  });
  const kept = new Set(after.map((row) => row.id));
  await deleteLimits(
    work,
    before
      .values()
      .flatMap((row) => (kept.has(row.id) ? [] : [row.id]))
      .toArray(),
  );
  await insertLimits(
    work,
    after.filter((row) => !before.has(limitKey(row))),
  );
  const changed = after.filter((row) => {
    const earlier = before.get(limitKey(row));
    return earlier !== undefined && !isSameLimit(earlier, row);
  });
  await saveLimits(work, changed);
  await publishReached(work, changed);
}

function isSameLimit(one: SpendLimitRow, other: SpendLimitRow): boolean {
  return (
    one.amount === other.amount && one.action === other.action && one.thresholds.join() === other.thresholds.join()
  );
}

/** Publishes which thresholds of changed limits are reached already: later usage crosses only others. */
async function publishReached(work: Work, changed: readonly SpendLimitRow[]): Promise<void> {
  const limits = new Map(changed.map((limit) => [limit.id, limit]));
  const counters = await listPresentCounters(work, [...limits.keys()], maxCounters);
  await publishCrossed(
    work,
    counters.flatMap(({ spendLimitId, periodKey, periodStart, periodEnd, used }) => {
      const limit = limits.get(spendLimitId);
      assert(limit !== undefined, 'only counters of these limits were read');
      return crossedBy({ limit, period: { key: periodKey, start: periodStart, end: periodEnd } }, 0n, used);
    }),
  );
}

/** Limits as rows. Refuses a meter that is unknown or measured, an unknown pool, and two limits of the same use. */
async function toRows(work: Work, customer: CustomerRow, { setBy, limits }: LimitsToSet): Promise<SpendLimitRow[]> {
  const { id: customerId, pricingModelId } = customer;
  const meters = new Map((await listUsageMeters(work, [pricingModelId])).map((meter) => [meter.slug, meter]));
  const hasPools = limits.some(({ creditPoolSlug }) => creditPoolSlug != null);
  const pools = hasPools ? await listCreditPools(work, [pricingModelId]) : [];
  const poolIds = new Map(pools.map(({ slug, id }) => [slug, id]));
  const seen = new Set<string>();
  return limits.map(({ usageMeterSlug = null, creditPoolSlug = null, label = null, ...limit }, index) => {
    const at = [...pathOf(setBy), index];
    const poolId = creditPoolSlug === null ? null : poolIds.get(creditPoolSlug);
    if (poolId === undefined) throw refusal('creditPoolNotFound', [...at, 'creditPoolSlug'], creditPoolSlug ?? '');
    const meter = usageMeterSlug === null ? null : meters.get(usageMeterSlug);
    if (meter === undefined) throw refusal('usageMeterNotFound', [...at, 'usageMeterSlug'], usageMeterSlug ?? '');
    if (meter !== null && isMeasured(meter)) throw invalid([...at, 'usageMeterSlug'], noLimitOfMeasured);
    const subjectId = poolId ?? meter?.id ?? null;
    const stamps = { id: newId('spendLimit', customerId), createdAt: work.now, updatedAt: work.now };
    const row = {
      ...stamps,
      ...limit,
      amount: ledgerAmount(subjectId ?? '', limit.amount, [...at, 'amount']),
      pricingModelId,
      customerId,
      setBy,
      subscriptionId: null,
      usageMeterId: subjectId,
      label,
    };
    if (seen.has(limitKey(row)))
      throw invalid(
        at,
        'must differ from the limits before it in usageMeterSlug, creditPoolSlug, label, period or unit',
      );
    seen.add(limitKey(row));
    return row;
  });
}

function pathOf(setBy: Setter): string[] {
  return ['spendControls', setBy === 'seller' ? 'limits' : 'ownLimits'];
}

/** Refuses a limit of the customer that a blocking limit of its seller, or those of its plans together, make pointless. */
function refuseAbove(wanted: readonly SpendLimitRow[], stored: readonly SpendLimitRow[]): void {
  for (const [index, row] of wanted.entries()) {
    const most = mostAllowed(stored, row);
    if (most !== null && row.amount > most)
      throw invalid(
        [...pathOf('customer'), index, 'amount'],
        `must be at most ${shownAmount(row, most)}, which the seller allows`,
      );
  }
}
