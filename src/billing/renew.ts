import assert from 'node:assert/strict';
import { listOwnTerms, termsOf } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { releaseEndedClaims } from '../entitlements/actions.ts';
import type { InvoiceReason } from '../invoicing/invoice.ts';
import type { BilledItem, NewLine } from '../invoicing/invoice-line-item.ts';
import { listOwedPeriods } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { accessOf } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import { carryToHolders } from '../purchases/actions-auto-top-ups.ts';
import { newBillingPeriod, publishSubscriptions } from '../subscriptions/actions.ts';
import { type BillingPeriodRow, nextPeriod } from '../subscriptions/billing-period.ts';
import { findSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import { closeBillingPeriods, insertBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { takeInterims } from '../subscriptions/store-due.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { lockCurrentOfModel, takeRenewals } from '../subscriptions/store-renewals.ts';
import {
  hasAccess,
  isTerminal,
  isWaitingForStart,
  requireStatusAfter,
  type SubscriptionRow,
} from '../subscriptions/subscription.ts';
import { endMeasuredPeriodsAt, expireCredits } from '../usage/actions-ledger.ts';
import { tellingLowBalances } from '../usage/actions-low-balance.ts';
import { applyScheduledAdjustments } from './apply-adjustment.ts';
import {
  type Bill,
  draftUsageLines,
  issueBills,
  paidInAdvance,
  periodEndLines,
  periodLines,
  type Resumption,
  rescheduled,
  setupFeeLeft,
  setupFeeLines,
  takeUsageLines,
  withInterims,
} from './bill-subscription.ts';
import { collectInvoices, endReviews } from './collect-invoices.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { grantInterimCredits, grantPeriodCredits } from './grant-period-credits.ts';
import { pausedCreditLeft, takeOffPausedTime } from './paused-time.ts';
import { replaceFreePlan } from './record-paid.ts';

/** Begins the next period of each subscription whose period is over, and the first of each whose start has come. */
export const renewHandler: DueWorkHandler = {
  name: 'renew',
  take: takeRenewals,
  async perform(work, ids) {
    const over = await findSubscriptions(work, ids);
    await endReviews(
      work,
      over.map(({ id, currentBillingPeriodEnd }) => ({ subscriptionId: id, at: currentBillingPeriodEnd ?? work.now })),
    );
    const due = await findSubscriptions(work, ids);
    const waiting = due.filter(isWaitingForStart);
    if (waiting.length === 0) return renew(work, due);
    await startSubscriptions(work, waiting);
    // A free plan that is replaced now is not renewed.
    const others = due.filter((subscription) => !isWaitingForStart(subscription)).map(({ id }) => id);
    const living = (await findSubscriptions(work, others)).filter(({ status }) => !isTerminal(status));
    await renew(work, living);
  },
};

/**
 * Does what is due within the period of each subscription: bills the usage of prices whose own interval is over, and
 * grants the credits of intervals that begin.
 */
export const interimHandler: DueWorkHandler = {
  name: 'interim',
  take: takeInterims,
  async perform(work, ids) {
    const before = await findSubscriptions(work, ids);
    await endReviews(
      work,
      before.map((subscription) => ({ subscriptionId: subscription.id, at: interimOf(subscription) })),
    );
    const due = await findSubscriptions(work, ids);
    const lines = await takeUsageLines(work, due, 'interim');
    const subscriptions = await saveSubscriptions(work, await withInterims(work, due, interimOf));
    const bills = due.map((subscription) => interimBill(subscription, lines.get(subscription.id) ?? []));
    await bill(work, bills, subscriptions);
    await grantInterimCredits(
      work,
      due.map((subscription) => ({ subscription, at: interimOf(subscription) })),
    );
  },
};

// A page is a transaction, short enough that no usage waits for it.
const scheduledAtOnce = 500;

/**
 * Computes the next interims of a pricing model's subscriptions after this id, because an interval was added. Returns
 * the last id, or null after the last subscription. An interim that is due already stays.
 */
export async function scheduleInterims(work: Work, pricingModelId: string, after: string): Promise<string | null> {
  const ids = await lockCurrentOfModel(work, { pricingModelId, after, limit: scheduledAtOnce });
  const current = await findSubscriptions(work, ids);
  const next = await rescheduled(work, current);
  await saveSubscriptions(
    work,
    next.filter(({ interimAt }, index) => interimAt !== current[index]?.interimAt),
  );
  return ids.length < scheduledAtOnce ? null : (ids.at(-1) ?? null);
}

/** The bill of usage at the interim of a subscription. Its billing period has an invoice of its own, and goes on. */
export function interimBill(subscription: SubscriptionRow, lines: readonly NewLine[]): Bill {
  return { subscription, period: null, reason: 'usage', lines, at: interimOf(subscription) };
}

function interimOf({ interimAt }: SubscriptionRow): Instant {
  assert(interimAt !== null, 'an interim that is due has its instant');
  return interimAt;
}

/** A subscription whose period has been over since `at`. */
interface Due {
  readonly subscription: SubscriptionRow;
  readonly at: Instant;
}

/**
 * Begins one period of each subscription at the end of the previous one. Applies its scheduled change, ends claims and
 * credits that end with the period except for rollovers, and bills it. Grants the credits of the new period, unless the
 * customer owes so much that there is no access: they come with its payment then. Charges come after the commit. The number of statements does not depend on the number of subscriptions.
 */
async function renew(work: Work, over: readonly SubscriptionRow[]): Promise<void> {
  if (over.length === 0) return;
  const ids = over.map(({ id }) => id);
  const renewed = await tellingLowBalances(work, ids, () => beginNext(work, over));
  await publishSubscriptions(work, 'subscription.updated', renewed);
}

async function beginNext(work: Work, over: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  const due = await endPeriods(work, over);
  const bills = await draftRenewalBills(work, due, { takesUsage: true, before: over });
  assert(bills.length === due.length, 'what is due has a next period');
  const access = accessOf(work);
  return beginPeriods(
    work,
    bills.map((bill) => {
      const { id, startAt: start, endAt: end, wholeStartAt } = bill.period;
      const creditsAwaitPayment = !hasAccess(bill.subscription, access);
      const period = newBillingPeriod(work, bill.subscription, {
        ...{ id, start, end, wholeStartAt, creditsAwaitPayment },
      });
      return {
        subscription: afterRenewal(bill.subscription),
        period,
        lines: bill.lines,
        isFirst: false,
        grantsCredits: true,
      };
    }),
  );
}

/** Closes ended periods, and returns the updated subscriptions, longest due first. */
async function endPeriods(work: Work, subscriptions: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  const due = subscriptions.map(toDue).sort((one, other) => one.at - other.at);
  const changed = await applyChanges(work, due);
  const ends = changed.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at, goesOn: subscription }));
  await releaseEndedClaims(work, ends);
  await expireCredits(work, ends);
  const over = due.map(({ subscription: { id, currentBillingPeriodStart: startAt } }) => {
    assert(startAt !== null, 'what ends has begun');
    return { subscriptionId: id, startAt };
  });
  await closeBillingPeriods(
    work,
    over,
    await listOwedPeriods(
      work,
      subscriptions.map(({ id }) => id),
    ),
  );
  return changed.map(({ subscription }) => subscription);
}

