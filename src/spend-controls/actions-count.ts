import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { chargedStep } from '../kernel/currency.ts';
import { isoText } from '../kernel/iso-text.ts';
import { Problem } from '../kernel/problem.ts';
import { priceOfUsage } from '../pricing/pricing.ts';
import { addUsage, noUsage, type SpendPrice, takeUsage, worthOf } from '../rating/spending.ts';
import type { Quantities } from '../rating/usage-parts.ts';
import { crossedBy, publishCrossed } from './actions-alerts.ts';
import {
  type CountedLimit,
  type CountedPeriod,
  counts,
  nameOfLimit,
  periodOf,
  type SpendScope,
  type StoredSpendLimit,
  shownAmount,
  subjectOfLimit,
  type UsedSubscription,
  unitsOf,
} from './spend-limit.ts';
import { type CounterRow, listPriceAmounts, lockCounters, saveCounters } from './store.ts';

/** A use of units at a price. */
export interface SpendUse extends SpendScope, Quantities {
  readonly subscription: UsedSubscription;
  readonly priceId: string;
}

/** A use with the limits of its customer. */
interface LimitedUse extends SpendUse {
  readonly limits: readonly StoredSpendLimit[];
}

/** The units of one meter at one price that open holds set aside. */
export interface HeldUnits extends SpendScope {
  readonly subscriptionId: string;
  readonly priceId: string;
  readonly units: bigint;
  /** The holds: each is settled by one event. */
  readonly events: bigint;
}

/** A counter in memory, which is locked in the database. */
interface Counter {
  readonly limit: CountedLimit;
  readonly period: CountedPeriod;
  /** The subscription of a limit by billing period or of a plan; null: all of the customer. */
  readonly subscriptionId: string | null;
  /** The use whose thresholds are published. */
  readonly before: bigint;
  units: bigint;
  used: bigint;
  /** The used and held amount: of a limit that does not block, the same as `used`. */
  committed: bigint;
  readonly byPrice: Map<string, Quantities>;
  readonly held: Map<string, Quantities>;
  checked: { used: bigint; limit: bigint } | null;
  isChanged: boolean;
}

/**
 * The counters of the limits that some uses touch. They are locked, so uses that come at once wait for one another here.
 * `refusal` and `add` decide in memory. `save` stores the result.
 */
export class Budgets {
  readonly #counters: readonly Counter[];
  readonly #ofCustomer: ReadonlyMap<string, readonly Counter[]>;
  readonly #prices: ReadonlyMap<string, SpendPrice>;
  readonly #step: bigint;

  constructor(counters: readonly Counter[], prices: ReadonlyMap<string, SpendPrice>, step: bigint) {
    this.#counters = counters;
    this.#ofCustomer = Map.groupBy(counters, ({ limit }) => limit.customerId);
    this.#prices = prices;
    this.#step = step;
    for (const counter of counters) counter.committed = this.#worth(counter, true);
  }

