import { mulDiv } from '../kernel/money.ts';

/**
 * What billed usage costs, in minor units: units x unitPrice / usageEventsPerUnit, exact, then rounded once, half away
 * from zero. `unitPrice` is the price of `usageEventsPerUnit` (1 or more) units; a part of such a package is charged in
 * proportion. Worked example I6: 250 units at 50 per 100 are 125.
 */
export function usageAmount(usage: { units: bigint; unitPrice: bigint; usageEventsPerUnit: bigint }): bigint {
  return mulDiv(usage.units, usage.unitPrice, usage.usageEventsPerUnit);
}
