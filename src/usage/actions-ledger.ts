import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { withheldOf } from '../rating/credits.ts';
import type { MeasuredCharge, MeasuredEnd, MeasuredSoFar } from '../rating/measured-usage.ts';
import { measuredPeriod } from '../subscriptions/interim.ts';
import {
  accountKeyText,
  type BilledUsage,
  type ChargedPeriod,
  type CreditExpiry,
  type CreditGrant,
  mergeSettledUsage,
  type Overage,
  type SettledUsage,
  type UsageToBill,
} from './ledger.ts';
import { rolledOver } from './rollover.ts';
import * as store from './store-accounts.ts';
import {
  countTakenBack,
  endCredits,
  endPoolCreditsOfPlan,
  expireNow,
  insertCredits,
  instantOfGrant,
  listCreditsOfPeriod,
  listOwingCredits,
  listUnbookedEnds,
  moveCreditsEnd,
  takeBackCredits,
  writePendingApplication,
} from './store-credits.ts';
import { endHoldsOf } from './store-holds.ts';
import {
  closeMeasures,
  listMeasured,
  listMeasuredAccounts,
  listMeasuredCharges,
  type MeasuredAccount,
} from './store-measured.ts';
import {
  type AccountSettlement,
  claimLateOverages,
  claimOverages,
  listOverages,
  settleAccounts,
  uninvoice,
  unsettleAccounts,
  writeCharges,
} from './store-overages.ts';

/**
 * Grants credits: each can be used from now until its `expiresAt`. Usage that was booked before stays as it is. A
 * grant with the (source, sourceId) of an earlier one is that earlier one, and an amount of 0 is nothing to grant.
 * Credits of a plan first pay back what was used ahead of a pause: that part is withheld.
 */
export async function grantCredits(work: Work, grants: readonly CreditGrant[]): Promise<void> {
  assert(
    grants.every((grant) => grant.amount >= 0n),
    'credits are not negative',
  );
  const positive = grants.filter((grant) => grant.amount > 0n);
  if (positive.length === 0) return;
  const accountIds = await store.openAccounts(work, positive);
  const accountGrants = positive.map((grant) => {
    return {
      ...grant,
      id: grant.id ?? newId('usageCredit', idOf(accountIds, grant)),
      ledgerAccountId: idOf(accountIds, grant),
    };
  });
  // A new credit may come before the one that usage applies to now.
  await writePendingApplication(work, [...accountIds.values()]);
  await insertCredits(work, accountGrants);
  // The ids are new, so an earlier grant with the same source is not among them and pays back nothing twice.
  await withhold(
    work,
    new Map(
      accountGrants.flatMap((grant) => (grant.expiresAt === null ? [] : [[grant.id, instantOfGrant(work, grant)]])),
    ),
  );
}

/** Takes back what is owed from new credits, each at the instant of its grant. */
async function withhold(work: Work, grantedAt: ReadonlyMap<string, Instant>): Promise<void> {
  if (grantedAt.size === 0) return;
  const owing = Map.groupBy(
    await listOwingCredits(work, [...grantedAt.keys()]),
    ({ ledgerAccountId, subscriptionId }) => `${ledgerAccountId} ${subscriptionId}`,
  );
  const withheld = [...owing.values()].flatMap((credits) => {
    const amounts = withheldOf(
      credits.map(({ issued }) => issued),
      credits[0]?.owed ?? 0n,
    );
    return credits.flatMap(({ id, pricingModelId }, index) => {
      const amount = amounts[index] ?? 0n;
      return amount > 0n ? [{ id, pricingModelId, amount }] : [];
    });
  });
  // A booking is of one instant.
  for (const [now, credits] of Map.groupBy(withheld, ({ id }) => grantedAt.get(id) ?? work.now))
    await takeBackCredits({ ...work, now }, credits);
  await countTakenBack(work, 'withheld', withheld);
}

/**
 * Books the end of each subscription's credits whose `expiresAt` is at or before its `at`. Their unused rest is gone, but
 * for the part that rolls over into the next periods (`rolledOver`). Returns how many credits ended with a rest. Four
 * statements at most. Worked example L2.
 */
export async function expireCredits(work: Work, expiries: readonly CreditExpiry[]): Promise<number> {
  const accountIds = await lockAccountsOf(work, expiries);
  if (accountIds.length === 0) return 0;
  await writePendingApplication(work, accountIds);
  const ended = await listUnbookedEnds(work, expiries);
  await endCredits(work, ended);
  await insertCredits(work, rolledOver(ended, expiries));
  return ended.length;
}

/** Credits that a plan granted to a subscription for a billing period. */
interface PlanCredits {
  readonly subscriptionId: string;
  readonly billingPeriodId: string;
}

