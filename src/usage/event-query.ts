import { instantFilter, instantRange, textFilter } from '../kernel/pagination.ts';
import type { TimeRange } from './time-range.ts';

/** The filters of events that their series answers. */
export const seriesFilters = ['customerId', 'subscriptionId', 'usageMeterId', 'priceId', 'billingPeriodId'] as const;
export type SeriesFilter = { readonly [filter in (typeof seriesFilters)[number]]?: string | undefined };

/** What a list of events may be narrowed by. */
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

/** Which events a list asks for. */
export interface EventQuery {
  readonly series: SeriesFilter;
  readonly transactionId: string | null;
  /** Null where any time will do. */
  readonly range: TimeRange | null;
}

/** The query that the filters of a page request make. Refuses a range that is empty. */
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
