import type { Work } from '../database/work.ts';
import type { InvoiceDiscount } from '../invoicing/invoice.ts';
import { discountableOf, type NewLine, priceLine } from '../invoicing/invoice-line-item.ts';
import { type InvoiceRow, withParts } from '../invoicing/store.ts';
import { listPausedTime } from '../invoicing/store-collecting.ts';
import { chargedStep } from '../kernel/currency.ts';
import { smallerOf } from '../kernel/money.ts';
import { listPeriodInvoices, type PeriodInvoice } from '../payments/store-period-invoices.ts';
import { discountInTurn } from '../rating/discount.ts';
import { valueOfOwed } from '../rating/interval-change.ts';
import { planBilled, planPaid } from '../rating/list-value.ts';
import { type UnusedValue, unusedPaidValue } from '../rating/proration.ts';
import { changeSegments, wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { pausedTimeTakenOff } from '../subscriptions/pause.ts';
import { addPausedCredit, findSubscription, saveSubscription } from '../subscriptions/store.ts';
import { findBillingPeriod, findCurrentBillingPeriod, saveKeptValue } from '../subscriptions/store-billing-periods.ts';
import { listItemSpans } from '../subscriptions/store-item-versions.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isTerminal } from '../subscriptions/subscription.ts';
import { listOwedUnits } from '../usage/store-subscriptions.ts';
import { type Bill, discountsOf, paidInAdvance } from './bill-subscription.ts';

/**
 * The bills, each minus the kept value of paused time of its subscription. The value is money that was paid, so it comes
 * off after the discount. Bills of subscriptions that keep nothing cost no query.
 */
export async function takeOffPausedTime<Any extends Bill>(work: Work, bills: readonly Any[]): Promise<Any[]> {
  const keeping = new Set(
    bills.filter(({ subscription, lines }) => subscription.pausedCredit > 0n && lines.length > 0),
  );
  const step = chargedStep(work.currency);
  const discountsOfBill = keeping.size === 0 ? () => [] : await discountsOf(work, [...keeping]);
  const owed = await valuesOfOwed(work, [...keeping]);
  return bills.map((bill) => {
    const owedValue = owed.get(bill.subscription.id) ?? 0n;
    const line = keeping.has(bill) ? pausedTimeLine(bill, discountsOfBill(bill), { owed: owedValue, step }) : null;
    return line === null ? bill : { ...bill, lines: [...bill.lines, line] };
  });
}

/** Whether credits come with what a line bills: not with usage, nor with what a commitment misses. */
function bringsCredits({ type, explanation }: NewLine): boolean {
  return type !== 'usage' && explanation.kind !== 'minimum_commitment';
}

/**
 * The kept value of credits that were used ahead of a pause and are owed, by subscription: of several meters, the largest.
 * Bills of the plan alone need none.
 */
async function valuesOfOwed(work: Work, bills: readonly Bill[]): Promise<Map<string, bigint>> {
  const withOthers = bills.filter(({ lines }) => !lines.every(bringsCredits));
  const values = new Map<string, bigint>();
  if (withOthers.length === 0) return values;
  const ids = withOthers.map(({ subscription }) => subscription.id);
  const owed = await listOwedUnits(work, ids);
  for (const times of Map.groupBy(owed, (each) => `${each.subscriptionId} ${each.usageMeterId}`).values()) {
    const subscriptionId = times[0]?.subscriptionId ?? '';
    const value = valueOfOwed(times);
    if (value > (values.get(subscriptionId) ?? 0n)) values.set(subscriptionId, value);
  }
  return values;
}

/** The line that takes kept paused time off a bill with these discounts; null if there is none. */
function pausedTimeLine(
  { lines, subscription }: Bill,
  discounts: readonly InvoiceDiscount[],
  { owed, step }: { readonly owed: bigint; readonly step: bigint },
): NewLine | null {
  const kept = subscription.pausedCredit;
  const listed = lines.reduce((sum, line) => sum + priceLine(line).amount, 0n);
  const discounted = discountInTurn(discounts, lines.map(discountableOf), step).amount;
  const ofOthers = lines.reduce((sum, line) => sum + (bringsCredits(line) ? 0n : priceLine(line).amount), 0n);
  const billed = listed - discounted;
  const takenOff = pausedTimeTakenOff({ kept, owed }, { billed, ofPlan: billed - ofOthers }, step);
  if (takenOff <= 0n) return null;
  return {
    type: 'static',
    explanation: { kind: 'paused_time', kept },
    quantity: 1,
    price: -takenOff,
    priceId: null,
    subscriptionItemId: null,
    description: 'Credit for paused time',
  };
}

/** The remaining kept value, in minor units, after billing these lines. */
export function pausedCreditLeft(lines: readonly NewLine[], kept: bigint): bigint {
  return lines.reduce(
    (left, line) => (line.type === 'static' && line.explanation.kind === 'paused_time' ? left + line.price : left),
    kept,
  );
}

/**
 * Restores the paused time taken off by these voided invoices, for the next invoice. The caller has locked the
 * subscriptions.
 */
export async function giveBackPausedTime(work: Work, voidedInvoiceIds: readonly string[]): Promise<void> {
  await addPausedCredit(work, await listPausedTime(work, voidedInvoiceIds));
}

/**
 * The amount that was really paid for the rest of a paused period, after discounts, refunds and waivers. In minor
 * units.
 */
export async function keptValueOf(work: Work, period: BillingPeriodRow): Promise<bigint> {
  return (await unusedValueOf(work, period)).unused;
}

/** The same, with what rounding left out of the used value. */
export async function unusedValueOf(work: Work, period: BillingPeriodRow): Promise<UnusedValue> {
  const { subscriptionId, startAt, endAt, pausedTimeRefunded } = period;
  const whole = wholeOf(period);
  const history = await paidInAdvance(work, await listItemSpans(work, subscriptionId, startAt));
  const items = await paidInAdvance(work, await listActiveItems(work, [{ subscriptionId, at: endAt }]));
  const invoices = (await listPeriodInvoices(work, [period])).map(asExpected);
  const worth = {
    segments: changeSegments(history, items, { startAt, endAt: whole.end }, endAt, chargedStep(work.currency)),
    listed: sumOf(invoices, ({ status, listAmount }) => (status === 'void' ? 0n : listAmount)),
    billed: sumOf(invoices, planBilled),
    paid: sumOf(invoices, planPaid) - pausedTimeRefunded,
    roundingCarried: period.roundingCarried,
  };
  return unusedPaidValue(worth, whole, endAt);
}

/** A payment that was reversed is owed again, so it still counts. One that was written off does not. */
function asExpected(invoice: PeriodInvoice): PeriodInvoice {
  return invoice.status === 'open' ? { ...invoice, isBeingPaid: true } : invoice;
}

function sumOf(invoices: readonly PeriodInvoice[], amountOf: (invoice: PeriodInvoice) => bigint): bigint {
  return invoices.reduce((sum, invoice) => sum + amountOf(invoice), 0n);
}

/**
 * Recounts the kept value of a paused period after a refund, a void or a write-off of its invoice, so that no money is
 * both given back and kept. The caller has locked the subscription, or those of a consolidated invoice.
 */
export async function recountKeptValue(work: Work, invoice: InvoiceRow): Promise<void> {
  for (const each of await withParts(work, [invoice])) await recountOf(work, each);
}

async function recountOf(work: Work, { billingPeriodId }: InvoiceRow): Promise<void> {
  const period = billingPeriodId === null ? null : await findBillingPeriod(work, billingPeriodId);
  if (period === null || period.keptValue === 0n) return;
  const kept = smallerOf(await keptValueOf(work, period), period.keptValue);
  const lost = period.keptValue - kept;
  if (lost === 0n) return;
  await saveKeptValue(work, period.id, { keptValue: kept });
  const subscription = await findSubscription(work, period.subscriptionId);
  // An ended subscription keeps nothing.
  if (subscription === null || isTerminal(subscription.status)) return;
  const left = smallerOf(lost, subscription.pausedCredit);
  await saveSubscription(work, subscription.id, { pausedCredit: subscription.pausedCredit - left });
  if (subscription.status === 'paused') return;
  const current = await findCurrentBillingPeriod(work, subscription);
  if (current !== null) await refundTakenOff(work, current, lost - left);
}

/** Notes that money was refunded after an invoice of this period took it off: a pause of the period does not keep it. */
export async function refundTakenOff(work: Work, period: BillingPeriodRow, lost: bigint): Promise<void> {
  if (lost === 0n) return;
  const invoices = await listPeriodInvoices(work, [period]);
  const takenOff = sumOf(invoices, ({ status, pausedTime }) => (status === 'void' ? 0n : pausedTime));
  const pausedTimeRefunded = smallerOf(period.pausedTimeRefunded + lost, takenOff);
  await saveKeptValue(work, period.id, { pausedTimeRefunded });
}