/** Takes back unused credits of the plan, oldest first: at most `units` of each usage meter. */
export async function takeBackPlanCredits(
  work: Work,
  plan: PlanCredits,
  units: ReadonlyMap<string, bigint>,
): Promise<void> {
  const accountIds = await lockAccountsOf(work, [plan]);
  if (accountIds.length === 0) return;
  await writePendingApplication(work, accountIds);
  const left = new Map(units);
  const credits = await listCreditsOfPeriod(work, plan.billingPeriodId);
  const removed = credits.flatMap(({ id, pricingModelId, usageMeterId, rest }) => {
    const amount = smallerOf(rest, left.get(usageMeterId) ?? 0n);
    left.set(usageMeterId, (left.get(usageMeterId) ?? 0n) - amount);
    return amount > 0n ? [{ id, pricingModelId, amount }] : [];
  });
  await takeBackCredits(work, removed);
}

/** Moves the end of a plan's credits with the end of their period. Called before the period moves. Grants nothing. */
export async function movePlanCreditsEnd(work: Work, plan: PlanCredits, endAt: Instant): Promise<void> {
  const accountIds = await lockAccountsOf(work, [plan]);
  if (accountIds.length > 0) await moveCreditsEnd(work, accountIds, plan.billingPeriodId, endAt);
}

/** Ends the credits of a plan that is left before its period ends, as at that end: they may roll over. */
export async function endPlanCredits(
  work: Work,
  { subscriptionId, billingPeriodId }: PlanCredits,
  goesOn: NonNullable<CreditExpiry['goesOn']>,
): Promise<void> {
  const credits = await listCreditsOfPeriod(work, billingPeriodId);
  await expireNow(
    work,
    credits.map(({ id }) => id),
  );
  await expireCredits(work, [{ subscriptionId, at: work.now, goesOn }]);
}

/**
 * Ends the holds of a subscription that ends, and expires what its plan has granted in credit pools. On its own accounts nothing
 * uses credits any more.
 */
export async function endUseOf(work: Work, subscriptionId: string, at: Instant): Promise<void> {
  await lockAccountsOf(work, [{ subscriptionId }]);
  await endHoldsOf(work, subscriptionId, at);
  await endPoolCreditsOfPlan(work, subscriptionId);
}

async function lockAccountsOf(work: Work, keys: readonly { readonly subscriptionId: string }[]): Promise<string[]> {
  if (keys.length === 0) return [];
  return store.lockAccountsOfSubscriptions(
    work,
    keys.map((key) => key.subscriptionId),
  );
}

/**
 * Takes all usage of the subscriptions that no credit covered and no invoice billed, to be billed now: units by account
 * and price. It is marked as invoiced in the same commit, so nothing is billed twice.
 */
export async function claimOverage(work: Work, bills: readonly UsageToBill[]): Promise<Overage[]> {
  const accountIds = await lockAccountsOf(work, bills);
  return accountIds.length === 0 ? [] : claimOverages(work, accountIds, bills);
}

/**
 * Takes the usage that belongs to the period before a draft: events whose date lies before the present billing period,
 * and that arrived within it. At most what no credit covered and no invoice billed.
 */
export async function claimLateOverage(work: Work, bills: readonly UsageToBill[]): Promise<Overage[]> {
  const accountIds = await lockAccountsOf(work, bills);
  return accountIds.length === 0 ? [] : claimLateOverages(work, accountIds, bills);
}

const notMeasured = { per: null, waived: 0n, reopened: false } as const;
const notCounted = { released: 0n, events: 0n, releasedEvents: 0n, ownAmount: 0n, releasedOwnAmount: 0n } as const;

/** How much of a usage period of a measured meter is billed. */
interface MeasuredPeriodCharge extends MeasuredCharge {
  readonly ledgerAccountId: string;
  readonly priceId: string;
}

/** Saves how much of usage periods is billed, after `claimOverage` took their usage. */
export async function saveCharges(
  work: Work,
  counted: readonly ChargedPeriod[],
  measured: readonly MeasuredPeriodCharge[],
): Promise<void> {
  await writeCharges(work, [
    ...counted.map((charge) => ({ ...charge, ...notMeasured })),
    ...measured.map((charge) => ({ ...charge, ...notCounted })),
  ]);
}

/** A measured meter of a subscription whose usage is billed, with the running totals of its open usage period. */
interface MeasuredToBill extends MeasuredAccount {
  readonly priceId: string;
  readonly soFar: MeasuredSoFar;
  /** The end of the usage period so far, and the interval that its price is for. */
  readonly until: MeasuredEnd;
}

