import assert from 'node:assert/strict';
import type { FeatureValue } from '../pricing/feature.ts';

/** A value as granted by one item of a subscription. */
export interface GivenValue {
  /** The subscription item feature; ids are in order of creation. */
  readonly id: string;
  readonly subscriptionId: string;
  /** Whether it was added by hand, and so replaces those of products. */
  readonly manuallyCreated: boolean;
  readonly value: FeatureValue;
}

/**
 * The value that a customer has by grants of one feature, in any order. A value that was added by hand replaces those of
 * products in its subscription. The customer then has the highest number of several, or the texts of all lists, or the
 * text of the newest subscription, and within that the newest text. Worked example: a plan with 10, an add-on with
 * 5 and another subscription with 7 are 10; with 6 by hand on the first subscription, they are 7.
 */
export function entitledValue(given: readonly GivenValue[]): FeatureValue {
  const changed = new Set(given.filter((each) => each.manuallyCreated).map(({ subscriptionId }) => subscriptionId));
  const values = given
    .filter(({ manuallyCreated, subscriptionId }) => manuallyCreated || !changed.has(subscriptionId))
    .toSorted(newestFirst)
    .map(({ value }) => value);
  const [newest] = values;
  assert(newest !== undefined, 'a value is there because a grant has it');
  if (typeof newest === 'string') return newest;
  if (typeof newest === 'number') return Math.max(...values.filter((value) => typeof value === 'number'));
  // The oldest first: a customer's list grows at its end.
  return [...new Set(values.toReversed().flat())].map(String);
}

function newestFirst(one: GivenValue, other: GivenValue): number {
  return compareIds(other.subscriptionId, one.subscriptionId) || compareIds(other.id, one.id);
}

function compareIds(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
