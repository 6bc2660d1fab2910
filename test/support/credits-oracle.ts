/** Credits, limits and top-ups of one customer in memory: the rules said once more as plain sums, to compare the service with. */

/** The smallest parts of a credit of the pool that any rate below needs. */
export const partsPerCredit = 30;

/** The accounts of a customer: a pool in credits, one in money that draws at the price, and the meter with credits of its own. */
export type Account = 'ai' | 'cash' | 'tokens';

/** The parts in which an account is counted: those of cash are cents. */
export const partsOfUnit = { ai: partsPerCredit, cash: 100, tokens: 1 } as const;

/** The pool that pays for each meter, and what units of it cost there. A thousand tokens cost 5.00 on an invoice. */
export const meters = {
  tokens: { pool: 'ai', parts: (units: number) => 10 * units, cents: (units: number) => Math.round(units / 2) },
  images: { pool: 'ai', parts: (units: number) => 21 * units, cents: (units: number) => 3 * units },
  minutes: { pool: 'cash', parts: centsOfMinutes, cents: centsOfMinutes },
} as const;
export type Meter = keyof typeof meters;

/** Ten minutes of a period cost 3 cents each, and more of them 2. */
function centsOfMinutes(units: number): number {
  return 2 * units + Math.min(units, 10);
}

export const plans = {
  free: { ai: 10 * partsPerCredit, tokens: 20, mostRolled: 0, mostTokens: null },
  start: { ai: 60 * partsPerCredit, tokens: 40, mostRolled: 20 * partsPerCredit, mostTokens: 90 },
} as const;
type Plan = keyof typeof plans;

/** Packs cost money and bring credits: some end a week after the purchase, and roll over into the next one. */
export const packs = {
  pack: { account: 'ai', amount: 50 * partsPerCredit, cents: 1000, endsAfter: null, mostRolled: 0 },
  weekly: { account: 'ai', amount: 20 * partsPerCredit, cents: 300, endsAfter: 7, mostRolled: 8 * partsPerCredit },
  prepaid: { account: 'cash', amount: 200, cents: 150, endsAfter: null, mostRolled: 0 },
  calls: { account: 'tokens', amount: 40, cents: 500, endsAfter: null, mostRolled: 0 },
} as const;
export type Pack = keyof typeof packs;

/** Below these a balance is low. */
export const lowBelow = { ai: 6 * partsPerCredit, cash: 25, tokens: 12 } as const;

interface Credit {
  readonly account: Account;
  readonly kind: 'plan' | 'gift' | 'bought';
  readonly priority: number;
  readonly expiresAt: number | null;
  readonly issued: number;
  /** The plan that gave it and whose end is its own, or the pack that was bought. */
  readonly of: number | Pack | null;
  readonly isRolled: boolean;
  readonly purchase: Purchase | null;
  left: number;
  used: number;
}

export interface Purchase {
  readonly pack: Pack;
  readonly quantity: number;
  status: 'paid' | 'refunded' | 'failed';
}

export interface Limit {
  readonly subject: Meter | 'ai' | 'cash' | null;
  readonly label: string | null;
  readonly period: 'day' | 'month' | 'billing_period';
  readonly unit: 'units' | 'money';
  readonly amount: number;
  readonly action: 'block' | 'notify';
}

interface KnownLimit extends Limit {
  /** The uses before it. */
  readonly since: number;
  /** The subscription that a limit of a plan counts. */
  readonly subscription: number | null;
}

export interface Use {
  readonly meter: Meter;
  readonly units: number;
  readonly label: string | null;
}

interface CountedUse extends Use {
  readonly at: number;
  readonly subscription: number;
  readonly periodEnd: number;
  /** What the pool pays for it. */
  readonly parts: number;
}

interface Hold extends Use {
  readonly until: number;
  readonly subscription: number;
  readonly pooled: number;
  /** The parts of the pool that it sets aside. */
  readonly parts: number;
}

export interface TopUp {
  readonly pack: Exclude<Pack, 'weekly'>;
  readonly below: number;
  readonly upTo: number | null;
  readonly quantity: number | null;
  readonly mostCents: number;
}

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export const keyOfLimit = ({ subject, label, period, unit }: Limit) => `${subject} ${label} ${period} ${unit}`;

function monthsAfter(anchor: number, months: number): number {
  const date = new Date(anchor);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months);
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);

