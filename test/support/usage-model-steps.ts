import fc from 'fast-check';

/** How an event names what is used; by its meter only where that is at the meter's default price. */
export const references = ['usageMeterSlug', 'usageMeterId', 'priceSlug', 'priceId'] as const;

// Much happens to the first, so that it also happens one after the other.
const subscription = fc.constantFrom(0, 0, 0, 1, 2);
const meter = fc.integer({ min: 0, max: 1 });
const amount = fc.integer({ min: 1, max: 25 });
/** Nothing, in so many of ten cases. */
const mostly = <Value>(nothing: number, arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: nothing, arbitrary: fc.constant(null) }, { weight: 10 - nothing, arbitrary });
/** In milliseconds: coarse, so that much ends at the same instant. */
const halfDays = (max: number) => fc.integer({ min: 1, max }).map((count) => count * 43_200_000);
/** Which of all there are so far: the rest of a division by their number. */
const which = fc.nat(1000);
/** Of all, not only of those of which something is left to do. */
const seldom = fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });

/** All of the balance, or one more; else the amount as it is. */
const fits = mostly(6, fc.constantFrom(0, 1));

const event = fc.record({
  subscription,
  meter,
  second: fc.boolean(),
  by: fc.integer({ min: 0, max: 3 }),
  amount,
  /** The transactionId of an earlier event, with how much of the rest of it. */
  again: mostly(
    8,
    fc.record({ which, same: fc.constantFrom('subscription and price', 'subscription and price', 'price', 'nothing') }),
  ),
  user: fc.nat(4),
  turned: fc.boolean(),
  minutesAgo: mostly(5, fc.integer({ min: 0, max: 3000 })),
});
export type EventStep = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

const kinds = {
  record: fc.record({ does: fc.constant('record' as const), event }),
  bulk: fc.record({ does: fc.constant('bulk' as const), events: fc.array(event, { minLength: 1, maxLength: 6 }) }),
  consume: fc.record({ does: fc.constant('consume' as const), event, fits }),
  grant: fc.record({
    does: fc.constant('grant' as const),
    subscription,
    meter,
    amount,
    priority: mostly(5, fc.constantFrom(0, 99, 100, 101)),
    /** 0 is refused, because it has ended. */
    lastsMs: mostly(3, fc.oneof({ weight: 9, arbitrary: halfDays(10) }, { weight: 1, arbitrary: fc.constant(0) })),
    transaction: mostly(5, fc.nat(1)),
  }),
  takeBack: fc.record({ does: fc.constant('takeBack' as const), which, any: seldom, amount: mostly(4, amount) }),
  hold: fc.record({
    does: fc.constant('hold' as const),
    subscription,
    // Holds on meters that count distinct properties are refused.
    meter: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
    second: fc.boolean(),
    amount,
    fits,
    /** 0 is refused. */
    lastsMs: fc.oneof({ weight: 9, arbitrary: halfDays(3) }, { weight: 1, arbitrary: fc.constant(0) }),
  }),
  settle: fc.record({
    does: fc.constant('settle' as const),
    which,
    any: seldom,
    used: fc.constantFrom('nothing', 'less', 'all', 'more'),
  }),
  release: fc.record({ does: fc.constant('release' as const), which, any: seldom }),
  /** Time goes on, and all that comes due is done when it does. */
  pass: fc.record({
    does: fc.constant('pass' as const),
    ms: fc.oneof({ weight: 1, arbitrary: fc.constantFrom(1, 3_600_000) }, { weight: 4, arbitrary: halfDays(4) }),
  }),
  /** Time goes on, and nobody does anything. */
  outage: fc.record({ does: fc.constant('outage' as const), ms: halfDays(6) }),
};

/** One thing that happens, and at which of the instants so far to look back afterwards. */
export const step = fc.record({
  back: which,
  act: fc.oneof(
    { weight: 5, arbitrary: kinds.record },
    { weight: 4, arbitrary: kinds.bulk },
    { weight: 4, arbitrary: kinds.consume },
    { weight: 4, arbitrary: kinds.grant },
    { weight: 3, arbitrary: kinds.takeBack },
    { weight: 6, arbitrary: kinds.hold },
    { weight: 4, arbitrary: kinds.settle },
    { weight: 2, arbitrary: kinds.release },
    { weight: 4, arbitrary: kinds.pass },
    { weight: 2, arbitrary: kinds.outage },
  ),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
export type Act = Step['act'];
