import { answerName, isMatch, isMeasured, type Meter, meters, type Properties, priceFor } from './catalogue-usage.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { fits } from './oracle-limits.ts';
import { recordMeasured } from './oracle-measured.ts';
import { drawnFor, pooledShare } from './oracle-pools.ts';
import { exactOf } from './oracle-pricing.ts';
import { type Books, hasAccess, isCurrent, isTerminal, reach, type Subscription } from './oracle-records.ts';
import type { MeterAccount } from './oracle-records-usage.ts';
import { type Other, payableOfOther, recordOthers as recordAll, spendOfOther } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, nameOf } from './step.ts';
import { drawLabel } from './steps-limits.ts';
import { drawDate } from './steps-reviews.ts';

/** An event of meters without credits. */
interface Told {
  readonly subscription: Subscription;
  readonly transactionId: string;
  /** `answer`, or the slug of the meter that it names. */
  readonly kind: string;
  readonly amount: number;
  /** An instant of the past; null: it is not said. */
  readonly date: number | null;
  /** Whether it asks for the units first. */
  readonly isConsumed: boolean;
  readonly properties: Properties;
  /** Its own price; null: none. */
  readonly price: string | null;
  readonly label: string | null;
}

const mostOfBulk = 9;
const prices = ['0', '0.000000000001', '0.25', '19.99', '150'] as const;

/** The meters on which it counts, with the units there; null: it is refused. */
function partsOf({ kind, amount, properties, price, isConsumed }: Told): { meter: Meter; units: number }[] | null {
  if ((kind === 'resale') !== (price !== null) || (isConsumed && !consumable.includes(kind))) return null;
  const [named] = meters.filter(({ slug }) => slug === kind);
  if (named !== undefined) return isAllowed(named, amount) ? [{ meter: named, units: amount }] : null;
  if (properties.tokens === undefined) return null;
  return meters
    .filter(({ eventName, where }) => eventName === answerName && isMatch(where, properties))
    .map((meter) => ({ meter, units: meter.valueProperty ? Number(properties[meter.valueProperty]) : 1 }))
    .filter(({ meter, units }) => units > 0 || isMeasured(meter));
}

/** Only what is held can be taken away, and only a measured value can be 0. */
function isAllowed(meter: Meter, amount: number): boolean {
  return meter.recurring || amount > 0 || (amount === 0 && isMeasured(meter));
}

type Drawn = Pick<Told, 'kind' | 'amount' | 'properties' | 'price' | 'date' | 'isConsumed'>;

/** The meters of which an event may ask for the units first. */
const consumable: readonly string[] = ['payments', 'resale', 'compute'];
const measuredMeters = meters.filter((meter) => isMeasured(meter) && meter.eventName === undefined);

/** An event of a measured meter, often a late one. No two of them have the same date, because only that orders them. */
function drawMeasured(random: Random, { now }: Books): Drawn | null {
  const meter = random.pick(measuredMeters);
  if (meter === undefined) return null;
  const { slug: kind, recurring, aggregationType } = meter;
  const least = recurring || random.chance(0.02) ? -6 : 0;
  const date = now - random.below((random.chance(0.5) ? 2 : 20) * dayMs);
  return {
    kind,
    amount: random.between(least, aggregationType === 'unit_hours' ? 900 : recurring ? 9 : 40),
    properties: {},
    price: null,
    date: recurring && random.chance(0.4) ? null : date,
    isConsumed: false,
  };
}

function drawTold(random: Random, books: Books, onlyMeasured: boolean): Drawn {
  const measured = onlyMeasured || random.chance(0.4) ? drawMeasured(random, books) : null;
  if (measured !== null) return measured;
  return { ...drawCounted(random), date: null, isConsumed: false };
}

function drawCounted(random: Random): Pick<Told, 'kind' | 'amount' | 'properties' | 'price'> {
  const kind = random.pick(['answer', 'answer', 'payments', 'resale', 'compute', 'compute'] as const) ?? 'answer';
  const price = random.chance(0.97) === (kind === 'resale') ? (random.pick(prices) ?? null) : null;
  const card = random.pick(['amex', 'visa']) ?? 'visa';
  if (kind === 'resale') return { kind, amount: random.between(1, 5), properties: { card }, price };
  if (kind === 'compute') {
    const of = random.pick([{}, {}, { size: 'large' }, { size: 'huge' }, { size: 'huge', region: 'eu' }]) ?? {};
    return { kind, amount: random.between(1, random.chance(0.3) ? 400 : 40), properties: of, price };
  }
  if (kind === 'payments') {
    return { kind, amount: random.between(1, random.chance(0.3) ? 40_000 : 900), properties: { card }, price };
  }
  const size = random.pick(['small', 'large', 'huge']) ?? 'small';
  const tokens = random.chance(0.05) ? 0 : random.between(1, random.chance(0.3) ? 3000 : 200);
  const value: Properties = random.chance(0.03) ? {} : { tokens: random.chance(0.1) ? String(tokens) : tokens };
  return { kind, amount: 1, properties: { ...value, size }, price };
}

