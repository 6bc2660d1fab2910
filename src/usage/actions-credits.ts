import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findUsageMeter, listUsageMeters } from '../pricing/store-usage-meters.ts';
import { isMeasured, noCreditsOfMeasured, type UsageMeter } from '../pricing/usage-meter.ts';
import { grantCredits } from './actions-ledger.ts';
import { publishLowBalances } from './actions-low-balance.ts';
import { hasFallen } from './ledger.ts';
import { lockBalances } from './store-accounts.ts';
import * as store from './store-credits.ts';
import { takeBackByHand, writePendingApplication } from './store-credits.ts';
import {
  decideTakeBack,
  type GrantedSubscription,
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

/**
 * Grants credits manually to a subscription without overdue work. A transactionId makes the grant idempotent on its
 * meter: a repeat returns the first grant, whatever else it says. Refuses unknown and ended subscriptions, archived
 * customers, meters of another pricing model, an expiry that is not in the future, and a transactionId of another
 * subscription.
 */
export async function grantByHand(work: Work, requested: NewUsageCredit): Promise<UsageCredit> {
  const { amount, expiresAt, priority, reason, transactionId } = requested;
  const subscription = requireGrantable(
    await store.lockGrantedSubscription(work, requested.subscriptionId),
    requested.subscriptionId,
  );
  const meter = await meterOf(work, subscription, requested);
  const id = newId('usageCredit');
  const sourceId = typeof transactionId === 'string' ? `${meter.id}:${transactionId}` : id;
  const earlier = sourceId === id ? null : await store.findGrant(work, source, sourceId);
  if (earlier === null) {
    if (typeof expiresAt === 'number' && expiresAt <= work.now)
      throw invalid(['usageCredit', 'expiresAt'], `must be later than ${work.now}`);
    const grant = {
      id,
      subscriptionId: subscription.id,
      pricingModelId: subscription.pricingModelId,
      usageMeterId: meter.id,
      featureId: null,
      billingPeriodId: null,
      amount,
      expiresAt: expiresAt ?? null,
      source,
      sourceId,
      ...(typeof priority === 'number' ? { priority } : {}),
      ...(typeof reason === 'string' ? { reason } : {}),
    } as const;
    await grantCredits(work, [grant]);
  }
  // A concurrent request with the same transactionId may have been faster.
  const granted = earlier ?? (await store.findGrant(work, source, sourceId));
  assert(granted !== null, 'the credit is granted');
  if (granted.subscriptionId !== subscription.id) throw new Problem('transactionIdTaken', { id: transactionId ?? '' });
  return toUsageCredit(granted, work);
}

async function meterOf(
  work: Work,
  { pricingModelId }: GrantedSubscription,
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
 * Takes back the remainder of a credit, or `amount` of it, of a subscription without overdue work. Refuses what
 * `decideTakeBack` refuses. Publishes balances that fell below their threshold.
 */
export async function takeBack(work: Work, id: string, amount: bigint | null): Promise<UsageCredit> {
  const { ledgerAccountId, subscriptionId, usageMeterId, pricingModelId } = await creditOf(work, id);
  const subscription = await store.lockGrantedSubscription(work, subscriptionId);
  const account = (await lockBalances(work, [ledgerAccountId])).get(ledgerAccountId);
  assert(subscription !== null && account !== undefined, 'a credit is on the account of a subscription');
  const { balance, held } = account;
  const remaining = remainingOf(await creditOf(work, id), work.now);
  const takenBack = decideTakeBack({ id, remaining, balance, held }, amount);
  await writePendingApplication(work, [ledgerAccountId]);
  await takeBackByHand(work, { id, pricingModelId, amount: takenBack });
  const meter = await findUsageMeter(work, usageMeterId);
  assert(meter !== null, 'an account counts a meter');
  if (hasFallen(meter.lowBalanceThreshold, balance, balance - takenBack)) {
    const { customerId } = subscription;
    await publishLowBalances(work, [{ pricingModelId, customerId, subscriptionId, usageMeterId }]);
  }
  return getUsageCredit(work, id);
}

/** The units of a credit that can still be used. */
function remainingOf({ issued, applied, expired, takenBack, expiresAt }: UsageCreditRow, now: Instant): bigint {
  return expiresAt !== null && expiresAt <= now ? 0n : issued - applied - expired - takenBack;
}
