import { type Books, type Holding, type Subscription, type Terms, worthOf } from './oracle-records.ts';

export type Beginning = Pick<Subscription, 'customer' | 'plan'> & Partial<Subscription>;

/** A subscription with default values. */
export function subscriptionWith(books: Books, beginning: Beginning): Subscription {
  const { plan, quantity = 1, addOns = 0 } = beginning;
  return {
    status: 'active',
    arrears: 'none',
    awaiting: [],
    isFree: plan.unitPrice === 0,
    createdAt: books.now,
    startsAt: null,
    anchor: books.now,
    isByCalendar: false,
    day: null,
    trialEnd: null,
    period: null,
    quantity,
    addOns,
    offered: null,
    holdings: [holdingOf({ plan, quantity, addOns }, books.now)],
    method: null,
    discounts: [],
    everPaid: false,
    isInvoiced: false,
    canceledAt: null,
    cancelAt: null,
    reason: null,
    replaced: null,
    credits: [],
    hadOnce: new Set(),
    inPools: new Map(),
    pool: null,
    events: new Map(),
    used: 0,
    covered: 0,
    settled: 0,
    pooled: 0,
    beyond: 0,
    threshold: null,
    asksAt: null,
    ownTerms: new Map(),
    metered: new Map(),
    meters: new Map(),
    draws: new Map(),
    measured: new Map(),
    interimDone: Number.NEGATIVE_INFINITY,
    claims: new Set(),
    temporaryClaims: new Set(),
    users: { credits: [], events: new Set(), counted: new Set(), used: 0 },
    scheduled: null,
    ownLimit: null,
    resumesAt: null,
    kept: 0,
    setupFee: plan.setupFee ?? 0,
    pausedParts: [],
    ...beginning,
  };
}

/** The holding of these terms from an instant on, by what they cost and give in an interval. */
export function holdingOf({ plan, quantity, addOns = 0 }: Terms, start: number): Holding {
  const worth = worthOf({ plan, quantity, addOns });
  const [value, atEnd] = plan.billsAtEnd ? [0, worth] : [worth, 0];
  return { plan, value, atEnd, recurring: plan.recurring * quantity, once: plan.once * quantity, start, end: null };
}
