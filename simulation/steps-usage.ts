import { isMatch, meterSlug, type Properties, priceFor, type UsagePrice, usagePrices } from './catalogue-usage.ts';
import { fits } from './oracle-limits.ts';
import { balance, mostOfPool, pooledShare, unitsPaid } from './oracle-pools.ts';
import { type Customer, hasAccess, isCurrent, isTerminal, reach, type Subscription } from './oracle-records.ts';
import { spendOfUse, use } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, nameOf, type Records } from './step.ts';
import { drawLabel } from './steps-limits.ts';
import { drawDate } from './steps-reviews.ts';

interface Use {
  readonly subscription: Subscription;
  readonly transactionId: string;
  readonly amount: number;
  /** It names the customer: the service finds the subscription. */
  readonly namesCustomer: boolean;
  /** Empty: it has none. */
  readonly properties: Properties;
  /** The price that it names in place of the meter. */
  readonly named: UsagePrice | null;
  /** Null: it is not said. */
  readonly date: number | null;
  readonly label: string | null;
}

const callsPrices = usagePrices.filter(({ meter }) => meter === meterSlug);

/** Properties by which the service finds the price, and sometimes a price by its name. */
function drawRating(random: Random): Pick<Use, 'properties' | 'named'> {
  const size = random.pick(['small', 'large', 'large', 'huge']) ?? 'small';
  const region = random.pick(['eu', 'us']) ?? 'us';
  const properties: Properties = random.chance(0.5) ? {} : random.chance(0.5) ? { size } : { size, region };
  return { properties, named: random.chance(0.1) ? (random.pick(callsPrices) ?? null) : null };
}

/** The price that rates it; null: that which it names is for other events. */
function priceOfUse({ subscription, properties, named }: Use): UsagePrice | null {
  if (named === null) return priceFor(subscription.plan.rates, meterSlug, properties);
  return isMatch(named.where, properties) ? named : null;
}

/** The uses with the prices that rate them; null: one has none. */
function rated(uses: readonly Use[]) {
  const known = uses.flatMap((each) => {
    const price = priceOfUse(each);
    return price === null ? [] : { ...each, price };
  });
  return known.length < uses.length ? null : known;
}

function eventOf({ transactionId, amount, properties, named, date, label }: Use): object {
  const ofPrice = named === null ? { usageMeterSlug: meterSlug } : { priceSlug: named.slug };
  const dated = date === null ? {} : { usageDate: date };
  return {
    transactionId,
    amount,
    ...ofPrice,
    ...dated,
    ...(label === null ? {} : { label }),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
  };
}

/** Sometimes usage names the customer, if that has one current subscription, or none: this is refused. */
function mayNameCustomer(random: Random, subscription: Subscription): boolean {
  const current = subscription.customer.subscriptions.filter(isCurrent);
  if (current.length === 0) return random.chance(0.1);
  return current.length === 1 && current[0] === subscription && random.chance(0.3);
}

async function addressIn(records: Records, { subscription, namesCustomer }: Use): Promise<object> {
  if (namesCustomer) return { customerExternalId: subscription.customer.name };
  return { subscriptionId: await records.subscription(subscription) };
}

const mostOfBulk = 12;

/** Records one or many events, of one or several subscriptions; some are repeats, in any order. */
export const recordUsage: Draw = ({ random, books, customers, wish, newName }) => {
  const isBulk = !wish.isMuch && random.chance(0.5);
  const isByLines = random.chance(0.4);
  const uses: Use[] = [];
  for (let left = isBulk ? random.between(1, mostOfBulk) : 1; left > 0; left--) {
    const subscription = pickUser(random, customers);
    if (subscription === undefined) return null;
    const isMuch = wish.isMuch || random.chance(0.2);
    const amount = isMuch ? random.between(100, 1500) : random.between(1, 99);
    const repeated = random.chance(0.2) ? pickKnown(random, subscription, uses) : undefined;
    const namesCustomer = mayNameCustomer(random, subscription);
    uses.push({
      subscription,
      amount,
      transactionId: repeated ?? newName('use'),
      namesCustomer,
      label: drawLabel(random),
      date: drawDate(random, books, subscription, wish.isLate === true),
      ...drawRating(random),
    });
  }
  const told = uses
    .map((each) => {
      const { subscription, amount, namesCustomer, date } = each;
      const where = namesCustomer ? `the plan of ${subscription.customer.name}` : nameOf(subscription);
      return `${amount} on ${where} at ${priceOfUse(each)?.slug ?? 'a price for others'}${date === null ? '' : ` of ${date}`}`;
    })
    .join(', ');
  return {
    text: `records ${told}`,
    customer: isBulk ? null : (uses[0]?.subscription.customer ?? null),
    ask: async (records) => {
      const events: unknown[] = [];
      for (const each of uses) events.push({ ...(await addressIn(records, each)), ...eventOf(each) });
      if (!isBulk) return { method: 'POST', path: '/usage-events', body: { usageEvent: events[0] } };
      const path = '/usage-events/bulk';
      return isByLines
        ? { method: 'POST', path, lines: events }
        : { method: 'POST', path, body: { usageEvents: events } };
    },
    apply: () => {
      const known = rated(uses);
      if (known === null || uses.some((each) => !mayUse(each, uses))) return 'refused';
      use(
        books,
        known.filter((each) => !isRepeated(each)),
      );
      return 'done';
    },
  };
};