function toDue(subscription: SubscriptionRow): Due {
  const at = subscription.currentBillingPeriodEnd;
  assert(at !== null, 'what renews is in a period');
  return { subscription, at };
}

/** Applies the changes scheduled for now. Most subscriptions have none, which costs no query. */
async function applyChanges(work: Work, due: readonly Due[]): Promise<readonly Due[]> {
  const changing = due.filter(({ subscription }) => subscription.scheduledAdjustmentAt !== null);
  if (changing.length === 0) return due;
  const changed = new Map((await applyScheduledAdjustments(work, changing)).map((row) => [row.id, row]));
  return due.map(({ subscription, at }) => ({ subscription: changed.get(subscription.id) ?? subscription, at }));
}

/** Ends the trial, if it was in one. */
function afterRenewal(subscription: SubscriptionRow): SubscriptionRow {
  const { status } = subscription;
  return status === 'trialing' ? { ...subscription, status: requireStatusAfter(status, 'trial_ended') } : subscription;
}

/**
 * Starts subscriptions whose start has come, each as of its start: a paid one replaces its customer's free one, and its
 * first period (or trial) begins and is billed. A free one and one that is invoiced under net terms get their credits
 * immediately, another paid one with its payment; a failed first payment ends the subscription as usual.
 */
async function startSubscriptions(work: Work, waiting: readonly SubscriptionRow[]): Promise<void> {
  if (waiting.length === 0) return;
  const bills = await draftRenewalBills(work, waiting, { takesUsage: true });
  const lines = new Map(bills.map((bill) => [bill.subscription.id, bill.lines]));
  const invoiced = await listInvoicedOnTerms(work, waiting);
  const awaitsPayment = ({ id }: SubscriptionRow) => (lines.get(id) ?? []).length > 0 && !invoiced.has(id);
  // A plan that is to be paid first replaces the free one when the money has arrived.
  for (const subscription of waiting)
    if (!subscription.isFreePlan && !awaitsPayment(subscription))
      await replaceFreePlan(work, subscription, subscription.startDate);
  const started = await beginPeriods(
    work,
    waiting.map((subscription) =>
      toBeginning(work, subscription, {
        lines: lines.get(subscription.id) ?? [],
        creditsAwaitPayment: awaitsPayment(subscription),
      }),
    ),
  );
  await carryToHolders(
    work,
    waiting.map(({ customerId }) => customerId),
  );
  await publishSubscriptions(work, 'subscription.updated', started);
}