export class CreditsOracle {
  now: number;
  plan: Plan = 'free';
  /** Subscriptions are numbered as they begin. */
  subscription = 0;
  periodEnd = 0;
  private anchor = 0;
  private months = 1;
  credits: Credit[] = [];
  readonly owed = { tokens: 0, images: 0, minutes: 0 };
  /** The minutes that cash has paid for in each period. */
  private readonly drawn = new Map<string, number>();
  readonly holds = new Map<string, Hold>();
  readonly uses: CountedUse[] = [];
  limits: KnownLimit[] = [];
  readonly purchases: Purchase[] = [];
  hasGoodCard = true;
  topUp: TopUp | null = null;
  failures = 0;
  isStopped = false;
  /** When the balance is looked at. Null: when it crosses the line. */
  private checkAt: number | null = null;
  private readonly spentIn = new Map<string, number>();
  /** How often a balance fell below its threshold. */
  timesLow = 0;

  constructor(now: number) {
    this.now = now;
    this.begin('free');
  }

  private begin(plan: Plan): void {
    this.plan = plan;
    this.subscription += 1;
    this.anchor = this.now;
    this.months = 1;
    this.periodEnd = monthsAfter(this.anchor, 1);
    const before = this.credits;
    for (const account of ['ai', 'tokens'] as const) {
      // A free period that would still run has given what was used of it.
      const given = before.filter(
        ({ kind, of, account: on, expiresAt }) =>
          plan === 'free' && kind === 'plan' && on === account && this.freeOnes.has(of) && (expiresAt ?? 0) > this.now,
      );
      this.give(
        account,
        { kind: 'plan', of: this.subscription, expiresAt: this.periodEnd },
        plans[plan][account] - sum(given.map(({ used }) => used)),
      );
    }
    if (plan === 'free') this.freeOnes.add(this.subscription);
    const most = plans[plan].mostTokens;
    if (most !== null) {
      const terms = { subject: 'tokens', label: null, period: 'month', unit: 'units', action: 'block' } as const;
      this.limits.push({ ...terms, amount: most, since: this.uses.length, subscription: this.subscription });
    }
  }
  private readonly freeOnes = new Set<unknown>();

  give(account: Account, terms: Pick<Credit, 'kind'> & Partial<Credit>, amount: number): void {
    if (amount <= 0) return;
    const usual = { priority: 100, expiresAt: null, of: null, isRolled: false, purchase: null };
    this.credits.push({ ...usual, ...terms, account, issued: amount, left: amount, used: 0 });
  }

  live(account: Account): Credit[] {
    const rank = ({ expiresAt }: Credit) => expiresAt ?? Number.MAX_SAFE_INTEGER;
    return this.credits
      .filter((each) => each.account === account && each.left > 0)
      .sort(
        (one, other) =>
          one.priority - other.priority ||
          rank(one) - rank(other) ||
          Number(one.kind === 'bought') - Number(other.kind === 'bought'),
      );
  }

  private openHolds(): Hold[] {
    return [...this.holds.values()].filter(({ until }) => until > this.now);
  }

  held(account: Account): number {
    return sum(
      this.openHolds().map((hold) => {
        if (account !== 'tokens') return account === meters[hold.meter].pool ? hold.parts : 0;
        return hold.meter === 'tokens' && hold.subscription === this.subscription ? hold.units - hold.pooled : 0;
      }),
    );
  }

  balance(account: Account): number {
    const left = sum(this.live(account).map((each) => each.left)) - this.held(account);
    return account === 'tokens' ? left - this.owed.tokens : left;
  }

  /** As `credit-balances` shows an account. */
  shown(account: Account) {
    const of = (isBought: boolean) =>
      sum(this.live(account).map(({ kind, left }) => ((kind === 'bought') === isBought ? left : 0)));
    return { available: this.balance(account), granted: of(false), paid: of(true), held: this.held(account) };
  }

  /** The units that credits of the meter leave to the pool, and how many of them the pool pays for. */
  private shares({ meter, units }: Use) {
    const own = meter === 'tokens' ? Math.max(0, this.balance('tokens') + this.owed.tokens) : 0;
    const rest = Math.max(0, units - own);
    const balance = this.balance(meters[meter].pool);
    let payable = 0;
    while (this.costOf(meter, payable + 1) <= balance) payable += 1;
    return { rest, pooled: Math.min(rest, payable), payable };
  }

