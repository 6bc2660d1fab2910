import { type RawBuilder, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import { idArray } from '../database/array-literal.ts';
import { newId } from '../database/new-id.ts';
import { within } from '../database/select-page.ts';
import { instantOf, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { instantRange, isAscending, type PageRequest } from '../kernel/pagination.ts';
import { isCreditPool, ledgerUnits } from '../pricing/credit-pool.ts';
import { ofSubscriptionsOf } from '../subscriptions/store.ts';
import { terminalStatuses } from '../subscriptions/subscription.ts';
import {
  type AccountGrant,
  type CreditExpiry,
  type CreditSource,
  defaultPriority,
  moves,
  transactionTypeOfSource,
} from './ledger.ts';
import type { EndingCredit } from './rollover.ts';
import { accountsOfSubscription, isOfSubscription } from './store-accounts.ts';
import { appliedInAll, type EndedCredit } from './store-balances.ts';
import type { GrantedSubscription, UsageCreditRow } from './usage-credit.ts';

/** The subscription that a credit of a pool is granted through. Null: it is bought or granted to the customer, or of a meter. */
function poolGranter({ usageMeterId, subscriptionId, source }: AccountGrant): string | null {
  return isCreditPool(usageMeterId) && source !== 'purchase' ? subscriptionId : null;
}

/** The instant at which a credit is granted. */
export function instantOfGrant(work: Work, { subscriptionId }: Pick<AccountGrant, 'subscriptionId'>): Instant {
  return subscriptionId === null ? work.now : instantOf(work, subscriptionId);
}

/** Grants and books credits on locked accounts, except those whose (source, sourceId) was granted before. */
export async function insertCredits(work: Work, grants: readonly AccountGrant[]): Promise<void> {
  if (grants.length === 0) return;
  const { environmentId } = work;
  const atOf = (grant: AccountGrant) => instantOfGrant(work, grant);
  const transactionOf = (grant: AccountGrant) => `${grant.source} ${atOf(grant)}`;
  const transactionIds = new Map(grants.map((grant) => [transactionOf(grant), newId('ledgerTransaction')]));
  await sql`
    with asked as (
      select * from unnest(
        ${grants.map((grant) => grant.id ?? newId('usageCredit', grant.ledgerAccountId))}::text[],
        ${grants.map(({ ledgerAccountId }) => newId('ledgerEntry', ledgerAccountId))}::text[],
        ${grants.map((grant) => transactionIds.get(transactionOf(grant)))}::text[],
        ${grants.map((grant) => transactionTypeOfSource[grant.source])}::text[],
        ${grants.map((grant) => grant.pricingModelId)}::text[],
        ${grants.map((grant) => grant.ledgerAccountId)}::text[],
        ${grants.map((grant) => grant.featureId)}::text[],
        ${grants.map((grant) => grant.billingPeriodId)}::text[],
        ${grants.map((grant) => grant.source)}::text[],
        ${grants.map((grant) => grant.sourceId)}::text[],
        ${grants.map((grant) => grant.amount)}::numeric[],
        ${grants.map((grant) => grant.expiresAt)}::bigint[],
        ${grants.map((grant) => grant.intervalStartAt ?? null)}::bigint[],
        ${grants.map((grant) => grant.priority ?? defaultPriority)}::integer[],
        ${grants.map((grant) => grant.reason ?? null)}::text[],
        ${grants.map((grant) => grant.transferredFrom ?? null)}::text[],
        ${grants.map(atOf)}::bigint[],
        ${grants.map(poolGranter)}::text[]
      ) as asked (id, entry_id, transaction_id, transaction_type, pricing_model_id, ledger_account_id, feature_id,
                  billing_period_id, source, source_id, amount, expires_at, interval_start_at, priority, reason, transferred_from, at, subscription_id)
    ), granted as (
      insert into usage_credits (environment_id, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, issued, expires_at, interval_start_at, priority, reason, transferred_from, granted_at, created_at, updated_at, subscription_id)
      select ${environmentId}, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, amount, expires_at, interval_start_at, priority, reason, transferred_from, at, at, at, subscription_id
        from one_row, asked order by id collate "C"
      on conflict (environment_id, source, source_id) do nothing
      returning id
    ), booked as (
      select asked.* from asked join granted on granted.id = asked.id
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      select ${environmentId}, transaction_id, min(pricing_model_id), transaction_type, min(id collate "C"), at, at
        from one_row, booked group by transaction_id, transaction_type, at
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, billing_period_id, usage_credit_id, available_after, created_at)
      select ${environmentId}, booked.entry_id, booked.pricing_model_id, booked.transaction_id, booked.ledger_account_id,
             ${moves.grant.debitSide}, ${moves.grant.creditSide}, booked.amount, booked.billing_period_id, booked.id,
             a.available + sum(booked.amount) over (partition by booked.ledger_account_id order by booked.id),
             greatest(a.updated_at, booked.at)
        from booked join ledger_accounts a on a.environment_id = ${environmentId} and a.id = booked.ledger_account_id
       order by booked.id
    )
    update ledger_accounts a
       set granted = a.granted + moved.amount, credits_end_at = least(moved.end_at, ${earlierCreditsEndAt}),
           updated_at = greatest(a.updated_at, moved.at)
      from (select ledger_account_id, sum(amount) as amount, min(expires_at) as end_at, max(at) as at from booked group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}

/**
 * The next expiry of a credit with a remainder on account `a`: the stored one, or a fresh lookup if that has passed.
 */
const earlierCreditsEndAt = sql`
    case when a.credits_end_at <= moved.at
         then (select min(c.expires_at) from usage_credits c
                where c.environment_id = a.environment_id and c.ledger_account_id = a.id and not c.spent)
         else a.credits_end_at end`;

/**
 * Unused credits of locked accounts that have expired by the instant of their subscription, oldest first, with the
 * rollover terms of their features. Pending applications must have been written before.
 */
export async function listUnbookedEnds(work: Work, expiries: readonly CreditExpiry[]): Promise<EndingCredit[]> {
  const { rows } = await sql<EndingCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, asked.subscription_id, a.usage_meter_id, c.feature_id, c.priority,
           c.issued - c.applied - c.expired - c.taken_back as rest, f.rollover_maximum, f.rollover_periods,
           case when c.interval_start_at is not null then f.grant_interval end as grant_interval,
           case when f.id is null then 0
                else (select coalesce(sum(r.issued - r.applied - r.expired - r.taken_back), 0) from usage_credits r
                       where r.environment_id = c.environment_id and r.ledger_account_id = c.ledger_account_id and not r.spent
                         and r.feature_id = c.feature_id and r.subscription_id is not distinct from c.subscription_id and r.source = 'rollover' and r.expires_at > asked.at) end as outstanding
      from unnest(
             ${expiries.map((expiry) => expiry.subscriptionId)}::text[],
             ${expiries.map((expiry) => expiry.at)}::bigint[]) as asked (subscription_id, at)
     cross join lateral ${accountsOfSubscription(work, sql`asked.subscription_id`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and not c.spent and c.expires_at <= asked.at and ${isOfSubscription(sql`asked.subscription_id`)}
      -- What went over once does not do so again. Bought credits of a meter never do, nor those of a subscription that has ended.
      left join features f on f.environment_id = c.environment_id and f.id = c.feature_id
       and f.rollover_maximum is not null and c.source not in ('rollover', 'purchase') and c.transferred_from is null
     order by c.id`.execute(work.db);
  return rows.map((row) => ({
    ...row,
    rolloverMaximum: row.rolloverMaximum === null ? null : ledgerUnits(row.usageMeterId, row.rolloverMaximum),
  }));
}

/** Writes pending applications of locked accounts to their credits: required before these rows are read or changed. */
export async function writePendingApplication(work: Work, ledgerAccountIds: readonly string[]): Promise<void> {
  await sql`
    with pending as materialized (
      select id, pending_credit_id, covered - applied as amount, updated_at from ledger_accounts
       where environment_id = ${work.environmentId} and id = any(${idArray(ledgerAccountIds)}::text[])
         and pending_credit_id is not null
    ), written_credit as (
      update usage_credits c set applied = c.applied + pending.amount, updated_at = greatest(c.updated_at, pending.updated_at)
        from pending where c.environment_id = ${work.environmentId} and c.id = pending.pending_credit_id
    )
    update ledger_accounts a set applied = a.covered, pending_credit_id = null, pending_limit = 0
      from pending where a.environment_id = ${work.environmentId} and a.id = pending.id`.execute(work.db);
}

/** Unused units of a credit of a locked account, at most its remainder. */
interface RemovedCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly amount: bigint;
}

/** Expires credits of locked accounts: their remainders move off the available side. Each credit is listed once. */
export async function endCredits(work: Work, ending: readonly EndingCredit[]): Promise<void> {
  // A booking is of one instant. A credit expires once, so the first one identifies it.
  for (const [now, credits] of Map.groupBy(ending, ({ subscriptionId }) => instantOf(work, subscriptionId))) {
    const removed = credits.map(({ id, pricingModelId, rest }) => ({ id, pricingModelId, amount: rest }));
    const sourceId = removed[0]?.id ?? '';
    await remove({ ...work, now }, removed, { ...moves.expiry, type: 'credit_grant_expired', sourceId });
  }
}

/** Books the end of these credits. */
export async function bookEnds(work: Work, ended: readonly EndedCredit[]): Promise<void> {
  const [first] = ended;
  if (first === undefined) return;
  await writePendingApplication(work, [...new Set(ended.map(({ ledgerAccountId }) => ledgerAccountId))]);
  await remove(work, ended, { ...moves.expiry, type: 'credit_grant_expired', sourceId: first.id });
}

/**
 * Expires what the plan of a subscription that ends has granted in credit pools. Their ends stay as they were granted, because
 * a return to the plan within them counts what was used. Credits that belong to the customer stay.
 */
export async function endPoolCreditsOfPlan(work: Work, subscriptionId: string): Promise<void> {
  const { rows } = await sql<RemovedCredit>`
    select c.id, c.pricing_model_id, c.issued - c.applied - c.expired - c.taken_back as amount
      from ${accountsOfSubscription(work, sql`${subscriptionId}::text`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id and not c.spent
       and c.subscription_id = ${subscriptionId} and not ${belongsToCustomer}
     order by c.id`.execute(work.db);
  if (rows.length === 0) return;
  await remove(work, rows, { ...moves.expiry, type: 'credit_grant_expired', sourceId: rows[0]?.id ?? '' });
}

/** The id of the credit that a pause took back and that credit `c` gives back after it. */
const pausedCreditId = sql`case when c.source_id like '%:resumed' then left(c.source_id, -length(':resumed')) end`;

/** The units of credit `c`, with those that a pause before found taken back by hand: they belong to the same time. */
export const offered = sql<bigint>`(c.issued + coalesce((
  select paused.paused_by_hand from usage_credits paused
   where paused.environment_id = c.environment_id and paused.id = ${pausedCreditId}), 0))`;

/**
 * The units that the seller took back by hand of the credits that pauses have split off credit `c`, of the same period if
 * asked for.
 */
export function takenByHandBefore(isCounted = sql<boolean>`true`) {
  return sql<bigint>`(
    with recursive before as (
      select p.environment_id, p.source_id, p.taken_by_hand, p.billing_period_id from usage_credits p
       where p.environment_id = c.environment_id and p.id = ${pausedCreditId}
       union all
      select p.environment_id, p.source_id, p.taken_by_hand, p.billing_period_id
        from before c join usage_credits p on p.environment_id = c.environment_id and p.id = ${pausedCreditId}
    ) select coalesce(sum(before.taken_by_hand), 0) from before where ${isCounted})`;
}

/** A credit that a plan granted for one billing period, with its unused rest. */
interface PeriodCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly usageMeterId: string;
  readonly offered: bigint;
  /** Also before a pause from which the credit came back. */
  readonly takenByHand: bigint;
  readonly rest: bigint;
  /** The time that it was granted for. */
  readonly startAt: Instant;
  readonly expiresAt: Instant;
}