/** The subscriptions without anything to charge whose customers have net terms, by id. */
async function listInvoicedOnTerms(work: Work, subscriptions: readonly SubscriptionRow[]): Promise<Set<string>> {
  const charged = await listChargeableMethods(work, subscriptions);
  const uncharged = subscriptions.filter(({ id }) => !charged.has(id));
  if (uncharged.length === 0) return new Set();
  const settings = await readSettings(work);
  const own = await listOwnTerms(
    work,
    uncharged.map(({ customerId }) => customerId),
  );
  const onTerms = uncharged.filter(({ customerId }) => termsOf(own.get(customerId), settings).netTermsDays > 0);
  return new Set(onTerms.map(({ id }) => id));
}

function toBeginning(
  work: Work,
  subscription: SubscriptionRow,
  { lines, creditsAwaitPayment }: Pick<Beginning, 'lines'> & Pick<BillingPeriodRow, 'creditsAwaitPayment'>,
): Beginning {
  const first = nextPeriod(subscription);
  assert(first, 'what starts has a first period');
  const known = { trialPeriod: subscription.trialEnd !== null, creditsAwaitPayment };
  return {
    subscription,
    period: newBillingPeriod(work, subscription, { ...first, ...known }),
    lines,
    isFirst: true,
    grantsCredits: true,
  };
}

/** The bill of a subscription's next period, at list value. */
export interface RenewalBill extends Bill {
  /** The upcoming period, which already has its id. */
  readonly period: Pick<BillingPeriodRow, 'id' | 'startAt' | 'endAt' | 'wholeStartAt'>;
}

interface RenewalDraft {
  /** Whether the usage is marked as invoiced. */
  readonly takesUsage: boolean;
  /** The subscriptions before their scheduled changes, which end usage periods by the terms until then. */
  readonly before?: readonly SubscriptionRow[];
}

/**
 * The bill of each subscription's next period (the first, if it awaits its start), in order: its items in advance,
 * unbilled usage without credits in arrears, before paid paused time. A bill of nothing has no lines. `claim` marks the
 * usage as invoiced, so the caller must issue the bills in the same commit. Subscriptions without a next period are
 * omitted. The number of statements does not depend on the number of subscriptions.
 */
export async function draftRenewalBills(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  { takesUsage, before = subscriptions }: RenewalDraft,
): Promise<RenewalBill[]> {
  const renewing = subscriptions.flatMap((subscription) => withNextPeriod(subscription) ?? []);
  const charged = renewing.map(({ subscription }) => subscription).filter(({ doNotCharge }) => !doNotCharge);
  // Usage recorded before the start is also in arrears: it is billed with the second invoice.
  const begun = charged.filter((subscription) => !isWaitingForStart(subscription));
  const ending = new Map(
    renewing.flatMap(({ subscription }) => (isWaitingForStart(subscription) ? [] : [[subscription.id, subscription]])),
  );
  const usage = await usageAtEnd(
    work,
    before.filter(({ id }) => ending.has(id)),
    { takesUsage, after: ending },
  );
  const ends = begun.map((subscription) => ({ subscription, usage: usage.get(subscription.id) ?? [] }));
  const missing = await periodEndLines(work, ends);
  const arrears = (id: string) => [...(usage.get(id) ?? []), ...(missing.get(id) ?? [])];
  const active = await paidInAdvance(work, await listActiveItems(work, charged.map(atItsEnd)));
  const items = Map.groupBy(active, (item) => item.subscriptionId);
  const step = chargedStep(work.currency);
  return renewing.map(({ subscription, period }) => ({
    subscription,
    period,
    reason: 'renewal',
    lines: linesOf(subscription, period, items.get(subscription.id) ?? [], arrears(subscription.id), step),
    at: period.startAt,
  }));
}

interface EndingUsage extends Pick<RenewalDraft, 'takesUsage'> {
  /** The subscriptions after their scheduled changes. */
  readonly after: ReadonlyMap<string, SubscriptionRow>;
}