  /** The parts of its pool that units of a meter cost. At a price they cost more with those of the period than without. */
  private costOf(meter: Meter, units: number): number {
    const { pool, parts } = meters[meter];
    const before = pool === 'cash' ? (this.drawn.get(this.periodText()) ?? 0) : 0;
    return parts(before + units) - parts(before);
  }

  private periodText(): string {
    return `${this.subscription} ${this.periodEnd}`;
  }

  /** The units of a use that has to be covered for which the pool pays. Null: it is not covered. */
  private coveredBy(use: Use): number | null {
    const balance = use.meter === 'tokens' ? this.balance('tokens') : -this.owed[use.meter];
    if (use.units <= balance) return 0;
    const { rest, pooled, payable } = this.shares(use);
    return payable > 0 && pooled === rest ? pooled : null;
  }

  /** Whether a use or a hold is allowed. */
  canUse(use: Use): boolean {
    const pooled = this.coveredBy(use);
    return pooled !== null && this.fits(use, pooled);
  }

  private draw(account: Account, amount: number): number {
    let rest = amount;
    for (const credit of this.live(account)) {
      const taken = Math.min(rest, credit.left);
      credit.left -= taken;
      credit.used += taken;
      rest -= taken;
    }
    return rest;
  }

  /** Books a use, and says whether it is beyond a blocking limit. */
  use(use: Use): boolean {
    return this.falling(() => this.book(use));
  }

  private book(use: Use): boolean {
    const { pooled } = this.shares(use);
    const { pool } = meters[use.meter];
    const parts = this.costOf(use.meter, pooled);
    const counted = this.counted(use, parts);
    const isBeyond = this.acting().some((limit) => {
      const after = this.usedOf(limit, [counted]);
      return limit.action === 'block' && after > limit.amount && after > this.usedOf(limit);
    });
    this.crossing(() => {
      this.draw(pool, parts);
      if (pool === 'cash') this.drawn.set(this.periodText(), (this.drawn.get(this.periodText()) ?? 0) + pooled);
      const rest = use.units - pooled;
      this.owed[use.meter] += use.meter === 'tokens' ? this.draw('tokens', rest) : rest;
    });
    this.uses.push(counted);
    return isBeyond;
  }

  /** Counts the balances that an act lets fall below their thresholds. */
  private falling<Answer>(act: () => Answer): Answer {
    const accounts = ['ai', 'cash', 'tokens'] as const;
    const high = accounts.filter((account) => this.balance(account) >= lowBelow[account]);
    const answer = act();
    this.timesLow += high.filter((account) => this.balance(account) < lowBelow[account]).length;
    return answer;
  }

  private counted(use: Use, parts: number): CountedUse {
    return { ...use, at: this.now, subscription: this.subscription, periodEnd: this.periodEnd, parts };
  }

  hold(id: string, use: Use, until: number): void {
    const pooled = this.coveredBy(use) ?? 0;
    const parts = this.costOf(use.meter, pooled);
    const held = { ...use, until, subscription: this.subscription, pooled, parts };
    this.crossing(() => this.falling(() => this.holds.set(id, held)));
  }

  /** Settles a hold, and says whether that is beyond a blocking limit; null: it cannot be settled. */
  settle(id: string, units: number): boolean | null {
    const hold = this.holds.get(id);
    if (hold === undefined || hold.subscription !== this.subscription) return null;
    return this.falling(() => {
      this.holds.delete(id);
      return this.book({ ...hold, units });
    });
  }

  /** Sets the limits of the seller in place of those before. */
  setLimits(wanted: readonly Limit[]): void {
    const before = new Map(
      this.limits.filter((each) => each.subscription === null).map((each) => [keyOfLimit(each), each.since]),
    );
    this.limits = [
      ...this.limits.filter((each) => each.subscription !== null),
      ...wanted.map((each) => ({
        ...each,
        since: before.get(keyOfLimit(each)) ?? this.uses.length,
        subscription: null,
      })),
    ];
  }

  /** The limits that hold. One of a plan ends with it, and gives way to one of the seller of the same use. */
  acting(): KnownLimit[] {
    const keys = new Set(this.limits.filter(({ subscription }) => subscription === null).map(keyOfLimit));
    return this.limits.filter(
      (each) => each.subscription === null || (each.subscription === this.subscription && !keys.has(keyOfLimit(each))),
    );
  }

