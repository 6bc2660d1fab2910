import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { isCreditPool, ledgerUnits } from '../pricing/credit-pool.ts';
import { listCreditPools } from '../pricing/store-credit-pools.ts';
import type { Included } from '../pricing/store-features.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { isMeasured } from '../pricing/usage-meter.ts';
import { getAutoTopUp } from '../purchases/actions-auto-top-ups.ts';
import { getSpendControls } from '../spend-controls/actions.ts';
import { readPoolUseOfDays, readUsageOfDays } from '../usage/actions.ts';
import { readCreditsOfCustomer } from '../usage/store-granted.ts';
import type {
  ChartDays,
  NamedSubject,
  PortalControls,
  PortalCredits,
  PortalSubscription,
  PortalTopUp,
  PortalUsage,
} from './portal-view.ts';

/** The meters that credits can be on, and the credit pools. */
export async function listSubjects(work: Work, { pricingModelId }: CustomerRow): Promise<NamedSubject[]> {
  const meters = (await listUsageMeters(work, [pricingModelId])).filter((meter) => !isMeasured(meter));
  return [...meters.map((meter) => ({ ...meter, unit: null })), ...(await listCreditPools(work, [pricingModelId]))];
}

interface CreditsAsked {
  readonly subscriptions: readonly PortalSubscription[];
  readonly subjects: readonly NamedSubject[];
  readonly days: ChartDays;
}

/** The credits of a customer on these meters and pools, and their use on the last days. */
export async function readCredits(
  work: Work,
  customer: CustomerRow,
  { subscriptions, subjects, days }: CreditsAsked,
): Promise<{ readonly credits: PortalCredits[]; readonly usage: PortalUsage[] }> {
  const found = await readCreditsOfCustomer(work, customer.id);
  const credits = subjects.flatMap((subject) => {
    const perPeriod = subscriptions.reduce((sum, each) => sum + givenBy(each, subject.id), 0n);
    const each = found.get(subject.id);
    if (each === undefined) return [];
    const { granted, paid, begun, held, owed, expiresAt, expiring } = each;
    if (perPeriod === 0n && granted === 0n && paid === 0n && held === 0n) return [];
    const next = expiresAt === null ? null : { amount: expiring, at: expiresAt };
    const whole = begun > perPeriod ? begun : perPeriod;
    return { ...subject, granted, paid, held, whole, available: granted + paid - held - owed, expiring: next };
  });
  return { credits, usage: await readUse(work, customer, subjects, days) };
}

/** The credits that a plan gives for a period, in units of the ledger. */
function givenBy({ included, quantity }: Pick<PortalSubscription, 'included' | 'quantity'>, id: string): bigint {
  const isOfPlan = ({ usageMeterId }: Included) => usageMeterId === id;
  const each = included.filter(isOfPlan).reduce((sum, { amount }) => sum + (amount ?? 0n), 0n);
  return ledgerUnits(id, each) * BigInt(quantity);
}

async function readUse(
  work: Work,
  { id }: CustomerRow,
  subjects: readonly NamedSubject[],
  count: ChartDays,
): Promise<PortalUsage[]> {
  const meters = (await readUsageOfDays(work, id, count)).map(({ meterName: name, days }) => {
    return { name, unit: null, days: days.map((day) => ({ ...day, parts: [] })) };
  });
  const byId = new Map(subjects.map((subject) => [subject.id, subject]));
  const draws = subjects.some((subject) => isCreditPool(subject.id)) ? await readPoolUseOfDays(work, id, count) : [];
  const pools = (draws ?? []).flatMap(({ creditPoolId, days }) => {
    const pool = byId.get(creditPoolId);
    if (pool === undefined) return [];
    const named = days.map(({ parts, ...day }) => {
      return {
        ...day,
        parts: parts.map(({ usageMeterId, units }) => ({ name: byId.get(usageMeterId)?.name ?? '', units })),
      };
    });
    return { name: pool.name, unit: pool.unit, days: named };
  });
  return [...pools, ...meters];
}

/** The limits and the automatic top-up of a customer. It may buy of itself what it may buy by hand. */
export async function readControls(
  work: Work,
  { externalId, pricingModelId }: CustomerRow,
  { topUps, subjects }: { topUps: readonly PortalTopUp[]; subjects: readonly NamedSubject[] },
): Promise<PortalControls> {
  return {
    limits: (await getSpendControls(work, externalId, pricingModelId)).limits,
    subjects,
    topUp: await getAutoTopUp(work, { externalId, pricingModelId }),
    automatic: topUps.flatMap(({ priceId, slug, name, unitPrice, included }) => {
      const given = new Set(included.flatMap(({ usageMeterId, amount }) => (amount !== null && usageMeterId) || []));
      const [usageMeterId, ...others] = given;
      const subject = subjects.find(({ id }) => id === usageMeterId);
      if (slug === null || subject === undefined || others.length > 0) return [];
      return { priceId, slug, name, unitPrice, subject };
    }),
  };
}
