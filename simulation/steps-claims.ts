import { limitSlug, seatSlug } from './catalogue.ts';
import { claim, claimLine, namelessOf, newNameless, release } from './oracle-claims.ts';
import { hasAccess, isCurrent, isTerminal, type Subscription, seatsOf } from './oracle-records.ts';
import { allSubscriptions, currentSubscriptions, type Draw, type Drawing, nameOf, type Records } from './step.ts';

/** Claims seats, by name or number: refused beyond the capacity, all or none. */
export const claimSeats: Draw = ({ random, books, newName }) => {
  // Sometimes on a subscription without capacity, now or for good.
  const all = allSubscriptions(books).filter(({ status }) => !status.startsWith('incomplete'));
  const subscription = random.pick(random.chance(0.9) ? currentSubscriptions(books) : all);
  if (subscription === undefined) return null;
  const { claims } = subscription;
  const quantity = random.chance(0.25) ? random.between(1, 3) : null;
  const known = random.chance(0.2) ? random.pick(namedOf(subscription)) : undefined;
  const names = Array.from({ length: quantity ?? random.between(1, 4) }, () =>
    quantity === null ? newName('seat') : newNameless(),
  );
  if (quantity === null && known !== undefined) names.splice(random.below(names.length), 0, known);
  const fresh = names.filter((name) => !claims.has(name));
  const free = seatsOf(subscription) - claims.size;
  // A repeated name counts once.
  const sent = random.chance(0.1) ? [...names, ...names] : names;
  const requested = quantity === null ? { externalIds: sent } : { quantity };
  return {
    text: `claims ${fresh.length} of ${free} seats ${quantity === null ? 'by name' : 'without a name'} of ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/resource-claims/${await records.subscription(subscription)}/claim`,
      body: { resourceSlug: seatSlug, ...requested },
    }),
    apply: () => {
      if (!isCurrent(subscription) || !hasAccess(books, subscription) || fresh.length > free) return 'refused';
      claim(subscription, fresh);
      return 'done';
    },
  };
};

function namedOf(subscription: Subscription): string[] {
  const nameless = new Set(namelessOf(subscription));
  return [...subscription.claims].filter((name) => !nameless.has(name));
}

/** Releases seats: by name, by id, or the oldest unnamed ones. All or none. */
export const releaseSeats: Draw = (drawing) => {
  const { random, books } = drawing;
  const claimed = allSubscriptions(books).filter((each) => !isTerminal(each) && each.claims.size > 0);
  const subscription = random.pick(claimed);
  if (subscription === undefined) return null;
  const { body, names } = drawRelease(drawing, subscription);
  return {
    text: `releases ${names?.length ?? 'too many'} seats of ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/resource-claims/${await records.subscription(subscription)}/release`,
      body: { resourceSlug: seatSlug, ...body(records) },
    }),
    apply: () => {
      if (names === null) return 'refused';
      release(subscription, names);
      return 'done';
    },
  };
};

interface Release {
  /** Built when it is sent. */
  readonly body: (records: Records) => object;
  /** The released names; null: it is refused. */
  readonly names: string[] | null;
}

function drawRelease({ random, newName }: Drawing, subscription: Subscription): Release {
  const [named, nameless] = [namedOf(subscription), namelessOf(subscription)];
  if (named.length === 0 || (nameless.length > 0 && random.chance(0.4))) {
    const quantity = random.between(1, random.chance(0.8) ? Math.max(1, nameless.length) : nameless.length + 2);
    const names = quantity > nameless.length ? null : nameless.slice(0, quantity);
    return { body: () => ({ quantity }), names };
  }
  const some = named.filter(() => random.chance(0.4));
  const [first = ''] = named;
  const names = some.length === 0 ? [first] : some;
  if (random.chance(0.1)) {
    const externalIds = [...names, newName('seat')];
    return { body: () => ({ externalIds }), names: null };
  }
  if (random.chance(0.7)) return { body: () => ({ externalIds: names }), names };
  const { name } = subscription.customer;
  const lines = names.map((each) => claimLine(subscription, each));
  return { body: (records) => ({ claimIds: lines.map((line) => records.told(name, line)) }), names };
}

/** Gives a subscription a limit of its own, which a later one replaces. */
export const setLimit: Draw = ({ random, books }) => {
  const subscription = random.pick(allSubscriptions(books).filter(({ status }) => !status.startsWith('incomplete')));
  if (subscription === undefined) return null;
  const limit = random.between(0, 30);
  return {
    text: `sets the limit of ${nameOf(subscription)} to ${limit}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/add-feature`,
      body: { featureSlug: limitSlug, value: limit },
    }),
    apply: () => {
      if (isTerminal(subscription)) return 'refused';
      subscription.ownLimit = limit;
      return 'done';
    },
  };
};