  /** The amount that a limit counts in its present period, and with more uses. */
  usedOf(limit: KnownLimit, more: readonly CountedUse[] = []): number {
    const present = this.periodKey(limit, this.counted({ meter: 'tokens', units: 0, label: null }, 0));
    const counted = [...this.uses.slice(limit.since), ...more].filter(
      (use) =>
        [null, use.meter, meters[use.meter].pool].includes(limit.subject) &&
        (limit.label === null || limit.label === use.label) &&
        (limit.subscription === null || limit.subscription === use.subscription) &&
        this.periodKey(limit, use) === present,
    );
    if (limit.subject === 'ai' || limit.subject === 'cash') return sum(counted.map(({ parts }) => parts));
    const of = (meter: Meter) => sum(counted.map((use) => (use.meter === meter ? use.units : 0)));
    const all = ['tokens', 'images', 'minutes'] as const;
    return sum(all.map((meter) => (limit.unit === 'units' ? of(meter) : meters[meter].cents(of(meter)))));
  }

  private periodKey({ period }: Limit, { at, subscription, periodEnd }: CountedUse): string {
    if (period === 'billing_period') return `${subscription} ${periodEnd}`;
    return new Date(at).toISOString().slice(0, period === 'day' ? 10 : 7);
  }

  private fits(use: Use, pooled: number): boolean {
    // An open hold counts in any period.
    const held = this.openHolds().map((hold) => ({
      ...this.counted(hold, hold.parts),
      subscription: hold.subscription,
    }));
    return this.acting().every((limit) => {
      const before = this.usedOf(limit, held);
      const after = this.usedOf(limit, [...held, this.counted(use, this.costOf(use.meter, pooled))]);
      return limit.action === 'notify' || after <= limit.amount || after === before;
    });
  }

  /** Notes that an act lets the balance of the top-up fall below its line. */
  private crossing(act: () => void): void {
    const { topUp, isStopped } = this;
    if (topUp === null || isStopped) {
      act();
      return;
    }
    const { account } = packs[topUp.pack];
    const before = this.balance(account);
    act();
    if (before >= topUp.below && this.balance(account) < topUp.below) this.checkAt ??= this.now;
  }

  setTopUp(topUp: TopUp | null): void {
    this.topUp = topUp;
    this.failures = 0;
    this.isStopped = false;
    this.checkAt = topUp === null ? null : this.now;
  }

  get monthSpent(): number {
    return this.spentIn.get(this.month) ?? 0;
  }

  private get month(): string {
    return new Date(this.now).toISOString().slice(0, 7);
  }

  /** Buys for the balance that is due to be looked at. */
  lookAtBalance(): void {
    while (this.checkAt !== null && this.checkAt <= this.now) {
      this.checkAt = null;
      const { topUp } = this;
      if (topUp === null || this.isStopped) return;
      const { account, amount, cents } = packs[topUp.pack];
      const balance = this.balance(account);
      if (balance >= topUp.below) return;
      const wanted = topUp.quantity ?? Math.ceil(((topUp.upTo ?? 0) - balance) / amount);
      const quantity = Math.min(wanted, Math.floor((topUp.mostCents - this.monthSpent) / cents));
      if (quantity <= 0) {
        const date = new Date(this.now);
        this.checkAt = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
        return;
      }
      this.spentIn.set(this.month, this.monthSpent + (this.hasGoodCard ? quantity * cents : 0));
      if (this.buy(topUp.pack, quantity)) {
        this.failures = 0;
        this.checkAt = this.now;
        continue;
      }
      this.failures += 1;
      this.isStopped = this.failures === 3;
      if (!this.isStopped) this.checkAt = this.now + (this.failures === 1 ? hourMs : dayMs);
    }
  }

  /** Buys with the present card: says whether it was paid. */
  buy(name: Pack, quantity: number): boolean {
    const pack = packs[name];
    // Another attempt at a purchase that failed is the same purchase.
    const failed = this.purchases.findIndex((each) => each.pack === name && each.status === 'failed');
    if (failed !== -1) this.purchases.splice(failed, 1);
    const purchase: Purchase = { pack: name, quantity, status: this.hasGoodCard ? 'paid' : 'failed' };
    this.purchases.push(purchase);
    if (!this.hasGoodCard) return false;
    const expiresAt = pack.endsAfter === null ? null : this.now + pack.endsAfter * dayMs;
    if (pack.mostRolled > 0) this.rollPacksOver(name, expiresAt);
    this.give(pack.account, { kind: 'bought', of: name, expiresAt, purchase }, pack.amount * quantity);
    return true;
  }

