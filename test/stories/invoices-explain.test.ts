import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInvoices } from '../../src/invoicing/actions.ts';
import type { InvoiceDiscount, TaxQuote } from '../../src/invoicing/invoice.ts';
import { itemLine, type NewLine } from '../../src/invoicing/invoice-line-item.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { insertRedemption, newLedgerAccount, standalone } from '../support/invoice-fixture.ts';

const app = await startTestApp();

const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const fromThe16th = { start: instant('2026-04-16'), end: april.end };
const [the11th, the21st] = [instant('2026-04-11'), instant('2026-04-21')];

type Fixture = Awaited<ReturnType<typeof insertFixture>>;

/** One line of every kind. April has 30 days, so half of it costs half, and a third a third. */
async function linesOfEveryKind(fixture: Fixture): Promise<NewLine[]> {
  const { itemId: id, priceId, usagePriceId } = fixture;
  const item = { id, priceId, name: 'Pro', pricing: null };
  const none = { priceId: null, subscriptionItemId: null };
  return [
    itemLine({ ...item, unitPrice: 3000n, quantity: 2 }, april),
    itemLine({ ...item, unitPrice: 333n, quantity: 3 }, fromThe16th, april),
    {
      type: 'usage',
      explanation: { kind: 'usage', units: 250n, unitPrice: 51n, usageEventsPerUnit: 100 },
      units: 250n,
      amount: 128n,
      priceId: usagePriceId,
      ledgerAccountId: await newLedgerAccount(app, fixture),
      description: 'Usage',
    },
    {
      ...{ type: 'static', quantity: 1, price: 2500n, description: 'Change of plan', ...none },
      explanation: {
        kind: 'proration',
        segments: [
          { start: april.start, end: the11th, value: 3000n },
          { start: the11th, end: the21st, value: 6000n },
          { start: the21st, end: april.end, value: 9000n },
        ],
        whole: april,
        fairValue: 6000n,
        paid: 3000n,
        waived: 500n,
      },
    },
    {
      ...{ type: 'static', quantity: 1, price: -700n, description: 'Credit for paused time', ...none },
      explanation: { kind: 'paused_time', kept: 700n },
    },
  ];
}

async function explain(discounts: readonly InvoiceDiscount[], tax: TaxQuote | null, fixture: Fixture): Promise<Body> {
  const lines = await linesOfEveryKind(fixture);
  const [invoice] = await app.inEnvironment((work) =>
    createInvoices(work, [{ ...standalone(work, fixture, lines), discounts, tax }]),
  );
  assert(invoice);
  const { invoice: shown } = await app.get(`/invoices/${invoice.id}`);
  const explained = await app.get(`/invoices/${invoice.id}/explain`);
  for (const key of ['subtotal', 'taxAmount', 'total', 'invoiceNumber']) assert.equal(explained[key], shown[key]);
  return explained;
}

/** Half away from zero, as the answer says that it rounds. */
function round({ numerator, denominator }: { numerator: string; denominator: string }): number {
  const [n, d] = [BigInt(numerator), BigInt(denominator)];
  const magnitude = (2n * (n < 0n ? -n : n) + d) / (2n * d);
  return Number(n < 0n ? -magnitude : magnitude);
}
const timeOf = ({ startAt, endAt }: { startAt: number; endAt: number }) => BigInt(endAt - startAt);
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The exact value of a line from what it says it was reckoned from, as numerator and denominator. */
function exactValue(line: Body): [bigint, bigint] {
  switch (line.kind) {
    case 'item': {
      const value = BigInt(line.unitPrice) * BigInt(line.itemQuantity);
      return line.fraction === null ? [value, 1n] : [value * timeOf(line.fraction.part), timeOf(line.fraction.whole)];
    }
    case 'usage':
      return [BigInt(line.units) * BigInt(line.unitPrice), BigInt(line.usageEventsPerUnit)];
    case 'proration': {
      const worth = (segment: Body) => BigInt(segment.value) * timeOf(segment.fraction.part);
      const total = line.segments.reduce((all: bigint, segment: Body) => all + worth(segment), 0n);
      return [total, timeOf(line.period)];
    }
    default:
      return [BigInt(line.amount), 1n];
  }
}

function amountOf(line: Body, billed: number): number {
  const rounded = round(line.rounding);
  if (line.kind === 'proration') return Math.max(0, rounded - line.paid - line.waived);
  if (line.kind === 'paused_time') return -Math.min(line.kept, billed);
  return rounded;
}

/** Reckons every amount of an explanation from the rest of it. */
function recompute(explained: Body): void {
  for (const line of explained.lines) {
    const [numerator, denominator] = exactValue(line);
    // The same fraction, whether or not it was cut.
    assert.equal(numerator * BigInt(line.rounding.denominator), denominator * BigInt(line.rounding.numerator));
    assert.equal(round(line.rounding), line.rounding.rounded);
    const others = explained.lines.filter((other: Body) => other !== line);
    const billed =
      sum(others.map((other: Body) => other.amount)) -
      sum(explained.discounts.map((discount: Body) => discount.computed));
    assert.equal(line.amount, amountOf(line, billed), line.description);
    assert.equal(line.amount, line.price * line.quantity);
  }
  assert.equal(explained.sumOfLines, sum(explained.lines.map((line: Body) => line.amount)));
  const { discounts, tax } = explained;
  for (const discount of discounts) assert.equal(discount.computed, recomputedDiscount(discount));
  const computed = sum(discounts.map((discount: Body) => discount.computed));
  assert.equal(explained.taxable, explained.sumOfLines - computed);
  const taxAmount = tax === null ? 0 : recomputedTax(tax, explained.taxable);
  assert.equal(explained.taxAmount, taxAmount);
  assert.equal(explained.subtotal, explained.taxable - (tax?.inclusive ? taxAmount : 0));
  assert.equal(explained.total, explained.subtotal + taxAmount);
  assert.equal(sum(explained.lines.map((line: Body) => line.discountShare)), computed);
  assert.equal(sum(explained.lines.map((line: Body) => line.taxShare)), taxAmount);
}