  /**
   * The refusal of a use that does not fit into a blocking limit, or null. A use that costs nothing fits. It has to fit also if
   * all holds are released: in volume tiers their units may make it cheaper.
   */
  refusal(use: SpendUse): Problem | null {
    for (const counter of this.#of(use)) {
      if (counter.limit.action !== 'block') continue;
      const { committed, used, limit } = counter;
      const fits = (before: bigint, after: bigint) => after <= limit.amount || after <= before;
      if (!fits(committed, this.#after(counter, use, true)) || !fits(used, this.#after(counter, use, false)))
        return refusalOf(counter);
    }
    return null;
  }

  /**
   * Adds a use. `isChecked`: it had to fit. Returns whether it goes beyond a blocking limit. The use of what a hold has set
   * aside is not beyond it.
   */
  add(use: SpendUse, isChecked: boolean): boolean {
    let isBeyond = false;
    for (const counter of this.#of(use)) {
      counter.byPrice.set(use.priceId, addUsage(counter.byPrice.get(use.priceId) ?? noUsage, use));
      counter.units += unitsOf(counter.limit, use);
      const used = this.#worth(counter, false);
      const { limit } = counter;
      if (limit.action === 'block' && used > counter.used) {
        if (isChecked) counter.checked = { used, limit: limit.amount };
        else if (used > limit.amount) isBeyond = true;
      }
      counter.used = used;
      counter.committed = counter.held.size === 0 ? used : this.#worth(counter, true);
      counter.isChanged = true;
    }
    return isBeyond;
  }

  /** Takes back a use that was added in memory. In volume tiers fewer units may cost more, which nobody has to fit in. */
  takeBack(use: SpendUse): void {
    const pool = use.pool && { ...use.pool, drawn: -use.pool.drawn };
    this.add({ ...use, pool, ...takeUsage(use) }, false);
  }

  /** Stores the counters, and publishes which thresholds were crossed. */
  async save(work: Work): Promise<void> {
    const changed = this.#counters.filter(({ isChanged }) => isChanged);
    if (changed.length === 0) return;
    await saveCounters(
      work,
      changed.map(({ limit, period, byPrice, ...counter }) => ({
        ...counter,
        spendLimitId: limit.id,
        periodKey: period.key,
        publishedAmount: limit.amount,
        byPrice: limit.unit === 'units' ? {} : Object.fromEntries(Array.from(byPrice, storedQuantities)),
      })),
    );
    await publishCrossed(
      work,
      changed.flatMap((counter) => crossedBy(counter, counter.before, counter.used)),
    );
  }

  #of(use: SpendUse): Counter[] {
    return (this.#ofCustomer.get(use.customerId) ?? []).filter(({ limit, subscriptionId }) => {
      return counts(limit, use) && (subscriptionId ?? use.subscription.id) === use.subscription.id;
    });
  }

  #after({ limit, used, committed, byPrice, held }: Counter, use: SpendUse, withHeld: boolean): bigint {
    const before = withHeld ? committed : used;
    if (limit.unit === 'units') return before + unitsOf(limit, use);
    const { priceId } = use;
    const now = addUsage(byPrice.get(priceId) ?? noUsage, (withHeld ? held.get(priceId) : null) ?? noUsage);
    return before - this.#worthAt(priceId, now) + this.#worthAt(priceId, addUsage(now, use));
  }

  #worth({ limit, units, byPrice, held }: Counter, withHeld: boolean): bigint {
    if (limit.unit === 'units') return withHeld ? held.values().reduce((sum, each) => sum + each.units, units) : units;
    const counted = new Map(byPrice);
    if (withHeld)
      for (const [priceId, each] of held) counted.set(priceId, addUsage(counted.get(priceId) ?? noUsage, each));
    return counted.entries().reduce((sum, [priceId, usage]) => sum + this.#worthAt(priceId, usage), 0n);
  }

  #worthAt(priceId: string, usage: Quantities): bigint {
    const price = this.#prices.get(priceId);
    assert(price !== undefined, 'the price of each use was read');
    return worthOf(price, usage, this.#step);
  }
}

const noBudgets = new Budgets([], new Map(), 1n);

function refusalOf({ limit, period, used }: Counter): Problem {
  const left = limit.amount > used ? limit.amount - used : 0n;
  const remaining = shownAmount(limit, left);
  const resets = period.end === null ? 'It does not begin again.' : `It begins again at ${isoText(period.end)}.`;
  return new Problem('spendLimitReached', { name: nameOfLimit(limit), remaining, resets }, [], {
    spendLimit: {
      ...shownLimit(limit),
      usedAmount: shownAmount(limit, used),
      remainingAmount: remaining,
      resetsAt: period.end,
    },
  });
}

function shownLimit(limit: CountedLimit) {
  const { id, subscriptionId, label, period, unit, amount } = limit;
  return { id, subscriptionId, ...subjectOfLimit(limit), label, period, unit, amount: shownAmount(limit, amount) };
}

