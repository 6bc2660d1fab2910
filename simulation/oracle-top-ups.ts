import type { Pack } from './catalogue.ts';
import { meterSlug } from './catalogue-usage.ts';
import { calendarStart, dayMs, hourMs } from './oracle-arithmetic.ts';
import { type Books, type Customer, reach } from './oracle-records.ts';

/** Automatic top-ups of the usage meter and of credit pools: when a balance is looked at, and the outcome of their purchases. */

export interface TopUpTerms {
  /** Its credits are of the usage meter or of one pool. */
  readonly pack: Pack;
  /** In units of the meter, or in smallest units of the pool. */
  readonly below: bigint;
  readonly upTo: bigint | null;
  readonly quantity: number | null;
  /** In minor units. */
  readonly maximum: number;
}

export interface TopUp extends TopUpTerms {
  failures: number;
  isStopped: boolean;
}

/** All top-ups that a customer had. */
export interface Refills {
  present: TopUp | null;
  /** When the balance is looked at; null: when it falls below the line. */
  checkAt: number | null;
  /** The purchases that are paid or whose payment is in progress. */
  readonly bought: { readonly month: number; readonly amount: number }[];
  isOpen: boolean;
  /** The ends of credits until then have been looked at. */
  endsSeen: number;
}

export function newRefills(): Refills {
  return { present: null, checkAt: null, bought: [], isOpen: false, endsSeen: 0 };
}

/** Sets the top-up of a customer, or removes it. */
export function setTopUp({ now }: Books, { refills }: Customer, terms: TopUpTerms | null): void {
  refills.present = terms && { ...terms, failures: 0, isStopped: false };
  refills.checkAt = terms && now;
  refills.endsSeen = now;
}

/** The top-up that goes on. */
export function activeTopUp({ refills: { present } }: Customer): TopUp | null {
  return present === null || present.isStopped ? null : present;
}

/** The slug of the usage meter or of the pool whose credits a pack gives. */
export function subjectOf({ pool }: Pack): string {
  return pool === '' ? meterSlug : pool;
}

/** Notes that a balance of a usage meter or pool fell below the line, by use, a hold or an end of credits. */
export function noteFall(books: Books, customer: Customer, subject: string, before: bigint, after: bigint): void {
  const topUp = activeTopUp(customer);
  if (topUp === null || subjectOf(topUp.pack) !== subject || before < topUp.below || after >= topUp.below) return;
  const ofMeter = subject === meterSlug ? ' of a usage meter' : '';
  reach(books, `balance below the line of a top-up${ofMeter}`, customer);
  customer.refills.checkAt ??= books.now;
}

/** Has the balance of a usage meter looked at, which may be that of another subscription now. A wait after a failure goes on. */
export function noteHolder({ now }: Books, customer: Customer): void {
  const topUp = activeTopUp(customer);
  if (topUp !== null && subjectOf(topUp.pack) === meterSlug) customer.refills.checkAt ??= now;
}

export function monthOf(now: number): number {
  return calendarStart({ unit: 'month', count: 1 }, now);
}

/** The cost of the purchases of a month. */
export function spentIn({ refills: { bought } }: Customer, month: number): number {
  return bought.reduce((sum, each) => sum + (each.month === month ? each.amount : 0), 0);
}

/** The money of a purchase has come. The balance may have fallen again meanwhile. */
export function topUpPaid({ now }: Books, { refills }: Customer): void {
  refills.isOpen = false;
  if (refills.present === null) return;
  Object.assign(refills.present, { failures: 0, isStopped: false });
  refills.checkAt = now;
}

/** The payment of a purchase has failed. */
export function topUpFailed(books: Books, customer: Customer): void {
  customer.refills.isOpen = false;
  customer.refills.bought.pop();
  countFailure(books, customer);
}

const waits = [hourMs, dayMs] as const;

/** Counts a failure: an hour and a day later there is another attempt, and then none. */
export function countFailure(books: Books, customer: Customer): void {
  const { refills } = customer;
  const { present } = refills;
  if (present === null || present.isStopped) return;
  const wait = waits[present.failures];
  present.failures += 1;
  present.isStopped = wait === undefined;
  refills.checkAt = wait === undefined ? null : books.now + wait;
  reach(books, wait === undefined ? 'top-up stopped' : 'top-up not paid', customer);
}

/** In the form of reality's lines. */
export function topUpLines({ now }: Books, customer: Customer): object[] {
  const { present, isOpen } = customer.refills;
  if (present === null) return [];
  const { pack, below, failures, isStopped } = present;
  return [
    { topUp: pack.slug, below: String(below), failures, isStopped, spent: spentIn(customer, monthOf(now)), isOpen },
  ];
}
