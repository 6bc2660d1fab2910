import type { Costs } from './costs.ts';
import type { BenchService } from './running.ts';

/** The result of a row. `limit` is in the unit of `value`; null without one. */
export interface Measured {
  readonly value: number;
  readonly unit: string;
  readonly limit: number | null;
  readonly note: string;
  readonly costs: Costs;
  /** The unit of the costs, and the number of units: 300,000 of 'event'. */
  readonly each: string;
  readonly count: number;
}

/** Measures one row on a service and a database without other users. */
export type Row = (service: BenchService) => Promise<Measured>;
