import { type RawBuilder, sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import type { Database } from '../database/database.ts';
import type { KeyEntry, Work } from '../database/work.ts';
import type { Instant, Period } from '../kernel/calendar.ts';
import { accountsOfSubscription, isOfSubscription, lockAccountsOfSubscriptions } from './store-accounts.ts';
import { appliedInAll, holdParts } from './store-balances.ts';
import { belongsToCustomer, creditStart, hasEnded } from './store-credits.ts';
import type { CreditsOfMeter } from './usage-credit.ts';

/** Credits granted to a subscription by a feature. */
interface GrantedCreditsRow {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string;
  /** The part granted in the requested interval that still runs, and the time that it is for; 0: none. */
  readonly inPeriod: bigint;
  readonly startAt: Instant | null;
  readonly endAt: Instant | null;
}

/**
 * The features that ever granted credits to these subscriptions, with the amounts granted in an interval that run at an
 * instant. All billing periods that began in the interval count, because a pause splits one: units
 * of a period before the pause are for the time until then. The credits of a period that was
 * left for another interval have ended before, and do not count.
 */
export async function listGrantedCredits(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly interval: Period; readonly at: Instant }[],
): Promise<GrantedCreditsRow[]> {
  if (requested.length === 0) return [];
  const { rows } = await sql<GrantedCreditsRow>`
    select asked.subscription_id, a.usage_meter_id, c.feature_id,
           coalesce(sum(c.issued - c.paused_back - c.paused_owed) filter (where running.start_at is not null), 0) as in_period,
           running.start_at, running.end_at
      from unnest(
             ${requested.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${requested.map(({ interval }) => interval.start)}::bigint[],
             ${requested.map(({ interval }) => interval.end)}::bigint[],
             ${requested.map(({ at }) => at)}::bigint[]) as asked (subscription_id, since, until, at)
     cross join lateral ${accountsOfSubscription(work, sql`asked.subscription_id`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and ${isOfSubscription(sql`asked.subscription_id`)}
      left join billing_periods p on p.environment_id = c.environment_id and p.id = c.billing_period_id
      left join lateral (select ${creditStart} as start_at, least(c.expires_at, p.end_at) as end_at
                          where p.start_at >= asked.since and c.expires_at > ${creditStart}
                            and (c.expires_at = asked.until or c.interval_start_at is not null and c.expires_at > asked.at)) running on true
     where c.feature_id is not null
     group by asked.subscription_id, a.usage_meter_id, c.feature_id, running.start_at, running.end_at`.execute(work.db);
  return rows;
}

/** A subscription that begins at an instant, or changes then. */
interface CreditTaker {
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly at: Instant;
}

/** Units of a feature that a customer has had from its other subscriptions. */
interface TakenCredits {
  readonly subscriptionId: string;
  readonly featureId: string;
  /** True for one-time credits; false for those of a free plan's period that would still run. */
  readonly isOnce: boolean;
  readonly units: bigint;
  /** The free plans among these subscriptions that are being replaced. */
  readonly replacedIds: readonly string[] | null;
}

/**
 * The credits of plans that the customers have had from other subscriptions, and that count against new ones. These are
 * one-time credits, and those of ended free plans whose periods would still run. From an ended subscription the used units count,
 * because the others ended with it. The same holds for a free plan that a paid one replaces in this work. From any other
 * running one all count. Locks the accounts of free plans that are replaced, so no use is missed.
 */
export async function listTakenCredits(work: Work, takers: readonly CreditTaker[]): Promise<TakenCredits[]> {
  const found = await readTakenCredits(work, takers);
  const replaced = found.flatMap(({ replacedIds }) => replacedIds ?? []);
  if (replaced.length === 0) return found;
  await lockAccountsOfSubscriptions(work, replaced);
  return readTakenCredits(work, takers);
}