/** Records one or many events of meters without credits: by name, by meter, or with a price of their own. Some are repeats. */
export const recordOthers: Draw = ({ random, books, customers, newName, wish }) => {
  const all = allSubscriptions({ customers });
  const isBulk = wish.isMeasured || random.chance(0.5);
  const told: Told[] = [];
  for (let left = isBulk ? random.between(2, mostOfBulk) : 1; left > 0; left--) {
    const subscription = random.pick(all.filter((each) => isCurrent(each) || each.status === 'paused'));
    if (subscription === undefined) return null;
    const ended = random.chance(0.02) ? random.pick(all.filter(isTerminal)) : undefined;
    const repeated = random.chance(0.15) ? random.pick(knownOf(subscription, told)) : undefined;
    const any = drawTold(random, books, wish.isMeasured === true);
    const date = any.date ?? drawDate(random, books, subscription, wish.isLate === true);
    const drawn = measuredMeters.some(({ slug }) => slug === any.kind) ? any : { ...any, date };
    const fresh: Told = {
      subscription: ended ?? subscription,
      transactionId: newName('told'),
      ...drawn,
      label: drawLabel(random),
    };
    const each = repeated ?? fresh;
    const askedRate = consumable.includes(each.kind) ? 0.4 : each.kind === 'answer' ? 0 : 0.03;
    told.push({ ...each, isConsumed: !isBulk && random.chance(askedRate) });
  }
  const texts = told.map(({ subscription, kind, amount, properties, price, date, isConsumed }) => {
    return `${isConsumed ? 'consuming ' : ''}${amount} ${kind} ${JSON.stringify(properties)}${price === null ? '' : ` for ${price}`}${date === null ? '' : ` of ${date}`} on ${nameOf(subscription)}`;
  });
  return {
    text: `tells of ${texts.join(', ')}`,
    customer: isBulk ? null : (told[0]?.subscription.customer ?? null),
    ask: async (records) => {
      const events: unknown[] = [];
      for (const { subscription, transactionId, kind, amount, properties, price, date, label } of told) {
        const subscriptionId = await records.subscription(subscription);
        const what = kind === 'answer' ? { eventName: answerName } : { usageMeterSlug: kind, amount };
        const own = { ...(price === null ? {} : { price }), ...(label === null ? {} : { label }) };
        const dated = date === null ? {} : { usageDate: date };
        events.push({ subscriptionId, transactionId, ...what, ...own, ...dated, properties });
      }
      return isBulk
        ? { method: 'POST', path: '/usage-events/bulk', body: { usageEvents: events } }
        : {
            method: 'POST',
            path: told[0]?.isConsumed ? '/usage-events/consume' : '/usage-events',
            body: { usageEvent: events[0] },
          };
    },
    apply: () => {
      const parts = told.map((each) => ({ each, parts: partsOf(each) }));
      if (told.some(({ subscription }) => isTerminal(subscription))) return 'refused';
      if (parts.some((one) => one.parts === null)) return 'refused';
      const others = parts.flatMap(({ each, parts: counted }) =>
        (counted ?? []).map(({ meter, units }) => otherOf(each, meter, units)),
      );
      const isConsumed = told.some((each) => each.isConsumed);
      if (isConsumed && others.some((other) => !isKnown(other) && !mayConsume(books, other))) return 'refused';
      for (const { subscription, meter, date, units } of recordAll(books, others, isConsumed)) {
        if (!isMeasured(meter)) continue;
        const isPaused = subscription.status === 'paused';
        reach(books, `measured ${meter.slug}${isPaused ? ' in a pause' : ''}`, subscription.customer);
        recordMeasured(books, subscription, meter, { date: date ?? books.now, amount: units });
      }
      return 'done';
    },
  };
};

function isKnown({ subscription, meter, transactionId }: Other): boolean {
  return subscription.meters.get(meter.slug)?.events.has(transactionId) === true;
}

/** Whether a pool pays for all of it, and no limit refuses it. */
function mayConsume(books: Books, other: Other): boolean {
  const { subscription } = other;
  const use = payableOfOther(other);
  const pooled = pooledShare(books, use);
  if (pooled === null || !hasAccess(books, subscription)) return false;
  const isFitting = fits(books, spendOfOther(books, other, drawnFor(use, pooled)));
  reach(books, isFitting ? 'other use consumed' : 'other use refused by a limit', subscription.customer);
  return isFitting;
}

/** The part of an event that a meter counts. */
function otherOf(told: Told, meter: Meter, units: number): Other {
  const { subscription, transactionId, properties, label, date } = told;
  const price = priceFor(subscription.plan.rates, meter.slug, properties);
  const own = exactOf(told.price ?? '0');
  return { subscription, meter, units, price, own, properties, transactionId, told, date, label };
}

/** Events that were recorded before, or are in the same request. */
function knownOf({ meters: accounts }: Subscription, told: readonly Told[]): Told[] {
  const recorded = [...accounts.values()].flatMap(({ events }: MeterAccount) => [...events.values()]);
  // The event of a settled hold has the id of the hold, which nobody sends.
  const known = recorded.flatMap((each) => (each.told as Told | null) ?? []);
  return [...known, ...told.filter(({ subscription }) => subscription.meters === accounts)];
}