function storedQuantities([priceId, { units, events, ownAmount }]: [string, Quantities]) {
  return [priceId, [String(units), String(events), String(ownAmount)]] as const;
}

/**
 * Opens and locks the counters that these uses touch, after the ledger accounts: so everybody takes locks in one order.
 * Without limits it asks the database nothing. `listHeld`, of uses that have to fit, tells what holds set aside.
 */
export async function openBudgets(
  work: Work,
  uses: readonly LimitedUse[],
  listHeld: ((work: Work, customerIds: readonly string[]) => Promise<HeldUnits[]>) | null,
): Promise<Budgets> {
  if (uses.length === 0) return noBudgets;
  const wanted = new Map<string, Wanted>();
  for (const use of uses)
    for (const stored of use.limits) {
      const limit = { ...stored, amount: BigInt(stored.amount) };
      if (!counts(limit, use)) continue;
      const period = periodOf(limit, work.now, use.subscription);
      const subscriptionId = limit.period === 'billing_period' ? use.subscription.id : limit.subscriptionId;
      wanted.set(nameOfCounter(limit.id, period.key), { limit, period, subscriptionId });
    }
  if (wanted.size === 0) return noBudgets;
  const rows = await lockCounters(
    work,
    Array.from(wanted.values(), ({ limit, period }) => ({ spendLimitId: limit.id, period })),
  );
  const blocked = new Set(wanted.values().flatMap(({ limit }) => (limit.action === 'block' ? [limit.customerId] : [])));
  const held = listHeld === null || blocked.size === 0 ? [] : await listHeld(work, [...blocked]);
  const counters = rows.map((row) => {
    const found = wanted.get(nameOfCounter(row.spendLimitId, row.periodKey));
    assert(found !== undefined, 'only wanted counters are opened');
    return openCounter(found, row, held);
  });
  return new Budgets(counters, await readPrices(work, counters, uses), chargedStep(work.currency));
}

type Wanted = Pick<Counter, 'limit' | 'period' | 'subscriptionId'>;

function nameOfCounter(limitId: string, key: string): string {
  return `${limitId} ${key}`;
}

function openCounter(wanted: Wanted, row: CounterRow, held: readonly HeldUnits[]): Counter {
  const { limit, subscriptionId } = wanted;
  const byPrice = new Map(
    Object.entries(row.byPrice).map(([id, [units, events, ownAmount]]) => {
      return [id, { units: BigInt(units), events: BigInt(events), ownAmount: BigInt(ownAmount) }] as const;
    }),
  );
  const ofHolds = new Map<string, Quantities>();
  for (const hold of held) {
    if (!counts(limit, hold) || (subscriptionId ?? hold.subscriptionId) !== hold.subscriptionId) continue;
    const more = { ...noUsage, units: unitsOf(limit, hold), events: hold.events };
    ofHolds.set(hold.priceId, addUsage(ofHolds.get(hold.priceId) ?? noUsage, more));
  }
  const { units, used, publishedAmount } = row;
  // Nothing is published of another amount yet.
  const before = publishedAmount === limit.amount ? used : 0n;
  const rest = { before, units, used, committed: used, held: ofHolds, checked: null, isChanged: false };
  return { ...wanted, ...rest, byPrice };
}

/** The prices of what is counted in money. */
async function readPrices(
  work: Work,
  counters: readonly Counter[],
  uses: readonly SpendUse[],
): Promise<ReadonlyMap<string, SpendPrice>> {
  const ofMoney = counters.filter(({ limit }) => limit.unit === 'money');
  if (ofMoney.length === 0) return new Map();
  const ids = new Set(ofMoney.flatMap(({ byPrice, held }) => [...byPrice.keys(), ...held.keys()]));
  for (const { priceId } of uses) ids.add(priceId);
  const amounts = await listPriceAmounts(work, [...ids]);
  return new Map(
    amounts.map(({ id, unitPrice, usageEventsPerUnit, pricing }) => [
      id,
      priceOfUsage({ unitPrice, usageEventsPerUnit, pricing }),
    ]),
  );
}