async function readTakenCredits(work: Work, takers: readonly CreditTaker[]): Promise<TakenCredits[]> {
  if (takers.length === 0) return [];
  const isReplaced = sql<boolean>`(s.is_free_plan and not taker.is_free_plan)`;
  const { rows } = await sql<TakenCredits>`
    select asked.subscription_id, c.feature_id, c.expires_at is null as is_once,
           sum(case when ${hasEnded} or ${isReplaced} then ${appliedInAll} else c.issued end) as units,
           array_agg(distinct s.id) filter (where ${isReplaced} and not ${hasEnded}) as replaced_ids
      from unnest(
             ${takers.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${takers.map(({ customerId }) => customerId)}::text[],
             ${takers.map(({ at }) => at)}::bigint[]) as asked (subscription_id, customer_id, at)
      join subscriptions taker on taker.environment_id = ${work.environmentId} and taker.id = asked.subscription_id
      join subscriptions s on s.environment_id = ${work.environmentId} and s.customer_id = asked.customer_id
       and s.id <> asked.subscription_id
     cross join lateral ${accountsOfSubscription(work, sql`s.id`)} a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id and ${isOfSubscription(sql`s.id`)}
     where c.feature_id is not null and c.source in ('billing_period_transition', 'manual_adjustment') and not ${belongsToCustomer}
       and (c.expires_at is null or (c.expires_at > asked.at and s.is_free_plan and ${hasEnded}))
     group by asked.subscription_id, c.feature_id, c.expires_at is null`.execute(work.db);
  return rows;
}

/**
 * The accounts of a customer that has or had credits: those of its subscriptions, and its own. They live if their
 * subscription has not ended by the instant, or if they are credit pools.
 */
function accountsOfCustomer(work: Work, customerId: string | RawBuilder<string>, at: Instant) {
  return sql`
    select a.*, not ${hasEnded} or coalesce(s.canceled_at, s.updated_at) > ${at}::bigint as lives
      from subscriptions s join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
     where s.environment_id = ${work.environmentId} and s.customer_id = ${customerId}
    union all
    select a.*, starts_with(a.usage_meter_id, 'credit_pool_') from ledger_accounts a
     where a.environment_id = ${work.environmentId} and a.customer_id = ${customerId}`;
}

/** The entries of account `a` after an instant. */
function laterEntries(at: Instant) {
  return sql`(select e.* from ledger_entries e
              where e.environment_id = a.environment_id and e.ledger_account_id = a.id and e.created_at > ${at}::bigint)`;
}

