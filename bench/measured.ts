import type { Costs } from './costs.ts';
import type { BenchService } from './running.ts';

/** What a row came to. `limit` is in the unit of `value`; null where there is none to compare with. */
export interface Measured {
  readonly value: number;
  readonly unit: string;
  readonly limit: number | null;
  readonly note: string;
  readonly costs: Costs;
  /** What the costs are told per, and how many of them there were: 300,000 of 'event'. */
  readonly each: string;
  readonly count: number;
}

/** Measures one row on a service and a database that nothing else uses. */
export type Row = (service: BenchService) => Promise<Measured>;
