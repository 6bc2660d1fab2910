import { type Instant, msPerDay } from '../kernel/calendar.ts';

/** The kind of attempt: a charge or a new card, or a discount code that a buyer enters. */
export type AttemptKind = 'payment' | 'discount_code';

/**
 * The scopes that count their attempts, in the order in which counts are locked. A link is a checkout session's, or one
 * to the portal.
 */
export const attemptScopes = ['link', 'customer', 'network', 'environment'] as const;
export type AttemptScope = (typeof attemptScopes)[number];

/** The failed attempts that each scope has in a day. 0 for no limit. */
export type AttemptLimits = Readonly<Record<AttemptScope, number>>;

// A person gives up long before the tenth card. Many people may share a network, and all buyers an environment, so that
// their limits are for attacks only.
export const attemptLimits: AttemptLimits = { link: 10, customer: 20, network: 50, environment: 1_000 };

/** The time after which a count begins at 0 again. */
export const attemptDayMs = msPerDay;

// Somebody who mistypes a card three times does not notice the limit.
const freeFailures = 3;
const firstDelayMs = 10_000;
const longestDelayMs = 3_600_000;

/** The wait after this many failures: none after three, then 10 s, and twice as long each time, up to an hour. */
function delayAfter(failures: number): number {
  return failures <= freeFailures ? 0 : Math.min(firstDelayMs * 2 ** (failures - freeFailures - 1), longestDelayMs);
}

/** The waits after the first, second ... failure. The last one repeats. */
export const attemptDelays: readonly number[] = Array.from({ length: 13 }, (_, index) => delayAfter(index + 1));

/** Whether each failure makes the next attempt wait. Failures of other buyers do not. */
export function hasDelays(scope: AttemptScope): boolean {
  return scope === 'link' || scope === 'customer';
}

/** An attempt, by the subjects of its scopes. An absent one is not counted. */
export interface Attempt {
  readonly kind: AttemptKind;
  /** The id of a checkout session, or a name of the portal link. */
  readonly link?: string;
  readonly customerId?: string | null;
  /** The network of the buyer's address, as `networkOf` says it. Programs of the seller have none. */
  readonly network?: string | null;
}

/** The seconds until `until`, rounded up: at least 1. */
export function secondsUntil(until: Instant, now: Instant): number {
  return Math.max(1, Math.ceil((until - now) / 1000));
}

/** A limit that was reached or has refused an attempt, for the log and the metrics. */
export interface AttemptReport {
  readonly organizationId: string;
  readonly environmentId: number;
  readonly kind: AttemptKind;
  readonly scope: AttemptScope;
  readonly result: 'refused' | 'limit_reached';
  readonly link: string | null;
  readonly customerId: string | null;
  readonly network: string | null;
}

/** The part of the external services that limits attempts. */
export interface WithAttemptLimits {
  readonly attemptLimits?: AttemptLimits;
  readonly onLimitedAttempt?: (report: AttemptReport) => void;
}
