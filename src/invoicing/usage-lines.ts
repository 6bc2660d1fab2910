import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type Priced, priceModelOf } from '../pricing/pricing.ts';
import { addUsage, noUsage } from '../rating/spending.ts';
import { usageAmount } from '../rating/usage.ts';
import {
  billParts,
  chargeAfter,
  freshUsage,
  type Quantities,
  releasedOf,
  type UsageCharge,
  withoutReleased,
} from '../rating/usage-parts.ts';
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
    const left = charges.filter(isReleased).map((each) => ({ ...ofAccount, ...withoutReleased(each) }));
    return { subscriptionId, lines: overage.units === 0n ? [] : [usageLine(overage, currency)], charges: left };
  }
  const { units, events, ownAmount, overrides } = overage;
  const pricingOf = (start: Instant) => termsIn(overage, start).pricing;
  const modelOf = (start: Instant) => {
    const pricing = pricingOf(start);
    return pricing === null ? null : priceModelOf(pricing);
  };
  const plain = charges.filter((each) => pricingOf(each.periodStart) === null);
  const priced = charges.filter((each) => pricingOf(each.periodStart) !== null);
  const usage = freshUsage({ units, events, ownAmount, charges: plain });
  const parts = billParts({ ...usage, charges: priced, periodStart }, modelOf, chargedStep(currency));
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
  const fresh = pricingOf(periodStart) === null ? freshUsage({ ...usage, charges: priced }) : noUsage;
  const alone = plainParts({ plain, periodStart, fresh }).map(({ periodStart: start, ...quantities }) => {
    const ofPeriod = overrides.length === 0 ? {} : { periodStart: start };
    return usageLine({ ...overage, ...termsIn(overage, start), ...quantities }, currency, ofPeriod);
  });
  return {
    subscriptionId,
    lines: [...alone, ...lines],
    charges: [
      ...plain.filter(isReleased).map((each) => ({ ...ofAccount, ...each, ...notReleased })),
      ...parts.map((part) => ({ ...ofAccount, ...chargeAfter(part) })),
    ],
  };
}

const notReleased = { released: 0n, releasedEvents: 0n, releasedOwnAmount: 0n };

function isReleased({ released, releasedEvents }: UsageCharge): boolean {
  return released > 0n || releasedEvents > 0n;
}

/** Usage of periods whose units cost the same each: what was released of each, and what is fresh of the present one. */
function plainParts({
  plain,
  periodStart,
  fresh,
}: {
  readonly plain: readonly UsageCharge[];
  readonly periodStart: Instant;
  readonly fresh: Quantities;
}) {
  const present = { periodStart, ...fresh };
  const parts = plain.filter(isReleased).map((each) => {
    return { ...releasedOf(each), periodStart: each.periodStart };
  });
  const same = parts.find((part) => part.periodStart === periodStart);
  const others = parts.filter((part) => part !== same);
  const all = [...others, same === undefined ? present : { ...present, ...addUsage(same, fresh) }];
  return all.filter(({ units }) => units > 0n);
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

function usageLine(overage: Overage, currency: string, ofPeriod: { readonly periodStart?: Instant } = {}): NewLine {
  const { ledgerAccountId, priceId, units, meterName, unitPrice, usageEventsPerUnit, isBilled, events, ownAmount } =
    overage;
  const usage = { meterName, units, unitPrice, usageEventsPerUnit, currency };
  return {
    type: 'usage',
    explanation: {
      kind: 'usage',
      units,
      unitPrice,
      usageEventsPerUnit,
      ...(events > 0n ? { events, ownAmount } : {}),
      ...ofPeriod,
    },
    units,
    amount: usageAmount({ units, unitPrice, usageEventsPerUnit: BigInt(usageEventsPerUnit) }, chargedStep(currency)),
    priceId,
    ledgerAccountId,
    description: isBilled ? describeUsage(usage) : describeUnbilledUsage(usage),
  };
}
