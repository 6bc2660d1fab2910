import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { isCreditPool, ledgerAmount, smallestUnitsOf } from '../pricing/credit-pool.ts';
import { listCreditPools } from '../pricing/store-credit-pools.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { isMeasured, noCreditsOfMeasured, type UsageMeter } from '../pricing/usage-meter.ts';
import { grantCredits } from './actions-ledger.ts';
import { tellingLowAccounts } from './actions-low-balance.ts';
import { listCreditHolders } from './actions-transfer.ts';
import { type AccountGrant, type CreditGrant, defaultPriority } from './ledger.ts';
import { rolledByPurchase } from './rollover.ts';
import { lockBalances, openCustomerAccount } from './store-accounts.ts';
import { listBoughtRests } from './store-bought.ts';
import * as store from './store-credits.ts';
import { takeBackByHand, writePendingApplication } from './store-credits.ts';
import {
  decideTakeBack,
  type NewUsageCredit,
  requireGrantable,
  toUsageCredit,
  type UsageCredit,
  type UsageCreditRow,
} from './usage-credit.ts';

async function creditOf(work: Work, id: string): Promise<UsageCreditRow> {
  const row = await store.findUsageCredit(work, id);
  if (row === null) throw new Problem('usageCreditNotFound', { id });
  return row;
}

/** Refuses with `usageCreditNotFound`. */
export async function getUsageCredit(work: Work, id: string): Promise<UsageCredit> {
  return toUsageCredit(await creditOf(work, id), work);
}

export async function listUsageCredits(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfUsageCredits(work, request);
  return page(
    request,
    rows.map((row) => toUsageCredit(row, work)),
    total,
  );
}

const source = 'manual_adjustment';

/** The account that a manual grant is for: that of a subscription, or the one on which credits of a customer wait. */
interface GrantTarget {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly subscriptionId: string | null;
}

/**
 * Grants credits manually to a subscription without overdue work. A transactionId makes the grant idempotent on its
 * meter: a repeat returns the first grant, whatever else it says. Refuses unknown and ended subscriptions, archived
 * customers, meters of another pricing model, an expiry that is not in the future, and a transactionId of another
 * subscription.
 */
export async function grantByHand(work: Work, id: string, requested: NewUsageCredit): Promise<UsageCredit> {
  const subscription = requireGrantable(await store.lockGrantedSubscription(work, id), id);
  const granted = await findOrGrant(work, { ...subscription, subscriptionId: subscription.id }, requested);
  if (granted.subscriptionId !== subscription.id) throw transactionIdTaken(requested);
  return toUsageCredit(granted, work);
}

/**
 * The same for a locked customer, whose subscriptions have no overdue work. The subscription that holds its credits gets them.
 * Without one they wait on the customer, and `carryCredits` transfers them to the next. Credits of a pool stay on the
 * customer, and usage of any subscription draws from them. A repeat returns the first grant
 * wherever it is.
 */
export async function grantToCustomer(
  work: Work,
  { id: customerId, pricingModelId }: Pick<CustomerRow, 'id' | 'pricingModelId'>,
  requested: NewUsageCredit,
): Promise<UsageCredit> {
  const holder = (await listCreditHolders(work, [customerId])).get(customerId);
  const isOfPool = (requested.creditPoolId ?? requested.creditPoolSlug ?? null) !== null;
  const target = { customerId, pricingModelId, subscriptionId: isOfPool ? null : (holder?.id ?? null) };
  const granted = await findOrGrant(work, target, requested);
  if (granted.customerId !== customerId) throw transactionIdTaken(requested);
  return toUsageCredit(granted, work);
}

function transactionIdTaken({ transactionId }: NewUsageCredit): Problem {
  return new Problem('transactionIdTaken', { id: transactionId ?? '' });
}

/** The grant with the requested transactionId, or else a new one. */
async function findOrGrant(work: Work, target: GrantTarget, requested: NewUsageCredit): Promise<UsageCreditRow> {
  const { transactionId } = requested;
  const usageMeterId = await subjectOfGrant(work, target, requested);
  const id = newId('usageCredit', target.customerId);
  const sourceId = typeof transactionId === 'string' ? `${usageMeterId}:${transactionId}` : id;
  const earlier = sourceId === id ? null : await store.findGrant(work, source, sourceId);
  if (earlier !== null) return earlier;
  await grant(work, { ...target, id, usageMeterId, sourceId }, requested);
  // A concurrent request with the same transactionId may have been faster.
  const granted = await store.findGrant(work, source, sourceId);
  assert(granted !== null, 'the credit is granted');
  return granted;
}