  private rollPacksOver(name: Pack, expiresAt: number | null): void {
    const earlier = this.live(packs[name].account).filter(({ of }) => of === name);
    let room = packs[name].mostRolled - sum(earlier.map(({ isRolled, left }) => (isRolled ? left : 0)));
    for (const credit of earlier.filter((each) => !each.isRolled && (each.expiresAt ?? 0) < (expiresAt ?? 0))) {
      const moved = Math.max(0, Math.min(room, credit.left));
      credit.left -= moved;
      room -= moved;
      const { kind, of, priority, purchase } = credit;
      this.give(credit.account, { kind, of, priority, purchase, expiresAt, isRolled: true }, moved);
    }
  }

  /** Refunds a purchase in full: what is neither used nor held of its credits goes back. */
  refund(purchase: Purchase): void {
    purchase.status = 'refunded';
    this.falling(() => {
      for (const credit of this.credits.filter((each) => each.purchase === purchase))
        credit.left -= Math.min(credit.left, this.beside(credit.account));
    });
  }

  /** Takes back what is left of a credit of the pool, which looks like this. False: an open hold sets part of it aside. */
  takeBack(pool: 'ai' | 'cash', amount: number, expiresAt: number | null): boolean {
    const credit = this.live(pool).find((each) => each.left === amount && each.expiresAt === expiresAt);
    if (credit === undefined) throw new Error(`there is no credit of which ${amount} are left`);
    if (amount > this.beside(pool)) return false;
    this.falling(() => {
      credit.left = 0;
    });
    return true;
  }

  /** The amount that may be taken back beside open holds. */
  private beside(account: Account): number {
    return this.held(account) === 0 ? Number.MAX_SAFE_INTEGER : Math.max(0, this.balance(account));
  }

  private hasEnded({ expiresAt }: Credit): boolean {
    return expiresAt !== null && expiresAt <= this.now;
  }

  /** The customer buys the plan with a good card, or leaves it for the free one. */
  changePlan(): void {
    const before = this.subscription;
    this.crossing(() => {
      for (const credit of this.credits) if (credit.kind === 'plan' && credit.of === before) credit.left = 0;
      // Usage without credits is billed with the end.
      Object.assign(this.owed, { tokens: 0, images: 0, minutes: 0 });
    });
    this.begin(this.plan === 'free' ? 'start' : 'free');
    // The balance of the meter is that of the next subscription, which may begin below the line.
    if (this.topUp !== null && !this.isStopped && packs[this.topUp.pack].account === 'tokens')
      this.checkAt ??= this.now;
  }

  private renew(): void {
    const { ai, tokens, mostRolled } = plans[this.plan];
    // Credits of the pool that belong to the customer end by themselves.
    const ended = this.credits.filter(
      (each) => this.hasEnded(each) && (each.kind === 'plan' || each.account === 'tokens'),
    );
    this.months += 1;
    this.periodEnd = monthsAfter(this.anchor, this.months);
    Object.assign(this.owed, { tokens: 0, images: 0, minutes: 0 });
    const rests = ended
      .filter(({ kind, account, isRolled }) => kind === 'plan' && account === 'ai' && !isRolled)
      .map(({ left }) => left);
    for (const credit of ended) credit.left = 0;
    const terms = { kind: 'plan', of: this.subscription, expiresAt: this.periodEnd } as const;
    this.give('ai', { ...terms, isRolled: true }, Math.min(mostRolled, sum(rests)));
    this.give('ai', terms, ai);
    this.give('tokens', terms, tokens);
  }

  /** The next instant at which something is due until `to`. */
  nextStop(to: number): number {
    const ends = this.credits.flatMap(({ expiresAt, left }) => (expiresAt === null || left === 0 ? [] : [expiresAt]));
    return Math.min(to, this.periodEnd, this.checkAt ?? to, ...ends);
  }

  /** Moves on to an instant, at which the period ends first, and then other credits. */
  moveTo(instant: number): void {
    this.now = instant;
    const fall = (act: () => void) => this.crossing(() => this.falling(act));
    if (this.now === this.periodEnd) fall(() => this.renew());
    fall(() => {
      for (const credit of this.credits) if (this.hasEnded(credit)) credit.left = 0;
    });
  }
}
