import { z } from 'zod';
import type { Parts } from '../database/cells.ts';
import { WholeNumber } from '../kernel/json.ts';
import { divHalfAway } from '../kernel/money.ts';
import { decimalText } from '../kernel/money-text.ts';
import { fineDigits } from '../rating/price-model.ts';
import { pointFields, pointsOf, type ReportRange, rangeFields } from './report-range.ts';

const movementTypes = ['new', 'reactivation', 'expansion', 'contraction', 'churn'] as const;
type MovementType = (typeof movementTypes)[number];

export const mrrGroupings = ['product', 'price', 'interval'] as const;
export type MrrGrouping = (typeof mrrGroupings)[number];

/** The maximum number of groups in a report: the rest is one more. */
const maxGroups = 50;

/** The fields of a group. */
const groupFields = {
  currency: z.string(),
  key: z
    .string()
    .nullable()
    .meta({
      description:
        'The id of the product or price, or the interval such as `1 month`. Null without groups, and for those ' +
        `beyond the first ${maxGroups} together.`,
    }),
  name: z.string().nullable(),
};

const counted = z.int().nullable();
const Movements = {
  new: WholeNumber,
  reactivation: WholeNumber,
  expansion: WholeNumber,
  contraction: WholeNumber,
  churn: WholeNumber,
};

const MrrPoint = z.object({
  ...pointFields,
  ...Movements,
  mrr: WholeNumber.meta({ description: 'The MRR at the end of the point: that before it and its movements.' }),
  arr: WholeNumber.meta({ description: 'Twelve times the MRR.' }),
  customers: counted.meta({ description: 'Customers with MRR at the end of the point. Null in a group.' }),
});

/** Recurring revenue over time. */
export const MrrReport = z
  .object({
    ...rangeFields,
    groupBy: z.enum(mrrGroupings).nullable(),
    groups: z.array(
      z.object({
        ...groupFields,
        opening: WholeNumber.meta({ description: 'The MRR at the start of the range.' }),
        points: z.array(MrrPoint),
      }),
    ),
  })
  .meta({
    id: 'MrrReport',
    description:
      'Monthly recurring revenue in the smallest unit of each currency. Contraction and churn are negative, so that ' +
      'the movements add up. In a group, a change between two prices is an expansion or a contraction of both.',
  });
export type MrrReport = z.infer<typeof MrrReport>;

const rate = z.string().nullable().meta({
  description: 'A decimal text with six decimals. Null where nothing was there to lose.',
  example: '0.021000',
});

