import type { Terms as CostTerms, UsagePrice } from './catalogue-usage.ts';
import type { Used } from './oracle-pricing.ts';
import type { Credit } from './oracle-records.ts';

/** The oracle's records of usage. */

/** The terms of a price for one customer, from one instant until another or now. */
export interface OwnTerms {
  readonly terms: CostTerms;
  readonly from: number;
  until: number | null;
}

/**
 * Usage that no credit covers, by price. With a model a price is a function of all units of its usage period: a bill is
 * worth what they cost so far, less what was billed.
 */
export interface Metered {
  /** On no invoice yet, and of no usage period. */
  fresh: Used;
  /** Events that came within a billing period, by its start, and happened before it. Credits may cover some. */
  readonly late: Map<number, Used>;
  /** By the start of the usage period. */
  readonly periods: Map<number, MeteredPeriod>;
}

export interface MeteredPeriod {
  /** All that was ever billed of the period. */
  taken: Used;
  /** The part of that which is on no invoice any more. */
  released: Used;
  /** The amount on invoices. */
  amount: number;
}

/** The usage of a line. */
export interface MeteredLine {
  readonly price: UsagePrice;
  /** The start of its usage period. Null: each unit is priced by itself, or the plan does not bill it. */
  readonly start: number | null;
  readonly used: Used;
  readonly isWaived: boolean;
}

/** A subscription's state of a measured meter: the usage period that is open, and what is billed of each. */
export interface Measured {
  start: number;
  /** The value that was held when it began. */
  opening: number;
  /** The events that came within it, in any order. */
  events: MeasuredEvent[];
  /** The instant from which its days are counted; null: no event has come yet. */
  daysFrom: number | null;
  readonly charges: MeasuredCharge[];
}

export interface MeasuredEvent {
  readonly date: number;
  /** The instant from which it counts: not after the end of the billing period. */
  readonly at: number;
  readonly amount: number;
}

export interface MeasuredCharge {
  readonly price: UsagePrice;
  /** The start of the usage period. */
  readonly start: number;
  /** The units when a bill last took it. */
  used: Used;
  /** On invoices. */
  amount: number;
  /** The price of usage that the plan did not bill. */
  waived: number;
  /** Whether a bill of it was taken back: the next bill takes it again. */
  isReopened: boolean;
}

/** A subscription's state of a meter without credits. */
export interface MeterAccount {
  /** The stored units, and the event itself, by transactionId. */
  readonly events: Map<string, { readonly units: number; readonly told: unknown }>;
  used: number;
  settled: number;
  pooled: number;
}

/**
 * A subscription's state of the meter that counts distinct properties. Only covered usage is recorded, so nothing is
 * billed.
 */
export interface Users {
  readonly credits: Credit[];
  /** By transactionId. */
  readonly events: Set<string>;
  /** The properties recorded in each period, by its start. */
  readonly counted: Set<string>;
  used: number;
}