/** The credits that a plan granted for this billing period, used or not, oldest first. */
export async function listCreditsOfPeriod(work: Work, billingPeriodId: string): Promise<PeriodCredit[]> {
  const { rows } = await sql<PeriodCredit>`
    select c.id, c.pricing_model_id, a.usage_meter_id, ${offered} as offered,
           c.taken_by_hand + ${takenByHandBefore(sql`before.billing_period_id <> c.billing_period_id`)} as taken_by_hand,
           c.issued - c.applied - c.expired - c.taken_back
             - case when a.pending_credit_id = c.id then a.covered - a.applied else 0 end as rest,
           ${creditStart} as start_at, c.expires_at
      from billing_periods p
     cross join lateral ${accountsOfSubscription(work, sql`p.subscription_id`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and c.billing_period_id = p.id and c.expires_at is not null and not ${belongsToCustomer}
     where p.environment_id = ${work.environmentId} and p.id = ${billingPeriodId}
     order by c.id`.execute(work.db);
  return rows;
}

/** Makes credits of locked accounts expire now. */
export async function expireNow(work: Work, ids: readonly string[]): Promise<void> {
  await work.db
    .updateTable('usageCredits')
    .set({ expiresAt: work.now, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where('expiresAt', '>', work.now)
    .execute();
}

/** Gives the credits of locked accounts that a plan granted until the end of this period another end. */
export async function moveCreditsEnd(
  work: Work,
  accountIds: readonly string[],
  billingPeriodId: string,
  expiresAt: Instant,
): Promise<void> {
  await sql`
    with moved as (
      update usage_credits c set expires_at = ${expiresAt}::bigint, updated_at = ${work.now}::bigint
        from billing_periods p
       where p.environment_id = ${work.environmentId} and p.id = ${billingPeriodId}
         and c.environment_id = p.environment_id and c.ledger_account_id = any(${accountIds}::text[])
         and c.billing_period_id = p.id and c.expires_at = p.end_at and not ${belongsToCustomer}
      returning c.id, c.ledger_account_id, c.spent
    )
    update ledger_accounts a
       set credits_end_at = (
             select min(end_at) from (
               select c.expires_at as end_at from usage_credits c
                where c.environment_id = a.environment_id and c.ledger_account_id = a.id and not c.spent
                  and c.id not in (select id from moved)
               union all
               select ${expiresAt}::bigint from moved where moved.ledger_account_id = a.id and not moved.spent) ends)
     where a.environment_id = ${work.environmentId} and a.id in (select ledger_account_id from moved)`.execute(work.db);
}

/**
 * Takes back units of credits of locked accounts, once for each `sourceId`. By default every call takes back again;
 * callers that want idempotency send an Idempotency-Key.
 */
export async function takeBackCredits(
  work: Work,
  removed: readonly RemovedCredit[],
  sourceId: string = newId('ledgerTransaction'),
): Promise<void> {
  if (removed.length === 0) return;
  await remove(work, removed, { ...moves.takeBack, type: 'credit_taken_back', sourceId });
}

/** Takes back units of a credit of a locked account because the seller says so. They do not count as used. */
export async function takeBackByHand(work: Work, removed: RemovedCredit): Promise<void> {
  const sourceId = newId('ledgerTransaction');
  await remove(work, [removed], { ...moves.takeBack, type: 'credit_taken_back_by_hand', sourceId });
  await countTakenBack(work, 'taken_by_hand', [removed]);
}

/** Moves units off credits of locked accounts, because the credits of another account replace them. */
export async function moveOffCredits(work: Work, removed: readonly RemovedCredit[]): Promise<void> {
  if (removed.length === 0) return;
  const sourceId = newId('ledgerTransaction');
  await remove(work, removed, { ...moves.takeBack, type: 'credit_transferred', sourceId });
}

/** Whether credit `c` belongs to its customer (migrations/0004-ledger-usage.sql). */
export const belongsToCustomer = sql<boolean>`belongs_to_customer(c.source, c.transferred_from, c.feature_id, c.source_id)`;

/** Whether subscription `s` has ended. */
export const hasEnded = sql<boolean>`s.status in (${sql.join(terminalStatuses)})`;

/** The start of the time that a plan granted credit `c` for, in period `p`. */
export const creditStart = sql<Instant>`case when c.interval_start_at is not null then c.interval_start_at
  when starts_with(c.source_id, p.id || ':') then p.start_at else greatest(p.start_at, c.granted_at) end`;

/** A credit that a plan granted for the time from `startAt` until its expiry, in a billing period. */
interface PlanCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string | null;
  readonly billingPeriodId: string;
  readonly priority: number;
  readonly offered: bigint;
  readonly pausedBack: bigint;
  readonly pausedOwed: bigint;
  readonly pausedByHand: bigint;
  /** Also before a pause from which the credit came back. */
  readonly takenByHand: bigint;
  readonly rest: bigint;
  readonly intervalStartAt: Instant | null;
  readonly startAt: Instant;
  readonly expiresAt: Instant;
}

/** The credits that plans granted for these billing periods, oldest first. */
export async function listPlanCredits(work: Work, billingPeriodIds: readonly string[]): Promise<PlanCredit[]> {
  const { rows } = await sql<PlanCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, p.subscription_id, a.usage_meter_id, c.feature_id, c.billing_period_id,
           c.priority, ${offered} as offered, c.paused_back, c.paused_owed, c.paused_by_hand,
           c.taken_by_hand + ${takenByHandBefore()} as taken_by_hand,
           c.issued - c.applied - c.expired - c.taken_back as rest, c.interval_start_at, c.expires_at, ${creditStart} as start_at
      from billing_periods p
     cross join lateral ${accountsOfSubscription(work, sql`p.subscription_id`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id and c.billing_period_id = p.id
     where p.environment_id = ${work.environmentId} and p.id = any(${billingPeriodIds}::text[])
       and c.source in ('billing_period_transition', 'manual_adjustment') and not ${belongsToCustomer}
       and c.expires_at > greatest(p.start_at, c.granted_at)
     order by c.id`.execute(work.db);
  return rows;
}

/** Counts units that a pause took back, those that it left owing, and those that the seller took back by hand before. */
export async function addPaused(
  work: Work,
  paused: readonly (RemovedCredit & { readonly owed: bigint; readonly byHand: bigint })[],
): Promise<void> {
  if (paused.length === 0) return;
  await sql`
    update usage_credits c set paused_back = c.paused_back + paused.amount, paused_owed = c.paused_owed + paused.owed,
           paused_by_hand = c.paused_by_hand + paused.by_hand
      from unnest(
             ${paused.map(({ id }) => id)}::text[],
             ${paused.map(({ amount }) => amount)}::numeric[],
             ${paused.map(({ owed }) => owed)}::numeric[],
             ${paused.map(({ byHand }) => byHand)}::numeric[]) as paused (id, amount, owed, by_hand)
     where c.environment_id = ${work.environmentId} and c.id = paused.id`.execute(work.db);
}

/** A new credit of a plan on an account that owes units of paused time. */
interface OwingCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  /** The granter of a credit of a pool, whose account several subscriptions share; else null. */
  readonly subscriptionId: string | null;
  readonly issued: bigint;
  /** The units that the account owes. May be negative: held units that expired unused were not owed after all. */
  readonly owed: bigint;
}

/** The credits among these that end with their period and whose locked account owes units of paused time, oldest first. */
export async function listOwingCredits(work: Work, ids: readonly string[]): Promise<OwingCredit[]> {
  const { rows } = await sql<OwingCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, c.subscription_id, c.issued, owing.owed
      from usage_credits c
      join (select ledger_account_id, subscription_id, sum(greatest(paused_owed - expired, 0) - withheld) as owed
              from usage_credits
             where environment_id = ${work.environmentId} and (paused_owed > 0 or withheld > 0)
               and ledger_account_id in (select ledger_account_id from usage_credits
                                          where environment_id = ${work.environmentId} and id = any(${idArray(ids)}::text[]))
             group by ledger_account_id, subscription_id) owing
        on owing.ledger_account_id = c.ledger_account_id and owing.subscription_id is not distinct from c.subscription_id
     where c.environment_id = ${work.environmentId} and c.id = any(${idArray(ids)}::text[])
       and c.expires_at is not null and owing.owed > 0 and not ${belongsToCustomer}
     order by c.id`.execute(work.db);
  return rows;
}

/** Counts units that were taken back for what the account owed, or by hand. */
export async function countTakenBack(
  work: Work,
  kind: 'withheld' | 'taken_by_hand',
  removed: readonly RemovedCredit[],
): Promise<void> {
  if (removed.length === 0) return;
  const column = sql.ref(kind);
  await sql`
    update usage_credits c set ${column} = c.${column} + removed.amount
      from unnest(${removed.map(({ id }) => id)}::text[], ${removed.map(({ amount }) => amount)}::numeric[]) as removed (id, amount)
     where c.environment_id = ${work.environmentId} and c.id = removed.id`.execute(work.db);
}

/** An unspent credit of a customer, on a subscription that has ended or on an account of the customer. */
interface StrandedCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly featureId: string | null;
  readonly source: CreditSource;
  readonly reason: string | null;
  readonly priority: number;
  readonly expiresAt: Instant | null;
  readonly rest: bigint;
  readonly customerId: string;
  readonly usageMeterId: string;
}

/** The unspent credits that belong to these customers and wait for a subscription. */
export async function listStrandedCredits(work: Work, customerIds: readonly string[]): Promise<StrandedCredit[]> {
  const { rows } = await sql<StrandedCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, c.feature_id, c.source, c.reason, c.priority, c.expires_at,
           c.issued - c.applied - c.expired - c.taken_back as rest, a.owner_id as customer_id, a.usage_meter_id
      from (select a.environment_id, a.id, a.usage_meter_id, s.customer_id as owner_id
              from subscriptions s
              join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
             where s.environment_id = ${work.environmentId} and s.customer_id = any(${customerIds}::text[]) and ${hasEnded}
            union all
            select a.environment_id, a.id, a.usage_meter_id, a.customer_id
              from ledger_accounts a
             where a.environment_id = ${work.environmentId} and a.customer_id = any(${customerIds}::text[])
               and not starts_with(a.usage_meter_id, 'credit_pool_')) a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
     where not c.spent and (c.expires_at is null or c.expires_at > ${work.now}::bigint) and ${belongsToCustomer}
     order by c.id`.execute(work.db);
  return rows;
}

/**
 * The sides that the units move between, and the transaction that books it. The second side is also a column of credits
 * and accounts.
 */
interface Removal {
  readonly debitSide: 'available';
  readonly creditSide: 'expired' | 'taken_back';
  readonly type: string;
  readonly sourceId: string;
}

async function remove(work: Work, removed: readonly RemovedCredit[], removal: Removal): Promise<void> {
  const { environmentId, now } = work;
  const { debitSide, creditSide, type, sourceId } = removal;
  const column = sql.ref(creditSide);
  await sql`
    with removed as (
      select c.id, c.pricing_model_id, c.ledger_account_id, c.billing_period_id, asked.entry_id, asked.amount
        from unnest(
               ${removed.map(({ id }) => newId('ledgerEntry', id))}::text[],
               ${removed.map((credit) => credit.id)}::text[],
               ${removed.map((credit) => credit.amount)}::numeric[]
             ) as asked (entry_id, id, amount)
        join usage_credits c on c.environment_id = ${environmentId} and c.id = asked.id
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      values (${environmentId}, ${newId('ledgerTransaction')}, ${removed[0]?.pricingModelId}, ${type}, ${sourceId}, ${now}, ${now})
      returning id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, billing_period_id, usage_credit_id, available_after, created_at)
      select ${environmentId}, removed.entry_id, removed.pricing_model_id, written_transaction.id, removed.ledger_account_id,
             ${debitSide}, ${creditSide}, removed.amount, removed.billing_period_id, removed.id,
             a.available - sum(removed.amount) over (partition by removed.ledger_account_id order by removed.id),
             greatest(a.updated_at, ${now}::bigint)
        from written_transaction,
             removed join ledger_accounts a on a.environment_id = ${environmentId} and a.id = removed.ledger_account_id
       order by removed.id
    ), changed_credit as (
      update usage_credits c set ${column} = c.${column} + removed.amount, updated_at = greatest(c.updated_at, ${now})
        from removed where c.environment_id = ${environmentId} and c.id = removed.id
    )
    update ledger_accounts a set ${column} = a.${column} + moved.amount, updated_at = greatest(a.updated_at, ${now})
      from (select ledger_account_id, sum(amount) as amount from removed group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}

/** The subscription with this id, locked until the work ends: its cancellation waits for credits being granted. */
export async function lockGrantedSubscription(work: Work, id: string): Promise<GrantedSubscription | null> {
  const { rows } = await sql<GrantedSubscription>`
    select s.id, s.status, s.pricing_model_id, s.customer_id,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived
      from subscriptions s
     where s.environment_id = ${work.environmentId} and s.id = ${id} for share of s`.execute(work.db);
  return rows[0] ?? null;
}

/** The customer of account `a`. */
const customerOfAccount = sql`coalesce(a.customer_id, (
  select owner.customer_id from subscriptions owner
   where owner.environment_id = a.environment_id and owner.id = a.subscription_id))`;

/** The accounts of a customer, and of its subscriptions. */
function accountsOf(work: Work, { customerId, customerExternalId }: PageRequest['filters']): RawBuilder<unknown> {
  const subscriptions = ofSubscriptionsOf(work, sql.ref('account.subscription_id'), { customerId, customerExternalId });
  const column = sql.ref('account.customer_id');
  const named = [
    sql`account.environment_id = ${work.environmentId}`,
    ...(customerId === undefined ? [] : [sql`${column} = ${customerId}`]),
    ...(customerExternalId === undefined ? [] : [ofCustomerNamed(work, column, String(customerExternalId))]),
  ];
  return sql`
    select account.id from ledger_accounts account where account.environment_id = ${work.environmentId} and ${subscriptions}
    union all
    select account.id from ledger_accounts account where ${sql.join(named, sql` and `)}`;
}

const columns = sql`
  c.id, c.created_at, case when c.id = a.pending_credit_id then greatest(c.updated_at, a.updated_at) else c.updated_at end as updated_at,
  c.pricing_model_id, c.ledger_account_id, ${customerOfAccount} as customer_id,
  coalesce(a.subscription_id, c.subscription_id) as subscription_id, a.usage_meter_id, c.feature_id,
  c.source, c.reason, c.priority, c.issued, ${appliedInAll} as applied,
  c.expired, c.taken_back, c.paused_owed, c.withheld, c.expires_at, c.transferred_from,
  (select coalesce(sum(n.issued), 0) from usage_credits n
    where n.environment_id = c.environment_id and n.transferred_from = c.id) as transferred`;
const joined = sql`
  usage_credits c left join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id`;

async function findWhere(work: Work, matches: RawBuilder<unknown>): Promise<UsageCreditRow | null> {
  const { rows } = await sql<UsageCreditRow>`
    select ${columns} from ${joined} where c.environment_id = ${work.environmentId} and ${matches}`.execute(work.db);
  return rows[0] ?? null;
}

export function findUsageCredit(work: Work, id: string): Promise<UsageCreditRow | null> {
  return findWhere(work, sql`c.id = ${id}`);
}

/** The credit identified by (source, sourceId). */
export function findGrant(work: Work, source: CreditSource, sourceId: string): Promise<UsageCreditRow | null> {
  return findWhere(work, sql`c.source = ${source} and c.source_id = ${sourceId}`);
}

const filterColumns = {
  usageMeterId: 'a.usage_meter_id',
  creditPoolId: 'a.usage_meter_id',
  source: 'c.source',
};

/** A page of credits in order of creation, plus one if there are more, and the total number of matches. */
export async function pageOfUsageCredits(
  work: Work,
  request: PageRequest,
): Promise<{ rows: UsageCreditRow[]; total: number }> {
  const conditions: RawBuilder<unknown>[] = [sql`c.environment_id = ${work.environmentId}`];
  for (const [filter, column] of Object.entries(filterColumns)) {
    const value = request.filters[filter];
    if (value !== undefined) conditions.push(sql`${sql.ref(column)} = ${value}`);
  }
  const created = instantRange(request.filters, 'createdAtFrom', 'createdAtTo');
  if (created !== null) conditions.push(within(sql.ref('c.created_at'), created));
  const { subscriptionId, customerId, customerExternalId } = request.filters;
  if (subscriptionId !== undefined) {
    const accounts = accountsOfSubscription(work, sql`${subscriptionId}::text`);
    conditions.push(
      sql`c.ledger_account_id in (select id from ${accounts} accounts)`,
      isOfSubscription(sql`${subscriptionId}`),
    );
  }
  if (customerId !== undefined || customerExternalId !== undefined)
    conditions.push(sql`c.ledger_account_id in (${accountsOf(work, request.filters)})`);
  const matches = sql.join(conditions, sql` and `);
  const upwards = isAscending(request);
  const beyond = request.after === null ? sql`` : sql` and c.id ${upwards ? sql`>` : sql`<`} ${request.after}`;
  const { rows } = await sql<UsageCreditRow>`
    select ${columns} from ${joined} where ${matches}${beyond}
     order by c.id ${upwards ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{ total: number }>`select count(*) as total from ${joined} where ${matches}`.execute(
    work.db,
  );
  return { rows, total: counted.rows[0]?.total ?? 0 };
}