/** The number of entries on the accounts of a customer after an instant, at most `limit`. */
export async function countEntriesAfter(work: Work, customerId: string, at: Instant, limit: number): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total
      from (select from (${accountsOfCustomer(work, customerId, at)}) a cross join lateral ${laterEntries(at)} e
             limit ${limit}) later`.execute(work.db);
  return rows[0]?.total ?? 0;
}

/** Adds up the accounts of a text of `credits_of_customer` (migrations/0026-read-balances.sql) that are on the same meter or in the same pool. */
export function readCredits(text: string | null): Map<string, CreditsOfMeter> {
  const found = new Map<string, CreditsOfMeter>();
  for (const account of text?.split(',') ?? []) {
    const [usageMeterId = '', owed, held, granted, paid, begun, end, expiring] = account.split(' ');
    const each = {
      usageMeterId,
      owed: BigInt(owed ?? 0),
      held: BigInt(held ?? 0),
      granted: BigInt(granted ?? 0),
      paid: BigInt(paid ?? 0),
      begun: BigInt(begun ?? 0),
      expiresAt: end === undefined ? null : Number(end),
      expiring: end === undefined ? 0n : BigInt(expiring ?? 0),
    };
    const other = found.get(usageMeterId);
    found.set(usageMeterId, other === undefined ? each : sumOf(each, other));
  }
  return found;
}

function sumOf(one: CreditsOfMeter, other: CreditsOfMeter): CreditsOfMeter {
  const [first = null] = [one.expiresAt, other.expiresAt].filter((end) => end !== null).sort((a, b) => a - b);
  const expiringOf = ({ expiresAt, expiring }: CreditsOfMeter) => (expiresAt === first ? expiring : 0n);
  return {
    usageMeterId: one.usageMeterId,
    owed: one.owed + other.owed,
    held: one.held + other.held,
    granted: one.granted + other.granted,
    paid: one.paid + other.paid,
    begun: one.begun + other.begun,
    expiresAt: first,
    expiring: expiringOf(one) + expiringOf(other),
  };
}

/** A question for the credits of a customer now. */
export interface CreditQuery {
  readonly externalId: string;
  readonly pricingModelId: string | undefined;
}

/** The answer to the question at `position`, from 1. There is no pricing model where no customer matches. */
export interface CustomerCredits {
  readonly position: number;
  /** The number of customers that match and are not archived. Without one, the answer is of the last that was archived. */
  readonly customers: number;
  readonly pricingModelId: string | null;
  readonly catalogVersion: number | null;
  /** For `readCredits`: one column is faster to read than rows. */
  readonly credits: string | null;
}

const creditColumns = sql`position, customers, pricing_model_id as "pricingModelId", catalog_version as "catalogVersion", credits`;

function creditQuestions(queries: readonly CreditQuery[]) {
  return sql`${textArray(queries.map(({ externalId }) => externalId))}::text[],
             ${textArray(queries.map(({ pricingModelId }) => pricingModelId ?? null))}::text[]`;
}

/** The credits of several customers now, in one statement. Archived customers are included. */
export async function listCustomerCredits(work: Work, queries: readonly CreditQuery[]): Promise<CustomerCredits[]> {
  const { rows } = await sql<CustomerCredits>`
    select ${creditColumns} from credit_balances(${work.environmentId}, ${work.now}, ${creditQuestions(queries)})`.execute(
    work.db.withoutPlugins(),
  );
  return rows;
}

/** The same for an API key, in a statement that is a transaction by itself. None where it may not read them. */
export async function listCreditsAtOnce(
  database: Database,
  { apiKeyHash, sufficient }: KeyEntry,
  queries: readonly CreditQuery[],
): Promise<CustomerCredits[]> {
  const { rows } = await sql<CustomerCredits>`
    select ${creditColumns}
      from read_credit_balances(${apiKeyHash}, ${sufficient}::text[], ${Date.now()}, ${creditQuestions(queries)})`.execute(
    database.withoutPlugins(),
  );
  return rows;
}

/** The credits that a customer can use now, by usage meter or credit pool. */
export async function readCreditsOfCustomer(work: Work, customerId: string): Promise<Map<string, CreditsOfMeter>> {
  const { rows } = await sql<Pick<CustomerCredits, 'credits'>>`
    select credits from credits_of_customer(${work.environmentId}, ${customerId}, ${work.now})`.execute(work.db);
  return readCredits(rows[0]?.credits ?? null);
}

/**
 * The credits that a customer could use at a past instant: on all subscriptions that had not ended, and those of its own that
 * waited for one. Entries that came since have taken from a credit: with their amounts its present rest is that of then.
 */
export async function listPastCredits(work: Work, customerId: string, at: Instant): Promise<CreditsOfMeter[]> {
  const isOfThen = (row: string, open: RawBuilder<unknown>) =>
    sql`(${open} or ${sql.ref(`${row}.updated_at`)} > ${at}::bigint) and ${sql.ref(`${row}.created_at`)} <= ${at}::bigint`;
  const { rows } = await sql<CreditsOfMeter>`
    with account as materialized (${accountsOfCustomer(work, customerId, at)}), later as materialized (
      select a.usage_meter_id, a.lives, e.debit_side, e.credit_side, e.amount, e.usage_credit_id, e.applied_credit_ids, e.applied_amounts
        from account a cross join lateral ${laterEntries(at)} e
    ), taken as (
      select part.id, sum(part.amount) as amount
        from (select applied.id, applied.amount
                from later cross join lateral unnest(later.applied_credit_ids, later.applied_amounts) as applied (id, amount)
              union all
              select usage_credit_id, amount from later where credit_side in ('expired', 'taken_back')) part
       group by part.id
    ), credit as materialized (
      select a.usage_meter_id, c.expires_at, c.source = 'purchase' as is_paid,
             c.issued - ${appliedInAll} - c.expired - c.taken_back + coalesce(taken.amount, 0) as rest,
             c.issued - c.expired - c.taken_back as whole
        from account a
        join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
         and ${isOfThen('c', sql`not c.spent`)}
        left join taken on taken.id = c.id
       where (c.expires_at is null or c.expires_at > ${at}::bigint) and (a.lives or ${belongsToCustomer})
    ), of_credits as (
      select usage_meter_id, coalesce(sum(rest) filter (where not is_paid), 0) as granted,
             coalesce(sum(rest) filter (where is_paid), 0) as paid, sum(whole) filter (where rest > 0) as begun, min(expires_at) filter (where rest > 0) as expires_at
        from credit group by usage_meter_id
    ), of_accounts as (
      select a.usage_meter_id, sum(a.used - a.covered - a.settled - a.pooled) as owed, sum(hold.units) as held
        from account a
       cross join lateral (
         select coalesce(sum(h.amount), 0) as units from ${holdParts} h
          where h.environment_id = a.environment_id and h.ledger_account_id = a.id and h.expires_at > ${at}::bigint
            and ${isOfThen('h', sql`h.status = 'open'`)}) hold
       where a.lives group by a.usage_meter_id
    ), owed_later as (
      select usage_meter_id, sum(case when debit_side = 'pooled' then 0 when credit_side = 'used' then amount - coalesce((select sum(units) from unnest(applied_amounts) units), 0)
                                      when debit_side = 'settled' then -amount when credit_side = 'settled' then amount else 0 end) as units
        from later where lives group by usage_meter_id
    )
    select usage_meter_id, coalesce(c.granted, 0) as granted, coalesce(c.paid, 0) as paid, coalesce(c.begun, 0) as begun, coalesce(o.held, 0) as held,
           coalesce(o.owed, 0) - coalesce(l.units, 0) as owed, c.expires_at,
           coalesce((select sum(rest) from credit e where e.usage_meter_id = c.usage_meter_id and e.expires_at = c.expires_at), 0) as expiring
      from of_credits c full join of_accounts o using (usage_meter_id) left join owed_later l using (usage_meter_id)`.execute(
    work.db,
  );
  return rows;
}

/** The draws of a meter from a credit pool on a day in UTC, in smallest units of the pool. */
interface PoolDraw {
  readonly creditPoolId: string;
  readonly usageMeterId: string;
  readonly day: Instant;
  readonly units: bigint;
}

/**
 * The draws of a customer from credit pools, by day and meter. They are read from the entries since an instant: with more than
 * `mostEntries` of them there is no answer.
 */
export async function listPoolDraws(
  work: Work,
  customerId: string,
  since: Instant,
  mostEntries: number,
): Promise<PoolDraw[] | null> {
  const { rows } = await sql<PoolDraw & { isCut: boolean }>`
    with entry as materialized (
      select e.credit_pool_id, a.usage_meter_id, day_of(e.created_at) as day, coalesce(e.pool_amount, e.amount * e.pool_unit_cost) as units
        from subscriptions s
        join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id and a.pooled > 0
        join ledger_entries e on e.environment_id = a.environment_id and e.ledger_account_id = a.id and e.created_at >= ${since}::bigint
       where s.environment_id = ${work.environmentId} and s.customer_id = ${customerId}
       limit ${mostEntries + 1})
    select credit_pool_id, usage_meter_id, day, sum(units) as units, (select count(*) from entry) > ${mostEntries} as is_cut
      from entry where credit_pool_id is not null
     group by credit_pool_id, usage_meter_id, day order by credit_pool_id, usage_meter_id, day`.execute(work.db);
  return rows[0]?.isCut === true ? null : rows.map(({ isCut: _, ...draw }) => draw);
}
