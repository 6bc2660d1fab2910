import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type Priced, priceModelOf } from '../pricing/pricing.ts';
import { usageAmount } from '../rating/usage.ts';
import { billParts, chargeAfter, freshUsage, withoutReleased } from '../rating/usage-parts.ts';
import { overrideAt } from '../subscriptions/price-override.ts';
import type { ChargedPeriod, Overage } from '../usage/ledger.ts';
import type { NewLine } from './invoice-line-item.ts';
import { describeEvents, describeUnbilledUsage, describeUnits, describeUsage } from './line-text.ts';

/** The lines of usage at one price, and how much of its usage periods is billed after them. */
export interface BilledOverage {
  readonly subscriptionId: string;
  readonly lines: readonly NewLine[];
  readonly charges: readonly ChargedPeriod[];
}

/** The lines of this usage, each priced by the terms of its usage period. */
export function billUsage(overages: readonly Overage[], currency: string): BilledOverage[] {
  return overages.map((overage) => billOverage(overage, currency));
}

function billOverage(overage: Overage, currency: string): BilledOverage {
  const { subscriptionId, ledgerAccountId, priceId, meterName, charges, isBilled, periodStart } = overage;
  const ofAccount = { ledgerAccountId, priceId };
  if (!isBilled) {
    // Released usage is not billed any more, so it no longer counts in its periods.
    const less = charges.filter(({ released, releasedEvents }) => released > 0n || releasedEvents > 0n);
    const left = less.map((each) => ({ ...ofAccount, ...withoutReleased(each) }));
    return { subscriptionId, lines: overage.units === 0n ? [] : [usageLine(overage, currency)], charges: left };
  }
  const { units, events, ownAmount } = overage;
  const usage = { units, events, ownAmount, charges, periodStart };
  const pricingOf = (start: Instant) => termsIn(overage, start).pricing;
  const modelOf = (start: Instant) => {
    const pricing = pricingOf(start);
    return pricing === null ? null : priceModelOf(pricing);
  };
  const parts = billParts(usage, modelOf, chargedStep(currency));
  const lines = parts.map(({ amount, ...part }): NewLine => {
    const pricing = pricingOf(part.periodStart);
    assert(pricing, 'a part has a pricing');
    const explanation = { kind: 'priced_usage', pricing, ...part } as const;
    const description =
      part.units > 0n
        ? describeUnits({ meterName, units: part.units })
        : describeEvents({ meterName, events: part.events });
    return { type: 'usage', explanation, units: part.units, amount, ...ofAccount, description };
  });
  const present = termsIn(overage, periodStart);
  const fresh = freshUsage(usage);
  const alone =
    present.pricing === null && fresh.units > 0n ? [usageLine({ ...overage, ...present, ...fresh }, currency)] : [];
  return {
    subscriptionId,
    lines: [...alone, ...lines],
    charges: parts.map((part) => ({ ...ofAccount, ...chargeAfter(part) })),
  };
}

/**
 * The terms of usage in the period that begins at `start`: those of the customer in force then, else those of the
 * price.
 */
export function termsIn(
  { overrides, unitPrice, pricing }: Pick<Overage, keyof Priced | 'overrides'>,
  start: Instant,
): Priced {
  return overrideAt(overrides, start) ?? { unitPrice, pricing };
}

function usageLine(overage: Overage, currency: string): NewLine {
  const { ledgerAccountId, priceId, units, meterName, unitPrice, usageEventsPerUnit, isBilled, events, ownAmount } =
    overage;
  const usage = { meterName, units, unitPrice, usageEventsPerUnit, currency };
  return {
    type: 'usage',
    explanation: { kind: 'usage', units, unitPrice, usageEventsPerUnit, ...(events > 0n ? { events, ownAmount } : {}) },
    units,
    amount: usageAmount({ units, unitPrice, usageEventsPerUnit: BigInt(usageEventsPerUnit) }, chargedStep(currency)),
    priceId,
    ledgerAccountId,
    description: isBilled ? describeUsage(usage) : describeUnbilledUsage(usage),
  };
}