/** The usage whose usage period ends with the billing period: all of it, where another interval begins. */
async function usageAtEnd(work: Work, before: readonly SubscriptionRow[], { takesUsage, after }: EndingUsage) {
  const linesOfUsage = takesUsage ? takeUsageLines : draftUsageLines;
  const goesOn = ({ id, intervalUnit, intervalCount }: SubscriptionRow) => {
    const next = after.get(id);
    return next?.intervalUnit === intervalUnit && next.intervalCount === intervalCount;
  };
  const moving = before.filter((subscription) => !goesOn(subscription));
  const usage = await linesOfUsage(work, before.filter(goesOn), 'renewal');
  if (moving.length === 0) return usage;
  const all = await linesOfUsage(work, moving);
  if (takesUsage) {
    const ends = moving.map(toDue).map(({ subscription, at }) => ({ subscriptionId: subscription.id, startAt: at }));
    await endMeasuredPeriodsAt(work, ends);
  }
  return new Map([...usage, ...all]);
}

function withNextPeriod(subscription: SubscriptionRow) {
  const next = nextPeriod(subscription);
  if (next === null) return null;
  const { start: startAt, end: endAt, wholeStartAt } = next;
  return { subscription, period: { id: newId('billingPeriod', subscription.id), startAt, endAt, wholeStartAt } };
}

function atItsEnd({ id, currentBillingPeriodEnd }: SubscriptionRow) {
  assert(currentBillingPeriodEnd !== null, 'what has a next period has one now');
  return { subscriptionId: id, at: currentBillingPeriodEnd };
}

function linesOf(
  subscription: SubscriptionRow,
  { startAt: start, endAt: end, wholeStartAt }: RenewalBill['period'],
  items: readonly BilledItem[],
  arrears: readonly NewLine[],
  step: bigint,
): NewLine[] {
  const { trialEnd } = subscription;
  // A subscription with a future start begins with its trial.
  const isTrial = trialEnd !== null && start < trialEnd;
  if (isTrial) return [];
  const lines = periodLines(subscription, { start, end, wholeStartAt }, items, arrears, step);
  return [...lines, ...setupFeeLines(subscription)];
}

/** A period that begins, and its lines. */
interface Beginning {
  /** Its new state, except the current period and the remaining value of paused time. */
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  /** Before kept paused time is taken off. */
  readonly lines: readonly NewLine[];
  readonly resumption?: Resumption;
  /** True for the first period of its subscription. */
  readonly isFirst: boolean;
  /** False if the credits of the period were granted before. */
  readonly grantsCredits: boolean;
}

/**
 * Begins due periods: writes them and their subscriptions, bills them as of their start, requests the charges after the
 * commit, and grants their credits. Returns the subscriptions. The number of statements does not depend on the number
 * of periods.
 */
export async function beginPeriods(work: Work, beginnings: readonly Beginning[]): Promise<SubscriptionRow[]> {
  if (beginnings.length === 0) return [];
  await insertBillingPeriods(
    work,
    beginnings.map(({ period }) => period),
  );
  await endMeasuredPeriodsAt(
    work,
    beginnings.flatMap(({ period, resumption }) => (resumption === undefined ? [] : period)),
  );
  const bills = await takeOffPausedTime(work, beginnings.map(toBill));
  const changed = bills.map(({ subscription, period, lines }) => ({
    ...subscription,
    currentBillingPeriodStart: period.startAt,
    currentBillingPeriodEnd: period.endAt,
    pausedCredit: pausedCreditLeft(lines, subscription.pausedCredit),
    setupFee: setupFeeLeft(lines, subscription.setupFee),
  }));
  const subscriptions = await saveSubscriptions(work, await withInterims(work, changed, startOfPeriod));
  const begun = beginnings.map((beginning, index) => {
    const subscription = subscriptions[index];
    assert(subscription !== undefined, 'each period has its subscription');
    return { ...beginning, subscription };
  });
  await bill(work, bills, subscriptions);
  await grantPeriodCredits(
    work,
    begun
      .filter(({ grantsCredits, period }) => grantsCredits && !period.creditsAwaitPayment)
      .map(({ subscription, period, isFirst }) => ({ subscription, period, isFirst, at: period.startAt })),
  );
  return subscriptions;
}

/** The start of the current period of a subscription that has one. */
function startOfPeriod({ currentBillingPeriodStart }: SubscriptionRow): Instant {
  assert(currentBillingPeriodStart !== null, 'what is in a period has begun it');
  return currentBillingPeriodStart;
}

function toBill({ subscription, period, lines, isFirst, resumption }: Beginning) {
  const reason: InvoiceReason = isFirst ? 'subscription_start' : 'renewal';
  return { subscription, period, reason, lines, at: period.startAt, ...(resumption && { resumption }) };
}

async function bill(work: Work, bills: readonly Bill[], subscriptions: readonly SubscriptionRow[]): Promise<void> {
  const invoices = await issueBills(work, bills);
  await collectInvoices(
    work,
    subscriptions.flatMap((subscription, index) => {
      const invoice = invoices[index];
      return invoice ? { invoice, subscription } : [];
    }),
  );
}
