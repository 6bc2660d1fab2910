import { type Pricing, type Terms, usagePriceOf, usagePrices } from './catalogue-usage.ts';
import type { Body } from './client.ts';
import { termsAt } from './oracle-periods.ts';
import { costOf, decimalOf, nothing, type Used } from './oracle-pricing.ts';
import { reach, type Subscription } from './oracle-records.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw } from './step.ts';

const mostLines = 5;
const mostUnits = 5000;

/** A line of a quote, and the amount that it should have. */
interface QuotedLine {
  readonly line: Body;
  readonly amount: number;
}

/** Asks what usage costs: that of usage periods on invoices, which costs what is billed, and other amounts of units. */
export const askForQuote: Draw = ({ random, books, customers }) => {
  const billed = allSubscriptions({ customers }).flatMap((subscription) =>
    billedPeriods(subscription).map((line) => ({ subscription, line })),
  );
  const lines = Array.from({ length: random.between(1, mostLines) }, () => {
    const period = random.chance(0.5) ? random.pick(billed) : undefined;
    if (period !== undefined) reach(books, 'quote of usage on invoices', period.subscription.customer);
    return period?.line ?? anyLine(random);
  });
  const total = lines.reduce((sum, { amount }) => sum + amount, 0);
  return {
    text: `asks what ${lines.length} lines cost`,
    customer: null,
    ask: async () => ({
      method: 'POST',
      path: '/prices/quote',
      body: { quote: { lines: lines.map((each) => each.line) } },
    }),
    apply: () => 'done',
    visit: async ({ quote }) => {
      const amounts = quote.lines.map(({ amount }: Body) => amount);
      return { is: String([...amounts, quote.total]), should: String([...lines.map((each) => each.amount), total]) };
    },
  };
};

/** The usage periods of which invoices bill all that they have taken, where the units are whole. */
function billedPeriods(subscription: Subscription): QuotedLine[] {
  const counted = [...subscription.metered].flatMap(([slug, { periods }]) =>
    [...periods].flatMap(([start, { taken, released, amount }]) => {
      const isReleased = released.units > 0n || released.events > 0n;
      return isReleased ? [] : lineOf(termsAt(subscription, usagePriceOf(slug), start), taken, amount);
    }),
  );
  const measured = [...subscription.measured.values()].flatMap(({ charges }) =>
    charges.flatMap(({ price, start, used, amount, waived, isReopened }) => {
      const isWhole = used.per === 1n && !isReopened;
      return isWhole ? lineOf(termsAt(subscription, price, start), used, amount + waived) : [];
    }),
  );
  return [...counted, ...measured];
}

function lineOf(terms: Terms, { units, events, own }: Used, amount: number): QuotedLine[] {
  if (!('pricing' in terms)) return [];
  const { pricing } = terms;
  const ofEvents = {
    ...(pricing.fixedAmountPerEvent === undefined ? {} : { events: Number(events) }),
    ...(pricing.model === 'dynamic' ? { eventsAmount: decimalOf(own) } : {}),
  };
  return [{ line: { pricing, units: Number(units), ...ofEvents }, amount }];
}

/** Units of a stored price, often at the end of a tier. */
function anyLine(random: Random): QuotedLine {
  const prices = usagePrices.filter(({ terms }) => !('pricing' in terms) || terms.pricing.model !== 'dynamic');
  const { slug, terms } = random.pick(prices) ?? usagePriceOf('tokens');
  const pricing: Partial<Pricing> = 'pricing' in terms ? terms.pricing : {};
  const ends = (pricing.tiers ?? []).flatMap(({ upTo }) => upTo ?? []).map((end) => end + (pricing.freeUnits ?? 0));
  const end = random.pick([0, 0, ...ends]) ?? 0;
  const units = random.chance(0.7) ? Math.max(0, end + random.between(-1, 1)) : random.between(0, mostUnits);
  // Units that say nothing else are of one event.
  const events = pricing.fixedAmountPerEvent !== undefined && units > 0 ? 1n : 0n;
  return { line: { priceSlug: slug, units }, amount: costOf(terms, { ...nothing, units: BigInt(units), events }) };
}
