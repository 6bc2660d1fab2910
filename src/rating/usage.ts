import { mulDiv } from '../kernel/money.ts';

/**
 * The price of usage, in minor units: units x unitPrice / usageEventsPerUnit, exact, then rounded once, half away from
 * zero. The `unitPrice` is the price of `usageEventsPerUnit` (1 or more) units; part of such a package is charged in
 * proportion. Worked example I6: 250 units at 50 per 100 are 125. The price is a multiple of `step` (see `chargedStep`).
 */
export function usageAmount(
  usage: { units: bigint; unitPrice: bigint; usageEventsPerUnit: bigint },
  step = 1n,
): bigint {
  return mulDiv(usage.units, usage.unitPrice, usage.usageEventsPerUnit, step);
}
