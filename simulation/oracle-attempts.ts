import { attemptLimits } from './catalogue.ts';
import { dayMs, hourMs } from './oracle-arithmetic.ts';
import { type AttemptCount, type Books, type Customer, reach } from './oracle-records.ts';

/** Attempts to pay, to add a card, and to enter a code: counted for a link, a customer and everybody, in a day. */

export type AttemptKind = 'payment' | 'discount_code';
type Scope = keyof typeof attemptLimits;

export interface Attempt {
  readonly kind: AttemptKind;
  /** Null: a program of the seller makes it, and makes nobody wait. */
  readonly link: string | null;
  readonly customer: Customer;
}

/** `untried`: refused before anything was tried. */
export type AttemptOutcome = 'paid' | 'passed' | 'untried' | 'failed';

const freeFailures = 3;
const firstDelayMs = 10_000;

export function byProgram(customer: Customer): Attempt {
  return { kind: 'payment', link: null, customer };
}

function keysOf({ kind, link, customer }: Attempt): [Scope, string][] {
  return [
    ...(link === null ? [] : [['link', `${kind} link ${link}`] satisfies [Scope, string]]),
    ['customer', `${kind} customer ${customer.name}`],
    ['environment', `${kind} environment`],
  ];
}

function countOf({ attempts, now }: Books, key: string): AttemptCount {
  const known = attempts.get(key);
  if (known !== undefined && now < known.countedFrom + dayMs) return known;
  return { failures: 0, countedFrom: now, nextAt: now, isReached: false };
}

/** Whether it would be refused now. */
export function isLimited(books: Books, attempt: Attempt): boolean {
  return keysOf(attempt).some(([scope, key]) => {
    const { failures, nextAt } = countOf(books, key);
    return failures >= attemptLimits[scope] || nextAt > books.now;
  });
}

/** Counts an attempt. Returns false if it is refused: then nothing is counted. */
export function takeAttempt(books: Books, attempt: Attempt): boolean {
  const { customer } = attempt;
  if (isLimited(books, attempt)) {
    const isFull = keysOf(attempt).find(([scope, key]) => countOf(books, key).failures >= attemptLimits[scope]);
    reach(
      books,
      `${attempt.kind} refused by ${isFull === undefined ? 'a wait' : `the limit of ${isFull[0]}`}`,
      customer,
    );
    return false;
  }
  for (const [scope, key] of keysOf(attempt)) {
    const count = { ...countOf(books, key) };
    count.failures += 1;
    count.isReached ||= count.failures >= attemptLimits[scope];
    books.attempts.set(key, count);
  }
  return true;
}

/** Takes it off again unless it failed. A paid one takes a failure with it, and what passes ends a wait. */
export function endAttempt(books: Books, attempt: Attempt, outcome: AttemptOutcome): void {
  for (const [scope, key] of keysOf(attempt)) {
    const count = books.attempts.get(key);
    if (count === undefined) continue;
    if (outcome === 'failed') {
      if (attempt.link !== null && scope !== 'environment')
        count.nextAt = Math.max(count.nextAt, books.now + delayAfter(count.failures));
      continue;
    }
    const off = outcome === 'paid' ? 2 : 1;
    if (count.failures <= off && !count.isReached) books.attempts.delete(key);
    count.failures = Math.max(0, count.failures - off);
    if (outcome !== 'untried') count.nextAt = Math.min(count.nextAt, books.now);
  }
}

/** Three failures cost no wait, and each one after them twice the wait before. */
function delayAfter(failures: number): number {
  return failures <= freeFailures ? 0 : Math.min(hourMs, firstDelayMs * 2 ** (failures - freeFailures - 1));
}

/** Whether the link has none left. */
export function isLinkUsedUp({ attempts }: Books, { kind, link }: Attempt): boolean {
  return (attempts.get(`${kind} link ${link}`)?.failures ?? 0) >= attemptLimits.link;
}

/** In the form of reality's lines. */
export function attemptLines({ attempts, now }: Books, name: string | null) {
  const scope = name === null ? 'environment' : 'customer';
  return (['payment', 'discount_code'] as const).flatMap((kind) => {
    const count = attempts.get(name === null ? `${kind} environment` : `${kind} customer ${name}`);
    // Nobody sees whether a count that is over is still there.
    if (count === undefined || now >= count.countedFrom + dayMs) return [];
    const { failures, countedFrom, nextAt, isReached } = count;
    return [{ attempts: kind, scope, failures, from: countedFrom, nextAt, reached: isReached }];
  });
}