function recomputedDiscount({ base, ...discount }: Body): number {
  assert.equal(round(discount.rounding), discount.computed);
  if (discount.kind === 'fixed') return Math.min(discount.amount, base);
  return round({ numerator: String(base * Math.min(discount.amount, 100)), denominator: '100' });
}

function recomputedTax(tax: Body, taxable: number): number {
  const [whole, decimals = ''] = tax.ratePercentage.split('.');
  const scale = 10n ** BigInt(decimals.length);
  const rate = BigInt(whole + decimals);
  const denominator = 100n * scale + (tax.inclusive ? rate : 0n);
  assert.equal(round(tax.rounding), tax.amount);
  return round({ numerator: String(BigInt(taxable) * rate), denominator: String(denominator) });
}

const vat = (percentage: string, inclusive: boolean): TaxQuote => ({
  ...{ type: 'vat', country: 'DE', state: null, percentage, inclusive },
});

for (const { name, terms, tax, total } of [
  // 6000 + 499.5 -> 500 + 127.5 -> 128 + 2500 - 700 = 8428.
  { name: 'neither discount nor tax', terms: [], tax: null, total: 8428 },
  // 15 % of 9128 are 1369.2; paid paused time comes off after that; 8.875 % of 7059 are 626.49.
  {
    name: '15 % off and 8.875 % on top',
    terms: [{ amountType: 'percent', amount: 15n }],
    tax: vat('8.875', false),
    total: 7685,
  },
  // 19 % in 7428 are 1185.98...; the total stays.
  {
    name: '1000 off and 19 % in the prices',
    terms: [{ amountType: 'fixed', amount: 1000n }],
    tax: vat('19', true),
    total: 7428,
  },
  // Half of 9128 is 4564; 19 % of 3864 are 734.16.
  { name: 'half of it off', terms: [{ amountType: 'percent', amount: 50n }], tax: vat('19', false), total: 4598 },
  // Half of 9128 is 4564; 10 % of the 4564 that are left are 456.4; 9128 - 4564 - 456 - 1000 - 700 = 2408.
  {
    name: 'half of it off, then 10 % of the rest, then 1000',
    terms: [
      { amountType: 'percent', amount: 50n },
      { amountType: 'percent', amount: 10n },
      { amountType: 'fixed', amount: 1000n },
    ],
    tax: null,
    total: 2408,
  },
] as const) {
  test(`the answer alone is enough to reckon an invoice again: ${name}`, async () => {
    const fixture = await insertFixture(app);
    const discounts: InvoiceDiscount[] = [];
    for (const [index, each] of terms.entries())
      discounts.push(await insertRedemption(app, fixture, { ...each, position: index + 1 }));
    const explained = await explain(discounts, tax, fixture);
    recompute(explained);
    assert.equal(explained.total, total);
    assert.deepEqual(
      explained.discounts.map(({ code }: Body) => code),
      discounts.map(({ code }) => code),
    );
  });
}

test('a line names its period, both ends of its fraction, and what it came from', async () => {
  const fixture = await insertFixture(app);
  const [whole, half, usage, change, paused] = (await explain([], null, fixture)).lines;
  const shown = { startAt: april.start, endAt: april.end };
  assert.deepEqual(whole.period, shown);
  assert.deepEqual(whole.fraction, { part: shown, whole: shown });
  assert.deepEqual([whole.priceId, whole.subscriptionItemId], [fixture.priceId, fixture.itemId]);
  assert.deepEqual(half.fraction, { part: { ...shown, startAt: fromThe16th.start }, whole: shown });
  // 999 for April; the half of it is 499.5.
  assert.deepEqual([half.quantity, half.price, half.unitPrice, half.itemQuantity], [1, 500, 333, 3]);
  assert.deepEqual([usage.units, usage.unitPrice, usage.usageEventsPerUnit], [250, 51, 100]);
  assert.deepEqual(usage.rounding, { numerator: '12750', denominator: '100', rounded: 128 });
  assert.notEqual(usage.ledgerAccountId, null);
  assert.deepEqual([change.segments.length, change.fairValue, change.paid, change.waived], [3, 6000, 3000, 500]);
  assert.deepEqual([paused.kind, paused.amount, paused.kept], ['paused_time', -700, 700]);
});

test('a line that is older than explanations says so, and its invoice still adds up', async () => {
  const fixture = await insertFixture(app);
  const explained = await explain([], null, fixture);
  await app.owner
    .updateTable('invoiceLineItems')
    .set({ explanation: '{}' })
    .where('invoiceId', '=', explained.invoiceId)
    .execute();
  const old = await app.get(`/invoices/${explained.invoiceId}/explain`);
  assert.deepEqual(new Set(old.lines.map((line: Body) => line.kind)), new Set(['unexplained']));
  recompute(old);
});
