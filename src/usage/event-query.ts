import { instantFilter, instantRange, textFilter } from '../kernel/pagination.ts';
import type { TimeRange } from './time-range.ts';

/** Event filters that apply to the series. */
export const seriesFilters = ['customerId', 'subscriptionId', 'usageMeterId', 'priceId', 'billingPeriodId'] as const;
export type SeriesFilter = { readonly [filter in (typeof seriesFilters)[number]]?: string | undefined };

/** The filters of an event list. */
export const eventFilters = {
  customerId: textFilter,
  subscriptionId: textFilter,
  usageMeterId: textFilter,
  priceId: textFilter,
  billingPeriodId: textFilter,
  transactionId: textFilter,
  usageDateFrom: instantFilter.meta({ description: 'Events used at this instant or later.' }),
  usageDateTo: instantFilter.meta({ description: 'Events used before this instant.' }),
};

/** The query of an event list. */
export interface EventQuery {
  readonly series: SeriesFilter;
  readonly transactionId: string | null;
  /** Null: any time. */
  readonly range: TimeRange | null;
}

/** Builds the query from the filters of a page request. Refuses an empty range. */
export function toEventQuery(filters: Readonly<Record<string, string | boolean>>): EventQuery {
  return {
    series: Object.fromEntries(seriesFilters.map((filter) => [filter, textOf(filters[filter]) ?? undefined])),
    transactionId: textOf(filters.transactionId),
    range: instantRange(filters, 'usageDateFrom', 'usageDateTo'),
  };
}

function textOf(value: string | boolean | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