/**
 * The measured meters of the subscriptions that the bills take, and what is billed of their usage periods. To be billed,
 * they are read after `claimOverage` has locked their accounts.
 */
export async function readMeasured(work: Work, bills: readonly UsageToBill[]) {
  const known = new Map(bills.map((bill) => [bill.subscriptionId, bill]));
  const accounts = (await listMeasured(work, bills)).flatMap((account): MeasuredToBill[] => {
    const { priceId, soFar, own, schedule, current } = account;
    const bill = known.get(account.subscriptionId);
    if (bill === undefined || priceId === null || soFar === null || !takesMeasured(bill, own)) return [];
    const end = Math.max(soFar.at, Math.min(current.endAt, bill.until ?? work.now, work.now));
    const { whole } = measuredPeriod(bill.schedule ?? schedule, own, current);
    return [{ ...account, priceId, soFar, until: { end, whole: whole ?? { start: soFar.periodStart, end } } }];
  });
  return { accounts, charges: await listMeasuredCharges(work, accounts) };
}

function takesMeasured({ takes }: UsageToBill, own: Interval | null): boolean {
  if (takes === undefined) return true;
  if (own === null) return takes.following;
  return takes.intervals.some(({ unit, count }) => unit === own.unit && count === own.count);
}

/** Ends the usage periods of measured meters that a bill took to their ends. The next ones begin there. */
export async function endMeasuredPeriods(work: Work, accounts: readonly MeasuredToBill[]): Promise<void> {
  await closeMeasures(
    work,
    accounts.map(({ ledgerAccountId, until }) => ({ ledgerAccountId, at: until.end })),
  );
}

/**
 * Ends all usage periods of the measured meters of subscriptions whose next billing period begins outside of their
 * rhythm: after a pause, or with another interval or anchor.
 */
export async function endMeasuredPeriodsAt(
  work: Work,
  begun: readonly { readonly subscriptionId: string; readonly startAt: Instant }[],
): Promise<void> {
  if (begun.length === 0) return;
  const starts = new Map(begun.map(({ subscriptionId, startAt }) => [subscriptionId, startAt]));
  const accounts = await listMeasuredAccounts(work, [...starts.keys()]);
  await closeMeasures(
    work,
    accounts.map(({ ledgerAccountId, subscriptionId }) => ({ ledgerAccountId, at: starts.get(subscriptionId) ?? 0 })),
  );
}

/** The usage that `claimOverage` would take now. Nothing is taken. */
export async function readOverage(work: Work, bills: readonly UsageToBill[]): Promise<Overage[]> {
  return bills.length === 0 ? [] : listOverages(work, bills);
}

/**
 * Books that invoices were paid, so their units of usage are no longer owed. Telling it again changes nothing. The units
 * are those that `claimOverage` answered for the invoice. As many statements for a thousand invoices as for one.
 */
export async function settleUsage(work: Work, lines: readonly SettledUsage[]): Promise<void> {
  await settleAccounts(work, await lockSettled(work, lines));
}

/**
 * Books that invoices which were paid once are void, because the money was taken back: their units of usage are owed
 * again. An invoice that was never settled books nothing, and a second call changes nothing. The units are those that
 * `settleUsage` settled.
 */
export async function undoSettlements(work: Work, lines: readonly SettledUsage[]): Promise<void> {
  await unsettleAccounts(work, await lockSettled(work, lines));
}

async function lockSettled(work: Work, lines: readonly SettledUsage[]): Promise<AccountSettlement[]> {
  const settled = mergeSettledUsage(lines).filter((line) => line.units > 0n);
  if (settled.length === 0) return [];
  const accounts = await store.lockAccounts(
    work,
    settled.map((line) => line.ledgerAccountId),
  );
  return settled.map((line) => {
    const account = accounts.get(line.ledgerAccountId);
    assert(account !== undefined, `account ${line.ledgerAccountId} exists`);
    const { pricingModelId, subscriptionId } = account;
    assert(subscriptionId !== null, 'usage is of a subscription');
    return { ...line, pricingModelId, at: instantOf(work, subscriptionId) };
  });
}

/**
 * Gives units back to be billed again, because nobody is to pay their invoice any more: the next `claimOverage` takes
 * them. Called once for each invoice.
 */
export async function releaseOverage(work: Work, billed: readonly BilledUsage[]): Promise<void> {
  if (billed.length === 0) return;
  await store.lockAccounts(
    work,
    billed.map((line) => line.ledgerAccountId),
  );
  await uninvoice(work, billed);
}

function idOf(accountIds: ReadonlyMap<string, string>, key: { subscriptionId: string; usageMeterId: string }): string {
  const id = accountIds.get(accountKeyText(key));
  assert(id !== undefined, 'the account was opened');
  return id;
}
