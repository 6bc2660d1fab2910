import { sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { OwedTime } from '../rating/interval-change.ts';
import { limitsOfSubscription } from '../spend-controls/store.ts';
import { claimSubscriptions } from '../subscriptions/store-due.ts';
import { dueAt, isBehind } from '../subscriptions/store-renewals.ts';
import { terminalStatuses } from '../subscriptions/subscription.ts';
import { accountsOfSubscription, isOfSubscription } from './store-accounts.ts';
import type { NamedCustomer } from './usage-draft.ts';
import type { Address, UsageCustomer, UsageSubscription } from './usage-event.ts';

/**
 * The asked subscriptions for which something is due, and those of their customers where plans may have granted credits of a pool, which
 * the usage draws.
 */
function lateOf(work: Work, ids: readonly string[]) {
  const behind = sql`(select s.* from subscriptions s where s.environment_id = ${work.environmentId} and ${isBehind(work.now)})`;
  const asked = sql`any(${textArray(ids)}::text[])`;
  return sql`
    select late.id from ${behind} late where late.id = ${asked}
    union all
    select late.id from subscriptions s join ${behind} late on late.customer_id = s.customer_id and late.id <> s.id
     where s.environment_id = ${work.environmentId} and s.id = ${asked}
       and exists (select from ledger_accounts pool
                    where pool.environment_id = s.environment_id and pool.customer_id = s.customer_id
                      and starts_with(pool.usage_meter_id, 'credit_pool_'))`;
}

/** The ids of the subscriptions whose due work comes before usage of these. Takes no locks. */
export async function listLate(work: Work, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`${lateOf(work, ids)}`.execute(work.db);
  return [...new Set(rows.map(({ id }) => id))];
}

/**
 * Locks the subscriptions with these ids until the work ends: a renewal or an end waits for the usage in flight, so all of
 * it is on the bill. They are locked in the order in which the subscriptions of a customer are. A subscription for which
 * something is due is left out: the usage belongs to what it is after that. With `ifNoneIsLate` none is locked then. Due work
 * locks the customers first, as other requests do, and another order would be a deadlock.
 */
export async function lockSubscriptions(
  work: Work,
  ids: readonly string[],
  { ifNoneIsLate }: { readonly ifNoneIsLate: boolean },
): Promise<UsageSubscription[]> {
  const { rows } = await sql<UsageSubscription & { hasSpendLimits: boolean }>`
    select s.id, s.revision, s.status, s.arrears, s.pricing_model_id, s.customer_id, s.current_billing_period_start, s.current_billing_period_end,
           ${dueAt} as due_at, s.has_spend_limits,
           m.catalog_version, plan.product_id, not s.do_not_charge and coalesce(s.billing_threshold_amount, e.billing_threshold_amount, 0) > 0 as has_threshold,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived
      from subscriptions s join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
      join prices plan on plan.environment_id = s.environment_id and plan.id = s.price_id
      join environments e on e.id = s.environment_id
     where s.environment_id = ${work.environmentId} and s.id = any(${textArray(ids)}::text[]) and not ${isBehind(work.now)}
       ${ifNoneIsLate ? sql`and not exists (${lateOf(work, ids)})` : sql``}
     order by s.id desc for share of s`.execute(work.db);
  const limited = rows.filter(({ hasSpendLimits }) => hasSpendLimits).map(({ id }) => id);
  const limits = limited.length === 0 ? new Map() : await readLimits(work, limited);
  return rows.map(({ hasSpendLimits: _, ...row }) => ({ ...row, spendLimits: limits.get(row.id) ?? null }));
}

/**
 * The spend limits of subscriptions that are locked, by id. A statement of its own: the one that waits for the lock sees other tables
 * as they were before, and would miss limits that came while it waited.
 */
async function readLimits(
  work: Work,
  ids: readonly string[],
): Promise<ReadonlyMap<string, UsageSubscription['spendLimits']>> {
  const { rows } = await sql<Pick<UsageSubscription, 'id' | 'spendLimits'>>`
    select s.id, ${limitsOfSubscription(work.now)} as spend_limits
      from subscriptions s where s.environment_id = ${work.environmentId} and s.id = any(${textArray(ids)}::text[])`.execute(
    work.db,
  );
  return new Map(rows.map(({ id, spendLimits }) => [id, spendLimits]));
}

/** A subscription whose unbilled usage is to be looked at. */
interface ThresholdCheck {
  readonly subscriptionId: string;
  /** When its usage was booked, or what it waited for came. */
  readonly dueAt: Instant;
  /** In minor units; 0: none. */
  readonly threshold: bigint;
}

/** Asks for a look at the thresholds of subscriptions with measured usage. Other usage asks when it is booked. */
export async function askForThresholdChecks(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await sql`
    insert into usage_threshold_checks (environment_id, subscription_id, due_at)
    select ${work.environmentId}, t.id, ${work.now}::bigint
      from one_row, unnest(${textArray(subscriptionIds)}::text[]) as t (id) order by t.id
    on conflict do nothing`.execute(work.db);
}

/** Locks subscriptions whose threshold is to be looked at, as the other takers of due work do. */
export function takeThresholdChecks(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const ofSubscription = sql`from usage_threshold_checks t where t.environment_id = ${work.environmentId}`;
  const isDue = sql<boolean>`s.id in (select t.subscription_id ${ofSubscription} and t.due_at <= ${work.now}::bigint)`;
  const dueSince = sql<Instant>`(select t.due_at ${ofSubscription} and t.subscription_id = s.id)`;
  return claimSubscriptions(work, { isDue, dueSince, limit, only });
}

/**
 * Deletes the checks of these subscriptions, whose accounts the caller has locked: usage that waits for them writes
 * others.
 */
export async function endThresholdChecks(work: Work, subscriptionIds: readonly string[]): Promise<ThresholdCheck[]> {
  const { rows } = await sql<ThresholdCheck>`
    with ended as (
      delete from usage_threshold_checks
       where environment_id = ${work.environmentId} and subscription_id = any(${textArray(subscriptionIds)}::text[])
      returning subscription_id, due_at)
    select ended.subscription_id, ended.due_at, coalesce(s.billing_threshold_amount, e.billing_threshold_amount, 0) as threshold
      from ended
      join subscriptions s on s.environment_id = ${work.environmentId} and s.id = ended.subscription_id
      join environments e on e.id = s.environment_id
     order by ended.due_at, ended.subscription_id`.execute(work.db);
  return rows;
}

/** The answer to the question for a customer. */
export interface FoundCustomer extends NamedCustomer {
  /** Null: there is none. Several: one of each pricing model that has one. */
  readonly customer: UsageCustomer | 'several' | null;
  /** When something is due for one of its subscriptions. Null: nothing is. */
  readonly dueAt: Instant | null;
}

interface CustomerState extends UsageCustomer {
  readonly customers: number;
}

/** Reads the customers that usage names, in the order asked. `usage_state_of_customer` decides what belongs to a state. */
export async function readCustomers(work: Work, named: readonly Address[]): Promise<FoundCustomer[]> {
  if (named.length === 0) return [];
  const { rows } = await sql<{ state: string; dueAt: Instant | null }>`
    select told.state, due.at as due_at
      from unnest(${textArray(named.map(({ kind }) => kind))}::text[], ${textArray(named.map(({ value }) => value))}::text[])
             with ordinality as asked (kind, value, position)
     cross join lateral (
       select usage_state_of_customer(${work.environmentId}, ${work.now}, asked.kind, asked.value) as state offset 0) told
      left join lateral (
        select min(${dueAt}) as at from subscriptions s
         where s.environment_id = ${work.environmentId} and s.customer_id = told.state::jsonb ->> 'id'
           and s.status <> all(${textArray(terminalStatuses)}::text[])) due on true
     order by asked.position`.execute(work.db);
  return rows.map(({ state, ...row }, index): FoundCustomer => {
    const { kind = 'customerId', value = '' } = named[index] ?? {};
    const { customers, ...customer } = JSON.parse(state) as CustomerState;
    return { kind, value, state, ...row, customer: customers === 1 ? customer : customers === 0 ? null : 'several' };
  });
}

/** Units that an account owes because they were used ahead of a pause, by the period whose credits count them. */
interface OwedUnits extends OwedTime {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
}

/**
 * The owed units of these subscriptions. Units that were paid back are counted by the period that did. The paused units of
 * an interval count for all of the paused rest, as later intervals would have granted more.
 */
export async function listOwedUnits(work: Work, subscriptionIds: readonly string[]): Promise<OwedUnits[]> {
  const { rows } = await sql<OwedUnits>`
    select asked.id as subscription_id, a.usage_meter_id, o.owed, o.used, coalesce(p.kept_value, 0) as kept,
           (select coalesce(round(sum(ended.units * coalesce(
                     (p.whole_end_at - p.end_at)::numeric / nullif(greatest(c.expires_at - p.end_at, 0), 0), 1))), 0)
              from usage_credits c
             cross join lateral (select c.paused_back + c.paused_owed + c.paused_by_hand as units) ended
             where c.environment_id = a.environment_id and c.ledger_account_id = a.id
               and c.billing_period_id = o.billing_period_id) as paused
      from unnest(${textArray(subscriptionIds)}::text[]) as asked (id)
     cross join lateral ${accountsOfSubscription(work, sql`asked.id`)} a
     cross join lateral (
        select c.billing_period_id, sum(greatest(c.paused_owed - c.expired, 0) - c.withheld) as owed,
               sum(c.paused_owed) as used
          from usage_credits c
         where c.environment_id = a.environment_id and c.ledger_account_id = a.id
           and (c.paused_owed > 0 or c.withheld > 0) and ${isOfSubscription(sql`asked.id`)}
         group by c.billing_period_id) o
      left join billing_periods p on p.environment_id = a.environment_id and p.id = o.billing_period_id
     order by asked.id, a.usage_meter_id`.execute(work.db);
  return rows;
}
