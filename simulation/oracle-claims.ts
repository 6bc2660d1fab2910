import { type Books, type Subscription, seatsOf } from './oracle-records.ts';

/** Seats: claimed under a name or without one, for good or until there is no room for them any more. */

// No name that is asked for begins so.
const nameless = '(nameless)';
let namelessCount = 0;

export function newNameless(): string {
  namelessCount += 1;
  return `${nameless} ${namelessCount}`;
}

/** The oldest first. */
export function namelessOf({ claims }: Subscription): string[] {
  return [...claims].filter((name) => name.startsWith(nameless));
}

/** When what is claimed beyond the room that is left ends; null: it lasts. */
function endOfRoom({ status, cancelAt, scheduled, period }: Subscription): number | null {
  if (status === 'cancellation_scheduled') return cancelAt;
  return scheduled === null ? null : (period?.end ?? null);
}

/**
 * Claims seats that are free. Where an end is scheduled they end with it; where a change to fewer is, as many as fit then
 * last.
 */
export function claim(subscription: Subscription, names: readonly string[]): void {
  const { claims, status, scheduled } = subscription;
  const ending = subscription.temporaryClaims;
  const lasting = claims.size - ending.size;
  const later = status === 'cancellation_scheduled' ? 0 : scheduled === null ? null : seatsOf(scheduled);
  const room = later === null ? names.length : Math.max(0, later - lasting);
  for (const [index, name] of names.entries()) {
    claims.add(name);
    if (index >= room) ending.add(name);
  }
}

export function release(subscription: Subscription, names: readonly string[]): void {
  for (const name of names) {
    subscription.claims.delete(name);
    subscription.temporaryClaims.delete(name);
  }
}

/** What was to end with a change that is made now. */
export function endClaims(subscription: Subscription): void {
  release(subscription, [...subscription.temporaryClaims]);
}

/** Where no end and no change is scheduled any more, what was to end with it lasts. */
export function letClaimsLast({ customers }: Books): void {
  for (const subscription of customers.flatMap(({ subscriptions }) => subscriptions))
    if (endOfRoom(subscription) === null) subscription.temporaryClaims.clear();
}

/** As reality tells them. */
export function claimLine(subscription: Subscription, name: string) {
  const of = subscription.customer.subscriptions.indexOf(subscription);
  const endsAt = subscription.temporaryClaims.has(name) ? endOfRoom(subscription) : null;
  return { claim: name.startsWith(nameless) ? null : name, of, endsAt };
}
