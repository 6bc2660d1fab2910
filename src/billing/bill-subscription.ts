import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import { type CustomerTerms, listOwnTerms, termsOf } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { listGrantIntervals } from '../entitlements/store-item-features.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { linesOfItems, noteTaken } from '../invoicing/actions-items.ts';
import { withPaybacks } from '../invoicing/actions-paybacks.ts';
import { quoteTaxes } from '../invoicing/actions-tax.ts';
import { fitPaybacks, fitRequest } from '../invoicing/fitting-lines.ts';
import type { AppliedDiscount, InvoiceDiscount, InvoiceReason } from '../invoicing/invoice.ts';
import { type BilledItem, isItem, itemLine, listAmount, type NewLine } from '../invoicing/invoice-line-item.ts';
import { describeItems, describeMeasured, withPeriod } from '../invoicing/line-text.ts';
import { draftInvoice, type InvoiceDraft, type NewInvoice } from '../invoicing/new-invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import {
  listActiveRedemptions,
  listBilledPeriods,
  listDiscountsOfInvoices,
  listDiscountsOfPeriods,
  listLastingPercents,
  listPercentOfPeriods,
} from '../invoicing/store-redemptions.ts';
import { type BilledOverage, billUsage, termsIn } from '../invoicing/usage-lines.ts';
import { addDays, hourMs, type Instant, type Interval, msPerDay, type Period } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import { listPeriodInvoices, type PeriodInvoice, sumUsageWithin } from '../payments/store-period-invoices.ts';
import { amountOf, priceMeasured } from '../pricing/pricing.ts';
import { listArrearsPrices, listOwnIntervals, listPlanNames } from '../pricing/store-prices.ts';
import { commitmentTrueUp, planTowardsCommitment } from '../rating/commitment.ts';
import { discountOfPart, partsByWorth } from '../rating/discount.ts';
import { listValueSettled } from '../rating/list-value.ts';
import { billMeasured, type MeasuredUnits, measureUsage } from '../rating/measured-usage.ts';
import { fairValue, type PlanSegment, worthOf } from '../rating/proration.ts';
import { changeSegments, wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { type InterimSchedule, intervalsEndingAt, nextInterim, openPeriodStart } from '../subscriptions/interim.ts';
import { findCurrentBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { listTermSpans } from '../subscriptions/store-item-versions.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import {
  claimOverage,
  endMeasuredPeriods,
  readMeasured,
  readOverage,
  releaseOverage,
  saveCharges,
} from '../usage/actions-ledger.ts';
import type { UsageToBill } from '../usage/ledger.ts';
import type { Rated } from '../usage/store-measured.ts';

/** A bill of a subscription. */
export interface Bill {
  readonly subscription: SubscriptionRow;
  readonly period: NewInvoice['billingPeriod'];
  readonly reason: InvoiceReason;
  readonly lines: readonly NewLine[];
  /** The date on which the billed items came due. */
  readonly at: Instant;
  /** The unpaid invoice of the period that it replaces; null or absent: none. */
  readonly replacedInvoiceId?: string | null;
  /** Whether it is a plan change that begins a period, and so carries the discount of one. */
  readonly beginsPeriod?: boolean;
  /** Whether it is a plan change that is made when it is paid, and so due at once. */
  readonly isPaidFirst?: boolean;
  /** The bill is for a period that may be the rest of an interval. Absent: it is not. */
  readonly resumption?: Resumption;
  /** The discount that a new subscription redeems; null: none. Absent: it is read from the subscription. */
  readonly redeemed?: InvoiceDiscount | null;
  /** The tax of a payment in flight; null: none. Absent: the customer's. */
  readonly tax?: NewInvoice['tax'];
}

/** A period that begins within an interval: after a pause, or with another interval. */
export interface Resumption {
  /** The interval that its price is for. */
  readonly whole: Period;
  /** The paused period of the same interval, whose discount it carries on; null: another interval. */
  readonly pausedPeriodId: string | null;
}

/**
 * Creates invoices of subscriptions, with the redeemed discount, the customer's tax and the due date. A bill without
 * lines gives null. Usage beyond the limit of a single payment is left to the next bill. The caller handles the
 * consequences of an invoice that is paid from the start (`recordPaid`). The number of statements does not depend on
 * the number of bills.
 */
export async function issueBills(work: Work, bills: readonly Bill[]): Promise<(InvoiceRow | null)[]> {
  const taking = await withItems(work, bills);
  const requested = taking.filter((bill) => bill.lines.length > 0);
  const fitting = (await invoicesOf(work, requested)).map((request, index) => {
    return { ...fitted(request), bill: requested[index] };
  });
  // Usage that pays back more than the rest costs may be all of it.
  const whole = fitting.filter(({ request }) => request.lines.length > 0);
  const requests = whole.map(({ request }) => request);
  const invoices = await createInvoices(work, requests);
  const left = fitting.flatMap((each) => each.left);
  await releaseOverage(work, left);
  await noteTaken(
    work,
    invoices.map((invoice, index) => ({ invoice, lines: whole[index]?.bill?.lines ?? [] })),
  );
  const made = new Map(whole.map(({ bill }, index) => [bill, invoices[index] ?? null]));
  return taking.map((bill) => made.get(bill) ?? null);
}

/**
 * The bills with the pending invoice items that they take: a renewal those of its subscription and of its customer, the
 * last bill those of its subscription. Bills of anything else were asked for at their amount.
 */
export async function withItems(work: Work, bills: readonly Bill[]): Promise<readonly Bill[]> {
  const taking = bills.filter(({ reason, subscription }) => takers.has(reason) && !subscription.doNotCharge);
  if (taking.length === 0) return bills;
  const items = await linesOfItems(
    work,
    taking.map(({ subscription, reason }) => {
      const { customerId, id: subscriptionId } = subscription;
      return { customerId, subscriptionId, takesAll: reason === 'renewal' };
    }),
  );
  const taken = new Map(taking.map((bill, index) => [bill, items[index] ?? []]));
  return bills.map((bill) => {
    const added = taken.get(bill) ?? [];
    return added.length === 0 ? bill : { ...bill, lines: [...bill.lines, ...added] };
  });
}

const takers: ReadonlySet<InvoiceReason> = new Set(['renewal', 'final_usage']);

/**
 * The drafts that `issueBills` would invoice now, without creating them. A bill without lines has a total of 0. Neither
 * the subscriptions nor the `known` customers have to be stored.
 */
export async function composeBills(
  work: Work,
  bills: readonly Bill[],
  known: readonly CustomerRow[] = [],
): Promise<InvoiceDraft[]> {
  const taking = await withItems(work, bills);
  return (await invoicesOf(work, taking, known)).map((request) => draftInvoice(fitted(request).request));
}

/** The invoice of a change that is paid first, before it is made. Its usage is marked as invoiced, as by `issueBills`. */
export async function holdBill(work: Work, bill: Bill): Promise<InvoiceDraft> {
  const [request] = await invoicesOf(work, [bill]);
  assert(request, 'each bill has its invoice');
  const held = fitted(request);
  await releaseOverage(work, held.left);
  return draftInvoice(held.request);
}

/** A plan change is a request, and is refused if it is too large; due amounts must be billed. */
function fitted(given: NewInvoice): ReturnType<typeof fitRequest> {
  return given.reason === 'adjustment' ? fitPaybacks(given) : fitRequest(given);
}

async function invoicesOf(
  work: Work,
  bills: readonly Bill[],
  known: readonly CustomerRow[] = [],
): Promise<NewInvoice[]> {
  if (bills.length === 0) return [];
  const subscriptions = [...new Map(bills.map(({ subscription }) => [subscription.id, subscription])).values()];
  const settings = await readSettings(work);
  const { seller } = settings;
  const discountsOfBill = await discountsOf(work, bills);
  const names = await listPlanNames(work, [...new Set(bills.flatMap(pricesOfItems))]);
  const customerIds = [...new Set(subscriptions.map(({ customerId }) => customerId))];
  const taxes = await quoteTaxes(work, settings, customerIds, known);
  const own = await listOwnTerms(work, customerIds);
  const ownOf = (id: string) => own.get(id) ?? known.find((each) => each.id === id)?.billingTerms;
  const termsOfBill = ({ subscription }: Bill) => termsOf(ownOf(subscription.customerId), settings);
  // Without net terms every invoice is due immediately, however it is paid.
  const onTerms = bills.filter((bill) => termsOfBill(bill).netTermsDays > 0).map(({ subscription }) => subscription);
  const charged = onTerms.length === 0 ? new Map() : await listChargeableMethods(work, onTerms);
  const isDueAtOnce = ({ isPaidFirst = false, subscription }: Bill) => isPaidFirst || charged.has(subscription.id);
  return bills.map((bill) => ({
    customerId: bill.subscription.customerId,
    pricingModelId: bill.subscription.pricingModelId,
    subscriptionId: bill.subscription.id,
    billingPeriod: bill.period,
    reason: bill.reason,
    currency: work.currency as NewInvoice['currency'],
    lines: describeItems(bill.lines, names),
    invoiceDate: bill.at,
    ...datesOf(bill, isDueAtOnce(bill) ? 0 : termsOfBill(bill).netTermsDays, reviewEnd(bill, termsOfBill(bill))),
    discounts: discountsOfBill(bill),
    tax: bill.tax === undefined ? (taxes.get(bill.subscription.customerId) ?? null) : bill.tax,
    seller,
  }));
}

/** A draft gets its due date when it is finalized. */
function datesOf(
  { at }: Bill,
  netTermsDays: number,
  finalizesAt: Instant | null,
): Pick<NewInvoice, 'dueDate' | 'finalizesAt'> {
  return finalizesAt === null ? { dueDate: addDays(at, netTermsDays) } : { dueDate: null, finalizesAt };
}

/**
 * The instant until which a bill waits as a draft; null if it does not. A bill to consolidate waits for the end of its
 * day first. Anything but a renewal was asked for, or is to limit what a customer owes.
 */
function reviewEnd(
  bill: Bill,
  { reviewHours, consolidateInvoices }: Pick<CustomerTerms, 'reviewHours' | 'consolidateInvoices'>,
): Instant | null {
  if (!isReviewable(bill)) return null;
  const from = consolidateInvoices ? (Math.floor(bill.at / msPerDay) + 1) * msPerDay : bill.at;
  return from === bill.at && reviewHours === 0 ? null : from + reviewHours * hourMs;
}

// The rest of an interval after a pause carries a part of its discount, which only its bill knows.
function isReviewable({ reason, resumption }: Bill): boolean {
  return reason === 'renewal' && resumption === undefined;
}

function pricesOfItems({ lines }: Bill): string[] {
  return lines.flatMap(({ priceId, explanation }) => (isItem(explanation) ? (priceId ?? []) : []));
}

/**
 * The discounts of each bill, in order. The start of a period carries those of the subscription while they last; final
 * usage and usage at a threshold carry the percentages. A plan change carries the percentages on its period's
 * own invoice: fixed amounts were already given there. A change that replaces that invoice carries the same discounts.
 * After a pause the rest of an interval carries its discounts on, and of fixed amounts their share. A period without an
 * invoice of its own, such as the first one in arrears, has the percentages that last for ever.
 */
export async function discountsOf(
  work: Work,
  bills: readonly Bill[],
): Promise<(bill: Bill) => readonly InvoiceDiscount[]> {
  const isAdjustment = ({ reason, beginsPeriod }: Bill) => reason === 'adjustment' && beginsPeriod !== true;
  const ids = bills.flatMap((bill) => (isAdjustment(bill) || bill.redeemed !== undefined ? [] : bill.subscription.id));
  const active = await listActiveRedemptions(work, ids);
  const periodIds = bills.flatMap((bill) => (isAdjustment(bill) ? (bill.period?.id ?? []) : []));
  const ofPeriods = await listPercentOfPeriods(work, periodIds);
  const replacedIds = bills.flatMap(({ replacedInvoiceId }) => replacedInvoiceId ?? []);
  const ofReplaced = await listDiscountsOfInvoices(work, replacedIds);
  const step = chargedStep(work.currency);
  const pausedIds = bills.flatMap(({ resumption }) => resumption?.pausedPeriodId ?? []);
  const ofPaused = await listDiscountsOfPeriods(work, pausedIds);
  const billed = await listBilledPeriods(work, [...periodIds, ...pausedIds]);
  const isUnbilled = (id: string | null | undefined) => id != null && !billed.has(id);
  const ofUnbilled = await listLastingPercents(
    work,
    bills.flatMap((bill) => {
      const within = isAdjustment(bill) ? bill.period?.id : bill.resumption?.pausedPeriodId;
      return isUnbilled(within) ? bill.subscription.id : [];
    }),
  );
  return (bill) => {
    const { reason, subscription, period, replacedInvoiceId, resumption, redeemed: own } = bill;
    if (own !== undefined) return own === null ? [] : [own];
    if (replacedInvoiceId) return (ofReplaced.get(replacedInvoiceId) ?? []).map(unapplied);
    if (resumption && period !== null) {
      const { whole, pausedPeriodId } = resumption;
      const carried = pausedPeriodId === null ? active.get(subscription.id) : ofPaused.get(pausedPeriodId);
      const discounts = carried ?? (isUnbilled(pausedPeriodId) ? ofUnbilled.get(subscription.id) : undefined);
      const part = { start: period.startAt, end: period.endAt };
      return (discounts ?? []).map((discount) => discountOfPart(discount, part, whole, step));
    }
    if (isAdjustment(bill)) {
      const percents = isUnbilled(period?.id) ? ofUnbilled.get(subscription.id) : ofPeriods.get(period?.id ?? '');
      return percents ?? [];
    }
    const redeemed = active.get(subscription.id) ?? [];
    return isOfUsage(reason) ? redeemed.filter(({ kind }) => kind === 'percent') : redeemed;
  };
}

/** A discount of another invoice, for one on which it takes off its own amount. */
function unapplied({ takenOff: _, ...discount }: AppliedDiscount): InvoiceDiscount {
  return discount;
}

/** Whether the invoice bills usage without a plan: it carries percentages, and is no use of a discount. */
function isOfUsage(reason: InvoiceReason): boolean {
  return reason === 'usage' || reason === 'final_usage' || reason === 'usage_threshold';
}

export type Charged = Pick<SubscriptionRow, 'id' | 'doNotCharge' | 'pricingModelId' | 'priceId'> & InterimSchedule;

/** The usage that a bill takes: all, or that whose usage period ends with the billing period or at the interim. */
type UsageTakenBy = 'all' | 'renewal' | 'interim';

/**
 * Invoice lines, by subscription, for unbilled usage without credits; they cost nothing where the plan does not bill it.
 * The usage is marked as invoiced: the caller must invoice the lines in the same commit. Subscriptions that are not
 * charged owe nothing for usage.
 */
export async function takeUsageLines(
  work: Work,
  subscriptions: readonly Charged[],
  takenBy: UsageTakenBy = 'all',
): Promise<Map<string, NewLine[]>> {
  const bills = await usageToBill(work, subscriptions, takenBy);
  const { charged, others } = bills;
  const billed = billUsage(await claimOverage(work, charged), work.currency);
  const found = await readMeasured(work, charged);
  const measured = billMeasuredUsage(found, work.currency);
  await saveCharges(
    work,
    billed.flatMap(({ charges }) => charges),
    measured.flatMap(({ charges }) => charges),
  );
  if (takenBy !== 'all') {
    const uncharged = others.length === 0 ? [] : (await readMeasured(work, others)).accounts;
    await endMeasuredPeriods(work, [...found.accounts, ...uncharged]);
  }
  return withPaybacks(work, linesBySubscription([...billed, ...measured]));
}

/** The lines that `takeUsageLines` would return now, without marking the usage. */
export async function draftUsageLines(
  work: Work,
  subscriptions: readonly Charged[],
  takenBy: UsageTakenBy = 'all',
): Promise<Map<string, NewLine[]>> {
  const { charged } = await usageToBill(work, subscriptions, takenBy);
  const billed = billUsage(await readOverage(work, charged), work.currency);
  const measured = billMeasuredUsage(await readMeasured(work, charged), work.currency);
  return withPaybacks(work, linesBySubscription([...billed, ...measured]));
}

/**
 * The usage period is that of the price's own interval, else the billing period. Without periods all usage belongs to
 * one. Subscriptions that are not charged are the `others`.
 */
export async function usageToBill(
  work: Work,
  subscriptions: readonly Charged[],
  takenBy: UsageTakenBy,
): Promise<{ readonly charged: readonly UsageToBill[]; readonly others: readonly UsageToBill[] }> {
  const intervals = takenBy === 'all' ? new Map<string, Interval[]>() : await ownIntervals(work, subscriptions);
  const toBill = (subscription: Charged): UsageToBill => {
    const { id: subscriptionId, pricingModelId, priceId: planPriceId } = subscription;
    const { currentBillingPeriodStart, currentBillingPeriodEnd } = subscription;
    const ownPeriodStart = (interval: Interval) => openPeriodStart(subscription, interval);
    const schedule = subscription;
    const bill = { subscriptionId, periodStart: currentBillingPeriodStart ?? 0, ownPeriodStart, schedule, planPriceId };
    if (takenBy === 'all') return bill;
    const at = takenBy === 'renewal' ? currentBillingPeriodEnd : subscription.interimAt;
    assert(at !== null, 'usage that ends has an end');
    const ending = intervalsEndingAt(subscription, intervals.get(pricingModelId) ?? [], at);
    return { ...bill, takes: { following: takenBy === 'renewal', intervals: ending }, until: at };
  };
  return {
    charged: subscriptions.filter(({ doNotCharge }) => !doNotCharge).map(toBill),
    others: subscriptions.filter(({ doNotCharge }) => doNotCharge).map(toBill),
  };
}

function ownIntervals(work: Work, subscriptions: readonly Pick<SubscriptionRow, 'pricingModelId'>[]) {
  return listOwnIntervals(
    work,
    subscriptions.map(({ pricingModelId }) => pricingModelId),
  );
}

/**
 * The subscriptions with their next interim after an instant: that of usage or of credits. A subscription that does not
 * renew has none. Their features have been written.
 */
export async function withInterims<Any extends InterimSchedule & Pick<SubscriptionRow, 'id' | 'pricingModelId'>>(
  work: Work,
  subscriptions: readonly Any[],
  afterOf: (subscription: Any) => Instant,
): Promise<Any[]> {
  const renewing = subscriptions.filter(({ intervalUnit }) => intervalUnit !== null);
  if (renewing.length === 0) return subscriptions.map((subscription) => ({ ...subscription, interimAt: null }));
  const ofUsage = await ownIntervals(work, renewing);
  const ofCredits = await listGrantIntervals(
    work,
    renewing.map((subscription) => ({ subscriptionId: subscription.id, at: afterOf(subscription) })),
  );
  return subscriptions.map((subscription) => {
    const { id, pricingModelId } = subscription;
    const intervals = { ofUsage: ofUsage.get(pricingModelId) ?? [], ofCredits: ofCredits.get(id) ?? [] };
    return { ...subscription, interimAt: nextInterim(subscription, intervals, afterOf(subscription)) };
  });
}

/**
 * The subscriptions with their next interim, because an interval of theirs was added or has gone. An interim that is due
 * already stays, and so does that of a paused subscription: its usage periods stay open.
 */
export async function rescheduled(work: Work, subscriptions: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  const next = await withInterims(work, subscriptions, () => work.now);
  return next.map((subscription, index) => {
    const before = subscriptions[index]?.interimAt ?? null;
    const stays = subscription.status === 'paused' || (before !== null && before <= work.now);
    return stays ? { ...subscription, interimAt: before } : subscription;
  });
}

function billMeasuredUsage({ accounts, charges }: Awaited<ReturnType<typeof readMeasured>>, currency: string) {
  const step = chargedStep(currency);
  const ofAccounts = Map.groupBy(charges, ({ ledgerAccountId }) => ledgerAccountId);
  return accounts.flatMap((account) => {
    const { subscriptionId, ledgerAccountId, isBilled, measure, soFar, until, meterName } = account;
    const present = { ...measureUsage(measure, soFar, until), periodStart: soFar.periodStart };
    const known = ofAccounts.get(ledgerAccountId) ?? [];
    const priceIds = new Set([account.priceId, ...known.map(({ priceId }) => priceId)]);
    return Array.from(priceIds, (priceId) => {
      const own = known.filter((charge) => charge.priceId === priceId);
      const rated: Rated = own[0] ?? account;
      const { usageEventsPerUnit } = rated;
      const termsAt = (start: Instant) => ({ ...termsIn(rated, start), usageEventsPerUnit });
      const priceOf = (units: MeasuredUnits & { readonly periodStart: Instant }) =>
        priceMeasured(termsAt(units.periodStart), units, step).amount;
      const billed = billMeasured(priceId === account.priceId ? present : null, own, { priceOf, isBilled });
      const lines = billed.parts.map(({ amount, ...part }): NewLine => {
        const explanation = { kind: 'measured_usage', ...termsAt(part.periodStart), ...part } as const;
        const description = describeMeasured({ meterName, ...part });
        return { type: 'usage', explanation, units: 0n, amount, priceId, ledgerAccountId, description };
      });
      const after = billed.charges.map((charge) => ({ ...charge, ledgerAccountId, priceId }));
      return { subscriptionId, lines, charges: after };
    });
  });
}

export function linesBySubscription(
  billed: readonly Pick<BilledOverage, 'subscriptionId' | 'lines'>[],
): Map<string, NewLine[]> {
  const ofSubscriptions = Map.groupBy(billed, ({ subscriptionId }) => subscriptionId);
  return new Map([...ofSubscriptions].map(([id, each]) => [id, each.flatMap(({ lines }) => lines)]));
}

/** A subscription whose period ends, and the usage that the bill at its end takes. */
interface PeriodEnd {
  readonly subscription: Pick<SubscriptionRow, 'id' | 'doNotCharge' | 'currentBillingPeriodStart'>;
  readonly usage: readonly NewLine[];
  /** The period if it is not its stored current one, or ends now, and the interval that its price is for. */
  readonly period?: BillingPeriodRow;
  readonly whole?: Period;
}

/**
 * The lines, by subscription, with which a period ends beside its usage: the plan that is billed in arrears, and what
 * is missing to its commitment. Trials and uncharged subscriptions have none. Each end of a period is billed once, so
 * its lines are too. This is one statement if no price has either.
 */
export async function periodEndLines(work: Work, ends: readonly PeriodEnd[]): Promise<Map<string, NewLine[]>> {
  const charged = ends.flatMap(({ subscription: { id, doNotCharge, currentBillingPeriodStart: since } }) =>
    doNotCharge || since === null ? [] : { id, since },
  );
  const spans = Map.groupBy(await listTermSpans(work, charged), ({ subscriptionId }) => subscriptionId);
  const committed = ends.filter(({ subscription: { id, doNotCharge } }) => {
    return !doNotCharge && spans.get(id)?.some((span) => span.inArrears || span.minimumCommitment > 0n);
  });
  if (committed.length === 0) return new Map();
  const stored = await findCurrentBillingPeriods(
    work,
    committed.map(({ subscription }) => subscription),
  );
  const periods = new Map(
    [...stored, ...committed.flatMap(({ period }) => period ?? [])].map((each) => [each.subscriptionId, each]),
  );
  const invoices = Map.groupBy(
    await listPeriodInvoices(work, [...periods.values()]),
    (invoice) => invoice.billingPeriodId,
  );
  const used = await sumUsageWithin(work, [...periods.values()]);
  const step = chargedStep(work.currency);
  return new Map(
    committed.map(({ subscription: { id }, usage, whole }) => {
      const period = periods.get(id);
      if (period === undefined || period.trialPeriod) return [id, []];
      const ofPeriod = { period, whole: whole ?? wholeOf(period), spans: spans.get(id) ?? [] };
      const before = used.get(period.id) ?? 0n;
      const arrears = planInArrears(ofPeriod, step);
      const billed = {
        invoices: invoices.get(period.id) ?? [],
        usage: [...usage, ...arrears].reduce((sum, line) => sum + listAmount(line), before),
      };
      return [id, [...arrears, ...trueUpLines(ofPeriod, billed, step)]];
    }),
  );
}

interface EndedTime {
  readonly period: BillingPeriodRow;
  readonly whole: Period;
  readonly spans: Awaited<ReturnType<typeof listTermSpans>>;
}

/**
 * The line of a plan in arrears: the price of each quantity for its share of the interval, rounded once. A change in
 * the period is a segment, so nothing of it is due before its end.
 */
function planInArrears({ period, whole, spans }: EndedTime, step: bigint): NewLine[] {
  const held = spans.filter(({ inArrears, quantity }) => inArrears && quantity > 0);
  const segments = changeSegments(held, [], period, period.endAt, step);
  const amount = fairValue(segments, whole, step);
  if (amount === 0n) return [];
  const billed = { start: period.startAt, end: period.endAt };
  const priceId = held.findLast(({ startAt }) => startAt < period.endAt)?.priceId ?? null;
  const byPrice = Map.groupBy(held, (span) => span.priceId);
  const worths = [...byPrice].map(([id, ofPrice]) => {
    return [id, worthOf(changeSegments(ofPrice, [], period, period.endAt, step))] as const;
  });
  const parts = partsByWorth({ amount, priceId }, new Map(worths), step);
  const ofPrices = parts === undefined ? {} : { parts };
  const explanation = { kind: 'arrears', segments, period: billed, whole, fairValue: amount, ...ofPrices } as const;
  return [staticLine(explanation, { amount, priceId, description: withPeriod('Plan', billed) })];
}

function trueUpLines(
  { period, whole, spans }: EndedTime,
  { invoices, usage }: { readonly invoices: readonly PeriodInvoice[]; readonly usage: bigint },
  step: bigint,
): NewLine[] {
  const held = spans.filter(({ quantity, minimumCommitment }) => quantity > 0 && minimumCommitment > 0n);
  const asPrices = held.map((span) => ({ ...span, unitPrice: span.minimumCommitment, pricing: null, quantity: 1 }));
  const segments = changeSegments(asPrices, [], period, period.endAt, step);
  const priceId = held.findLast(({ startAt }) => startAt < period.endAt)?.priceId ?? null;
  const listed = invoices.reduce((sum, invoice) => sum + listValueSettled(invoice), 0n);
  const unused = fairValue(restOf(spans, period, step), whole, step);
  const plan = planTowardsCommitment({ listed, waived: period.prorationWaived, unused });
  const { commitment, trueUp } = commitmentTrueUp({ segments, whole, plan, usage }, step);
  if (trueUp === 0n) return [];
  const billed = { start: period.startAt, end: period.endAt };
  const explanation = { kind: 'minimum_commitment', segments, period: billed, whole, commitment, plan, usage } as const;
  return [staticLine(explanation, { amount: trueUp, priceId, description: withPeriod('Minimum commitment', billed) })];
}

/** The plan in the rest of an interval that is kept for later invoices. */
function restOf(spans: EndedTime['spans'], { endAt, wholeEndAt }: BillingPeriodRow, step: bigint): PlanSegment[] {
  if (wholeEndAt === null) return [];
  return spans
    .filter((span) => !span.inArrears && span.startAt <= endAt && (span.endAt === null || span.endAt > endAt))
    .map((span) => ({ start: endAt, end: wholeEndAt, value: amountOf(span, span.quantity, step) }));
}

/** A line of one amount, with which a period ends. */
export function staticLine(
  explanation: Extract<NewLine['explanation'], { kind: 'minimum_commitment' | 'arrears' }>,
  {
    amount,
    ...known
  }: { readonly amount: bigint; readonly priceId: string | null; readonly description: string | null },
): NewLine {
  return { type: 'static', explanation, quantity: 1, price: amount, subscriptionItemId: null, ...known };
}

/** The line of the setup fee, which the first invoice of a subscription bills once whatever its quantity; none after it. */
export function setupFeeLines({ setupFee, priceId }: Pick<SubscriptionRow, 'setupFee' | 'priceId'>): NewLine[] {
  if (setupFee === 0n) return [];
  const known = { quantity: 1, price: setupFee, priceId, subscriptionItemId: null, description: 'Setup fee' };
  return [{ type: 'static', ...known, explanation: { kind: 'setup_fee', unitPrice: setupFee } }];
}

/** The setup fee that is left for a later invoice after billing these lines. */
export function setupFeeLeft(lines: readonly NewLine[], setupFee: bigint): bigint {
  return lines.some(({ explanation }) => explanation.kind === 'setup_fee') ? 0n : setupFee;
}

/** The items that are billed in advance. */
export async function paidInAdvance<Item extends { readonly priceId: string | null }>(
  work: Work,
  items: readonly Item[],
): Promise<Item[]> {
  const arrears = await listArrearsPrices(work, [...new Set(items.flatMap(({ priceId }) => priceId ?? []))]);
  return items.filter(({ priceId }) => priceId === null || !arrears.has(priceId));
}

/**
 * The lines of a period at list value: items in advance, prorated if the period is the rest of an interval, and usage
 * in arrears. Subscriptions that are not charged have no lines.
 */
export function periodLines(
  { doNotCharge }: Pick<SubscriptionRow, 'doNotCharge'>,
  { start, end, wholeStartAt }: Period & Pick<BillingPeriodRow, 'wholeStartAt'>,
  items: readonly BilledItem[],
  usage: readonly NewLine[],
  step: bigint,
): NewLine[] {
  if (doNotCharge) return [];
  const priced = items.filter((item) => item.quantity > 0 && amountOf(item, item.quantity, step) > 0n);
  const whole = { start: wholeStartAt ?? start, end };
  return [...priced.map((item) => itemLine(item, { start, end }, whole, step)), ...usage];
}
