import { type Books, type Subscription, seatsOf } from './oracle-records.ts';

/** Seats: claimed with or without a name, permanently or until capacity ends. */

// No requested name begins like this.
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

/** The end of claims beyond the remaining capacity; null: permanent. */
function endOfRoom({ status, cancelAt, scheduled, period }: Subscription): number | null {
  if (status === 'cancellation_scheduled') return cancelAt;
  return scheduled === null ? null : (period?.end ?? null);
}

/**
 * Claims free seats. With a scheduled end they end with it; with a scheduled reduction, as many as fit afterwards are
 * permanent.
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

/** Ends claims that end with a change made now. */
export function endClaims(subscription: Subscription): void {
  release(subscription, [...subscription.temporaryClaims]);
}

/** Makes temporary claims permanent if no end and no change is scheduled any more. */
export function letClaimsLast({ customers }: Books): void {
  for (const subscription of customers.flatMap(({ subscriptions }) => subscriptions))
    if (endOfRoom(subscription) === null) subscription.temporaryClaims.clear();
}

/** In the form of reality's lines. */
export function claimLine(subscription: Subscription, name: string) {
  const of = subscription.customer.subscriptions.indexOf(subscription);
  const endsAt = subscription.temporaryClaims.has(name) ? endOfRoom(subscription) : null;
  return { claim: name.startsWith(nameless) ? null : name, of, endsAt };
}