/** Customers and revenue lost over time. */
export const ChurnReport = z
  .object({
    ...rangeFields,
    groupBy: z.enum(mrrGroupings).nullable(),
    groups: z.array(
      z.object({
        ...groupFields,
        points: z.array(
          z.object({
            ...pointFields,
            openingCustomers: counted,
            churnedCustomers: counted,
            customerChurnRate: rate,
            openingMrr: WholeNumber,
            churn: WholeNumber,
            contraction: WholeNumber,
            revenueChurnRate: rate.meta({ description: 'Churn and contraction by the MRR at the start of the point.' }),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'ChurnReport', description: 'Customers and MRR lost over time. Churn and contraction are negative.' });
export type ChurnReport = z.infer<typeof ChurnReport>;

/**
 * Movements of one type, summed up. `point` 0 is before the range, and 1 is its first point. Or their sums since the
 * beginning, up to a boundary from 0.
 */
export interface MovementSums {
  readonly currency: string;
  readonly key: string | null;
  readonly name: string | null;
  readonly type: MovementType;
  readonly point: number;
  readonly isBalance: boolean;
  /** Fine. */
  readonly amount: bigint;
  readonly customers: number;
}

interface Sums {
  amount: bigint;
  customers: number;
}

/** The sums of a group by type, at each point. */
interface Flow {
  readonly currency: string;
  readonly key: string | null;
  readonly name: string | null;
  readonly opening: Sums;
  readonly points: readonly TypeSums[];
}

type TypeSums = Readonly<Record<MovementType, Sums>>;

const nothing = (): Record<MovementType, Sums> => ({
  new: { amount: 0n, customers: 0 },
  reactivation: { amount: 0n, customers: 0 },
  expansion: { amount: 0n, customers: 0 },
  contraction: { amount: 0n, customers: 0 },
  churn: { amount: 0n, customers: 0 },
});

function add(one: Sums, other: Sums): Sums {
  return { amount: one.amount + other.amount, customers: one.customers + other.customers };
}

function sumOf(sums: TypeSums): Sums {
  return Object.values(sums).reduce(add);
}

/**
 * The flows of each currency and group. Boundaries up to `knownTo` have balances, so the points up to there are their
 * differences; the later ones are sums of movements.
 */
export function flowsOf(rows: readonly MovementSums[], range: ReportRange, knownTo: number): Flow[] {
  const groups = Map.groupBy(rows, ({ currency, key }) => `${currency} ${key}`);
  return [...groups.values()].map((ofGroup): Flow => {
    const balances = pointsOf(range, nothing).concat(nothing());
    const moved = pointsOf(range, nothing).concat(nothing());
    for (const { point, type, isBalance, amount, customers } of ofGroup) {
      const sums = (isBalance ? balances : moved)[point]?.[type];
      if (sums === undefined) continue;
      sums.amount += amount;
      sums.customers += customers;
    }
    const before = [balances[0] ?? nothing(), moved[0] ?? nothing()].map(sumOf);
    const points = moved.slice(1).map((sums, index) => {
      if (index >= knownTo) return sums;
      const difference = nothing();
      for (const type of movementTypes) {
        const [from, to] = [balances[index]?.[type], balances[index + 1]?.[type]];
        if (from === undefined || to === undefined) continue;
        difference[type] = { amount: to.amount - from.amount, customers: to.customers - from.customers };
      }
      return difference;
    });
    const { currency, key, name } = ofGroup[0] ?? { currency: '', key: null, name: null };
    return { currency, key, name, opening: before.reduce(add), points };
  });
}

/** The flows of the same group as one. */
function addedUp(flows: readonly Flow[]): Flow[] {
  const groups = Map.groupBy(flows, ({ currency, key }) => `${currency} ${key}`);
  return [...groups.values()].flatMap((ofGroup) => {
    const [first] = ofGroup;
    if (first === undefined) return [];
    const points = first.points.map((_, index) => {
      const total = nothing();
      for (const { points: sums } of ofGroup)
        for (const type of movementTypes) total[type] = add(total[type], sums[index]?.[type] ?? nothing()[type]);
      return total;
    });
    return { ...first, opening: ofGroup.map(({ opening }) => opening).reduce(add), points };
  });
}

const whole = 10n ** BigInt(fineDigits);

/** The flows of a range in one cell. */
export interface MrrMovements {
  readonly range: ReportRange;
  readonly groupBy: MrrGrouping | null;
  readonly flows: readonly Flow[];
  /** The currency of the environment. */
  readonly currency: string;
}

/** The movements of all cells, whose customers are different ones. Their range is the same. */
function movementsOfAll(parts: Parts<MrrMovements>): MrrMovements {
  const [first] = parts;
  return { ...first, flows: addedUp(parts.flatMap(({ flows }) => flows)) };
}

/** The flows in order: the largest first, and those beyond the maximum as one. Without groups there is always one. */
function orderedFlows({ range, groupBy, flows, currency }: MrrMovements): Flow[] {
  if (groupBy === null && flows.length === 0)
    return [
      { currency, key: null, name: null, opening: { amount: 0n, customers: 0 }, points: pointsOf(range, nothing) },
    ];
  const closing = (flow: Flow) => flow.points.map(sumOf).reduce(add, flow.opening).amount;
  const sorted = flows
    .map((flow) => ({ flow, last: closing(flow), group: `${flow.currency} ${flow.key}` }))
    .sort((a, b) => (a.last === b.last ? (a.group < b.group ? -1 : 1) : a.last < b.last ? 1 : -1))
    .map(({ flow }) => flow);
  const rest = sorted.slice(maxGroups).map((flow) => ({ ...flow, key: null, name: null }));
  return [...sorted.slice(0, maxGroups), ...addedUp(rest)];
}

/**
 * Rounds sums so that they add up: each is the difference of two rounded totals. So the MRR of a point is that before it
 * and its movements, to the cent, and a movement that is nothing stays nothing.
 */
function roundedInTurn(start: bigint, sums: readonly bigint[]): { parts: bigint[]; end: bigint } {
  let exact = start;
  const parts = sums.map((sum) => {
    const before = divHalfAway(exact, whole);
    exact += sum;
    return divHalfAway(exact, whole) - before;
  });
  return { parts, end: exact };
}

function movementsOf(start: bigint, sums: TypeSums) {
  const { parts, end } = roundedInTurn(
    start,
    movementTypes.map((type) => sums[type].amount),
  );
  const [created = 0n, reactivation = 0n, expansion = 0n, contraction = 0n, churn = 0n] = parts;
  return { moved: { new: created, reactivation, expansion, contraction, churn }, end };
}

/** The report on the MRR. */
export function toMrrReport(parts: Parts<MrrMovements>): MrrReport {
  const movements = movementsOfAll(parts);
  const { range, groupBy } = movements;
  const groups = orderedFlows(movements).map(({ opening, points, ...group }) => {
    let [amount, customers] = [opening.amount, opening.customers];
    return {
      ...group,
      opening: divHalfAway(opening.amount, whole),
      points: pointsOf(range, (period, index) => {
        const sums = points[index] ?? nothing();
        const { moved, end } = movementsOf(amount, sums);
        amount = end;
        customers += sumOf(sums).customers;
        return {
          ...period,
          ...moved,
          mrr: divHalfAway(end, whole),
          arr: divHalfAway(end * 12n, whole),
          customers: groupBy === null ? customers : null,
        };
      }),
    };
  });
  return { ...rangeOf(range), groupBy, groups };
}

/** A ratio as a decimal text with six decimals; null of nothing. */
export function ratioText(part: bigint, of: bigint): string | null {
  return of <= 0n ? null : decimalText(divHalfAway(part * 1_000_000n, of), 6);
}

/** The MRR at the start of each point, without groups; fine, and in minor units. */
export function openingsOf(parts: Parts<MrrMovements>): { exact: bigint; rounded: bigint }[] {
  const { range, currency, flows } = movementsOfAll(parts);
  const flow = flows.find((each) => each.currency === currency);
  let exact = flow?.opening.amount ?? 0n;
  return pointsOf(range, (_, index) => {
    const opening = exact;
    exact += flow?.points[index] === undefined ? 0n : sumOf(flow.points[index]).amount;
    return { exact: opening, rounded: inMinorUnits(opening) };
  });
}

/** A fine amount in minor units, rounded half away from zero. */
export function inMinorUnits(amount: bigint): bigint {
  return divHalfAway(amount, whole);
}

/** The report on churn. */
export function toChurnReport(parts: Parts<MrrMovements>): ChurnReport {
  const movements = movementsOfAll(parts);
  const { range, groupBy } = movements;
  const groups = orderedFlows(movements).map(({ opening, points, ...group }) => {
    let [amount, customers] = [opening.amount, opening.customers];
    return {
      ...group,
      points: pointsOf(range, (period, index) => {
        const sums = points[index] ?? nothing();
        const [openingMrr, openingCustomers] = [amount, customers];
        const { moved, end } = movementsOf(amount, sums);
        amount = end;
        customers += sumOf(sums).customers;
        const lost = -sums.churn.customers;
        const isWhole = groupBy === null;
        return {
          ...period,
          openingCustomers: isWhole ? openingCustomers : null,
          churnedCustomers: isWhole ? lost : null,
          customerChurnRate: isWhole ? ratioText(BigInt(lost), BigInt(openingCustomers)) : null,
          openingMrr: divHalfAway(openingMrr, whole),
          churn: moved.churn,
          contraction: moved.contraction,
          revenueChurnRate: ratioText(-sums.churn.amount - sums.contraction.amount, openingMrr),
        };
      }),
    };
  });
  return { ...rangeOf(range), groupBy, groups };
}

function rangeOf({ from, to, interval }: ReportRange) {
  return { from, to, interval };
}
