import { answerName, isMatch, meters, type Properties, priceFor, type UsagePrice } from './catalogue-usage.ts';
import { exactOf } from './oracle-pricing.ts';
import { isCurrent, isTerminal, type MeterAccount, type Subscription } from './oracle-records.ts';
import { recordOther } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, nameOf } from './step.ts';

/** An event of meters without credits. */
interface Told {
  readonly subscription: Subscription;
  readonly transactionId: string;
  readonly kind: 'answer' | 'payments' | 'resale';
  readonly amount: number;
  readonly properties: Properties;
  /** Its own price; null: none. */
  readonly price: string | null;
}

const mostOfBulk = 9;
const prices = ['0', '0.000000000001', '0.25', '19.99', '150'] as const;

/** The meters on which it counts, with the units and the price there; null: it is refused. */
function partsOf(told: Told): { meter: string; units: number; price: UsagePrice }[] | null {
  const { subscription, kind, amount, properties, price } = told;
  const { rates } = subscription.plan;
  if ((kind === 'resale') !== (price !== null)) return null;
  if (kind !== 'answer') return [{ meter: kind, units: amount, price: priceFor(rates, kind, properties) }];
  if (properties.tokens === undefined) return null;
  const parts = meters
    .filter(({ eventName, where }) => eventName === answerName && isMatch(where, properties))
    .map(({ slug: meter, valueProperty }) => ({
      meter,
      units: valueProperty === undefined ? 1 : Number(properties[valueProperty]),
      price: priceFor(rates, meter, properties),
    }))
    .filter(({ units }) => units > 0);
  return parts.length === 0 ? null : parts;
}

function drawTold(random: Random): Pick<Told, 'kind' | 'amount' | 'properties' | 'price'> {
  const kind = random.pick(['answer', 'answer', 'payments', 'resale'] as const) ?? 'answer';
  const price = random.chance(0.97) === (kind === 'resale') ? (random.pick(prices) ?? null) : null;
  if (kind === 'resale') return { kind, amount: random.between(1, 5), properties: {}, price };
  if (kind === 'payments') {
    const card = random.pick(['amex', 'visa']) ?? 'visa';
    return { kind, amount: random.between(1, random.chance(0.3) ? 40_000 : 900), properties: { card }, price };
  }
  const size = random.pick(['small', 'large', 'huge']) ?? 'small';
  const tokens = random.chance(0.05) ? 0 : random.between(1, random.chance(0.3) ? 3000 : 200);
  const value: Properties = random.chance(0.03) ? {} : { tokens: random.chance(0.1) ? String(tokens) : tokens };
  return { kind, amount: 1, properties: { ...value, size }, price };
}

/** Records one or many events of meters without credits: by name, by meter, or with a price of their own. Some are repeats. */
export const recordOthers: Draw = ({ random, books, customers, newName }) => {
  const all = allSubscriptions({ customers });
  const isBulk = random.chance(0.5);
  const told: Told[] = [];
  for (let left = isBulk ? random.between(2, mostOfBulk) : 1; left > 0; left--) {
    const subscription = random.pick(all.filter((each) => isCurrent(each) || each.status === 'paused'));
    if (subscription === undefined) return null;
    const ended = random.chance(0.02) ? random.pick(all.filter(isTerminal)) : undefined;
    const repeated = random.chance(0.15) ? random.pick(knownOf(subscription, told)) : undefined;
    const fresh: Told = { subscription: ended ?? subscription, transactionId: newName('told'), ...drawTold(random) };
    told.push(repeated ?? fresh);
  }
  const texts = told.map(({ subscription, kind, amount, properties, price }) => {
    return `${amount} ${kind} ${JSON.stringify(properties)}${price === null ? '' : ` for ${price}`} on ${nameOf(subscription)}`;
  });
  return {
    text: `tells of ${texts.join(', ')}`,
    customer: isBulk ? null : (told[0]?.subscription.customer ?? null),
    ask: async (records) => {
      const events: unknown[] = [];
      for (const { subscription, transactionId, kind, amount, properties, price } of told) {
        const subscriptionId = await records.subscription(subscription);
        const what = kind === 'answer' ? { eventName: answerName } : { usageMeterSlug: kind, amount };
        const own = price === null ? {} : { price };
        events.push({ subscriptionId, transactionId, ...what, ...own, properties });
      }
      return isBulk
        ? { method: 'POST', path: '/usage-events/bulk', body: { usageEvents: events } }
        : { method: 'POST', path: '/usage-events', body: { usageEvent: events[0] } };
    },
    apply: () => {
      const parts = told.map((each) => ({ each, parts: partsOf(each) }));
      if (told.some(({ subscription }) => isTerminal(subscription))) return 'refused';
      if (parts.some((one) => one.parts === null)) return 'refused';
      for (const { each, parts: counted } of parts)
        for (const { meter, units, price } of counted ?? []) {
          const own = exactOf(each.price ?? '0');
          recordOther(books, each.subscription, {
            meter,
            units,
            price,
            own,
            transactionId: each.transactionId,
            told: each,
          });
        }
      return 'done';
    },
  };
};

/** Events that were recorded before, or are in the same request. */
function knownOf({ meters: accounts }: Subscription, told: readonly Told[]): Told[] {
  const recorded = [...accounts.values()].flatMap(({ events }: MeterAccount) => [...events.values()]);
  const known = recorded.map((each) => each.told as Told);
  return [...known, ...told.filter(({ subscription }) => subscription.meters === accounts)];
}