/** A running or paused subscription; sometimes an ended one, which records no usage. */
function pickUser(random: Random, customers: readonly Customer[]): Subscription | undefined {
  const all = allSubscriptions({ customers });
  const ended = all.filter(isTerminal);
  if (ended.length > 0 && random.chance(0.02)) return random.pick(ended);
  return random.pick(all.filter((each) => isCurrent(each) || each.status === 'paused'));
}

/** An earlier event: usually of this subscription, sometimes of another one of its customer; or of this request. */
function pickKnown(random: Random, subscription: Subscription, uses: readonly Use[]): string | undefined {
  const { subscriptions } = subscription.customer;
  const known = (random.chance(0.9) ? [subscription] : subscriptions).flatMap(({ events }) => [...events.keys()]);
  const told = uses.filter((each) => each.subscription === subscription).map(({ transactionId }) => transactionId);
  return random.pick([...known, ...told]);
}

function isRepeated({ subscription, transactionId }: Use): boolean {
  return subscription.customer.subscriptions.some(({ events }) => events.has(transactionId));
}

/** A transaction belongs to the first subscription that recorded it; who names the customer may repeat it. */
function mayUse({ subscription, transactionId, namesCustomer }: Use, uses: readonly Use[]): boolean {
  const { subscriptions } = subscription.customer;
  if (namesCustomer) return isCurrent(subscription);
  const first =
    subscriptions.find(({ events }) => events.has(transactionId)) ??
    uses.find((each) => each.transactionId === transactionId)?.subscription;
  return !isTerminal(subscription) && (first ?? subscription) === subscription;
}

/** Consumes only as far as the balance covers; repeats return the first result. */
export const consume: Draw = ({ random, books, customers, wish, newName }) => {
  const subscription = pickUser(random, customers);
  if (subscription === undefined) return null;
  const left = balance(books, subscription);
  const rating = drawRating(random);
  const { properties } = rating;
  const price = priceFor(subscription.plan.rates, meterSlug, properties);
  const payable = { subscription, meter: meterSlug, price, properties };
  const paid = unitsPaid(books, { ...payable, units: mostOfPool });
  const inAll = Math.max(left, 0) + (random.chance(0.4) ? Number(paid) : 0);
  const some = inAll > 0 && random.chance(0.7) ? random.between(1, inAll) : Math.max(1, inAll + random.between(1, 50));
  // The credits of the meter come first.
  const ofPool = Math.max(left, 0) + random.between(1, Math.max(1, Number(paid)));
  const amount = wish.isMuch ? Math.max(1, left) : wish.isOfPool ? ofPool : some;
  const repeated =
    !wish.isMuch && !wish.isOfPool && random.chance(0.15) ? pickKnown(random, subscription, []) : undefined;
  const namesCustomer = mayNameCustomer(random, subscription);
  const consumed: Use = {
    subscription,
    amount,
    transactionId: repeated ?? newName('use'),
    namesCustomer,
    label: drawLabel(random),
    date: null,
    ...rating,
  };
  return {
    text: `consumes ${amount} of ${left} and ${paid} of a pool on ${nameOf(subscription)} as ${consumed.transactionId}${namesCustomer ? ' by its customer' : ''}`,
    customer: subscription.customer,
    ask: async (records) => {
      const usageEvent = { ...(await addressIn(records, consumed)), ...eventOf(consumed) };
      return { method: 'POST', path: '/usage-events/consume', body: { usageEvent } };
    },
    apply: () => {
      const known = rated([consumed]);
      if (known === null || !mayUse(consumed, [])) return 'refused';
      if (isRepeated(consumed)) return 'done';
      const pooled = pooledShare(books, { ...payable, units: BigInt(amount) });
      if (pooled === null || !hasAccess(books, subscription)) return 'refused';
      if (known.some((each) => !fits(books, spendOfUse(books, each, pooled)))) {
        reach(books, 'use refused by a limit', subscription.customer);
        return 'refused';
      }
      use(books, known, true);
      return 'done';
    },
  };
};