async function grant(
  work: Work,
  { subscriptionId, customerId, ...key }: GrantTarget & Record<'id' | 'usageMeterId' | 'sourceId', string>,
  { amount, expiresAt, priority, reason }: NewUsageCredit,
): Promise<void> {
  if (typeof expiresAt === 'number' && expiresAt <= work.now)
    throw invalid(['usageCredit', 'expiresAt'], `must be later than ${work.now}`);
  const given = {
    ...key,
    featureId: null,
    billingPeriodId: null,
    amount: isCreditPool(key.usageMeterId) ? smallestUnitsOf(amount) : BigInt(amount),
    expiresAt: expiresAt ?? null,
    source,
    ...(typeof priority === 'number' ? { priority } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
  } as const;
  if (subscriptionId !== null) return grantCredits(work, [{ ...given, subscriptionId }]);
  await grantToAccount(work, { ...given, customerId });
}

/** A grant to an account of a customer itself. */
type CustomerGrant = Omit<CreditGrant, 'subscriptionId'> & { readonly customerId: string };

/** A bought grant, and the most that rolls over to it from earlier ones, with its new end. Null: nothing does. */
type BoughtGrant = CustomerGrant & {
  readonly rollover: { readonly maximum: bigint; readonly expiresAt: Instant } | null;
};

/**
 * Grants bought credits to credit pools of customers. The rest of earlier purchases of the feature rolls over, up to its
 * maximum. Idempotent.
 */
export async function grantToPools(work: Work, grants: readonly BoughtGrant[]): Promise<void> {
  const inOrder = grants.toSorted((one, other) => (accountOrder(one) < accountOrder(other) ? -1 : 1));
  for (const { rollover, ...grant } of inOrder) {
    const ledgerAccountId = await grantToAccount(work, grant);
    if (rollover !== null) await rollOver(work, { ...grant, ledgerAccountId }, rollover);
  }
}

async function rollOver(
  work: Work,
  bought: Omit<AccountGrant, 'subscriptionId'>,
  { maximum, expiresAt }: NonNullable<BoughtGrant['rollover']>,
): Promise<void> {
  const credits = await listBoughtRests(work, bought, expiresAt);
  const rolled = rolledByPurchase(credits, maximum);
  const { pricingModelId } = bought;
  await store.moveOffCredits(
    work,
    rolled.map((each) => ({ ...each, pricingModelId })),
  );
  const priorityOf = new Map(credits.map(({ id, priority }) => [id, priority]));
  await store.insertCredits(
    work,
    rolled.map(({ id: transferredFrom, amount }) => {
      const id = newId('usageCredit', transferredFrom);
      const priority = priorityOf.get(transferredFrom) ?? defaultPriority;
      return { ...bought, id, sourceId: id, subscriptionId: null, amount, expiresAt, priority, transferredFrom };
    }),
  );
}

function accountOrder({ usageMeterId, customerId }: CustomerGrant): string {
  return `${usageMeterId} ${customerId}`;
}

async function grantToAccount(work: Work, { customerId, ...grant }: CustomerGrant): Promise<string> {
  const ledgerAccountId = await openCustomerAccount(work, { ...grant, customerId });
  await store.insertCredits(work, [{ ...grant, subscriptionId: null, ledgerAccountId }]);
  return ledgerAccountId;
}

/** The id of the credit pool or the usage meter that a grant names. */
async function subjectOfGrant(work: Work, target: GrantTarget, requested: NewUsageCredit): Promise<string> {
  const { creditPoolId, creditPoolSlug } = requested;
  const named = creditPoolId ?? creditPoolSlug;
  if (typeof named !== 'string') return (await meterOf(work, target, requested)).id;
  const pools = await listCreditPools(work, [target.pricingModelId]);
  const found = pools.find(({ id, slug }) => (typeof creditPoolId === 'string' ? id : slug) === named);
  if (found === undefined) throw new Problem('creditPoolNotFound', { id: named });
  return found.id;
}

async function meterOf(
  work: Work,
  { pricingModelId }: GrantTarget,
  { usageMeterId, usageMeterSlug }: NewUsageCredit,
): Promise<UsageMeter> {
  const meters = await listUsageMeters(work, [pricingModelId]);
  const found = meters.find(({ id, slug }) => (usageMeterId ? id === usageMeterId : slug === usageMeterSlug));
  if (found === undefined) throw new Problem('usageMeterNotFound', { id: usageMeterId ?? usageMeterSlug ?? '' });
  const named = usageMeterId ? 'usageMeterId' : 'usageMeterSlug';
  if (isMeasured(found)) throw invalid(['usageCredit', named], noCreditsOfMeasured);
  return found;
}

/**
 * Takes back the remainder of a credit, or `amount` of it, of a subscription without overdue work or of a locked customer.
 * Refuses what `decideTakeBack` refuses. Publishes balances that fell below their threshold.
 */
export async function takeBack(work: Work, id: string, asked: bigint | string | null): Promise<UsageCredit> {
  const { ledgerAccountId, subscriptionId, usageMeterId, pricingModelId } = await creditOf(work, id);
  const amount = asked === null ? null : ledgerAmount(usageMeterId, asked, ['amount']);
  if (subscriptionId !== null) await store.lockGrantedSubscription(work, subscriptionId);
  const account = (await lockBalances(work, [ledgerAccountId])).get(ledgerAccountId);
  assert(account !== undefined, 'a credit is on an account');
  const { balance, held } = account;
  const remaining = remainingOf(await creditOf(work, id), work.now);
  const takenBack = decideTakeBack({ id, usageMeterId, remaining, balance, held }, amount);
  await tellingLowAccounts(work, [ledgerAccountId], async () => {
    await writePendingApplication(work, [ledgerAccountId]);
    await takeBackByHand(work, { id, pricingModelId, amount: takenBack });
  });
  return getUsageCredit(work, id);
}

/** The units of a credit that can still be used. */
function remainingOf({ issued, applied, expired, takenBack, expiresAt }: UsageCreditRow, now: Instant): bigint {
  return expiresAt !== null && expiresAt <= now ? 0n : issued - applied - expired - takenBack;
}
