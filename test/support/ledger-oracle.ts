import { applyCredits } from '../../src/rating/credits.ts';

/** A ledger in memory: the rules said once more, in the plainest way, to compare the real one with. */
export interface OracleCredit {
  readonly sourceId: string;
  readonly account: string;
  readonly issued: bigint;
  readonly priority: number;
  readonly expiresAt: number | null;
  applied: bigint;
  expired: bigint;
}

export interface OracleSides {
  granted: bigint;
  used: bigint;
  covered: bigint;
  expired: bigint;
  settled: bigint;
}

/** [account, debit side, credit side, amount, price or credit that it is about, what is available with it] */
export type OracleEntry = readonly [string, string, string, bigint, string, bigint];

export interface OracleEvent {
  readonly account: string;
  readonly price: string;
  readonly transactionId: string;
  readonly amount: bigint;
}

export class Oracle {
  readonly credits: OracleCredit[] = [];
  readonly sides = new Map<string, OracleSides>();
  readonly entries: OracleEntry[] = [];
  /** Uncovered and invoiced units by account and price. */
  readonly overages = new Map<string, { uncovered: bigint; invoiced: bigint }>();
  readonly events = new Map<string, OracleEvent>();
  readonly settledInvoices = new Set<string>();
  now = 0;

  account(account: string): OracleSides {
    const found = this.sides.get(account) ?? { granted: 0n, used: 0n, covered: 0n, expired: 0n, settled: 0n };
    this.sides.set(account, found);
    return found;
  }

  grant({ account, sourceId, issued, priority, expiresAt }: Omit<OracleCredit, 'applied' | 'expired'>): void {
    if (this.credits.some((credit) => credit.sourceId === sourceId)) return;
    this.credits.push({ sourceId, account, issued, priority, expiresAt, applied: 0n, expired: 0n });
    this.account(account).granted += issued;
    this.book(account, 'granted', 'available', issued, sourceId);
  }

  /** Writes down an entry whose amount the sides have already. */
  private book(account: string, debitSide: string, creditSide: string, amount: bigint, about: string): void {
    this.entries.push([account, debitSide, creditSide, amount, about, this.available(account)]);
  }

  private available(account: string): bigint {
    const { granted, used, expired, settled } = this.account(account);
    return granted + settled - used - expired;
  }

  /** Answers the events as they are stored, one for each that is given. */
  use(events: readonly OracleEvent[]): OracleEvent[] {
    const units = new Map<string, { account: string; price: string; units: bigint }>();
    const answers = events.map((event) => {
      const key = `${event.account} ${event.transactionId}`;
      const stored = this.events.get(key);
      if (stored !== undefined) return stored;
      this.events.set(key, event);
      const { account, price } = event;
      const posting = units.get(`${account} ${price}`) ?? { account, price, units: 0n };
      units.set(`${account} ${price}`, { ...posting, units: posting.units + event.amount });
      return event;
    });
    for (const posting of units.values()) this.post(posting.account, posting.price, posting.units);
    return answers;
  }

  /** Answers the event as it is stored, or null where the balance does not cover it, and the balance that is left. */
  consume(event: OracleEvent): { event: OracleEvent | null; balance: bigint } {
    const isRepeat = this.events.has(`${event.account} ${event.transactionId}`);
    const balance = this.balance(event.account);
    if (!isRepeat && event.amount > balance) return { event: null, balance };
    const [stored = null] = this.use([event]);
    return { event: stored, balance: this.balance(event.account) };
  }

  private post(account: string, price: string, units: bigint): void {
    const open = this.credits.filter((credit) => credit.account === account && !this.hasEnded(credit, this.now));
    const usable = open.map((credit) => ({
      id: credit.sourceId,
      remaining: credit.issued - credit.applied - credit.expired,
      priority: credit.priority,
      expiresAt: credit.expiresAt,
      isPaid: false,
    }));
    const { applications, uncovered } = applyCredits(usable, units);
    for (const { id, amount } of applications) {
      const credit = open.find(({ sourceId }) => sourceId === id);
      if (credit) credit.applied += amount;
    }
    const sides = this.account(account);
    sides.used += units;
    sides.covered += units - uncovered;
    this.book(account, 'available', 'used', units, price);
    const overage = this.overages.get(`${account} ${price}`) ?? { uncovered: 0n, invoiced: 0n };
    this.overages.set(`${account} ${price}`, { ...overage, uncovered: overage.uncovered + uncovered });
  }

  expire(accounts: readonly string[]): void {
    for (const credit of this.credits) {
      const rest = credit.issued - credit.applied - credit.expired;
      if (!accounts.includes(credit.account) || !this.hasEnded(credit, this.now) || rest === 0n) continue;
      credit.expired += rest;
      this.account(credit.account).expired += rest;
      this.book(credit.account, 'available', 'expired', rest, credit.sourceId);
    }
  }

  claim(accounts: readonly string[]): { account: string; price: string; units: bigint }[] {
    const claimed: { account: string; price: string; units: bigint }[] = [];
    for (const [key, overage] of this.overages) {
      const [account = '', price = ''] = key.split(' ');
      const units = overage.uncovered - overage.invoiced;
      if (!accounts.includes(account) || units === 0n) continue;
      claimed.push({ account, price, units });
      overage.invoiced = overage.uncovered;
    }
    return claimed;
  }

  settle(invoiceId: string, lines: readonly { account: string; units: bigint }[]): void {
    if (this.settledInvoices.has(invoiceId) || lines.length === 0) return;
    this.settledInvoices.add(invoiceId);
    for (const account of new Set(lines.map((line) => line.account))) {
      const units = lines.filter((line) => line.account === account).reduce((sum, line) => sum + line.units, 0n);
      this.account(account).settled += units;
      this.book(account, 'settled', 'available', units, '');
    }
  }

  /** What the balance endpoint shows. */
  balance(account: string): bigint {
    const ended = this.credits.filter((credit) => credit.account === account && this.hasEnded(credit, this.now));
    const lapsed = ended.reduce((sum, credit) => sum + credit.issued - credit.applied - credit.expired, 0n);
    return this.available(account) - lapsed;
  }

  private hasEnded(credit: OracleCredit, at: number): boolean {
    return credit.expiresAt !== null && credit.expiresAt <= at;
  }
}
