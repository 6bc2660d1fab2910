import { type RawBuilder, sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { isAscending, type PageRequest } from '../kernel/pagination.ts';
import type { LedgerQuery, UsageCreditApplication } from './ledger.ts';
import { appliedInAll, availableBalance, endedUnbooked, holdParts } from './store-balances.ts';

// An entry of much usage may use up any number of small credits.
const maxApplicationsShown = 100;

/** An account of a query, and its balance at the requested time. */
interface AccountAt {
  readonly id: string;
  readonly subscriptionId: string | null;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  readonly availableBalance: bigint;
}

/**
 * The accounts of a query, at most `limit`, with their balances at the requested time: oldest subscription first, those of
 * the customer last.
 */
export async function listAccountsAt(work: Work, query: LedgerQuery, limit: number): Promise<AccountAt[]> {
  const { customerId, subscriptionId, usageMeterId, asOf } = query;
  const subscription = subscriptionId === null ? sql`` : sql` and s.id = ${subscriptionId}`;
  const meter = usageMeterId === null ? sql`` : sql` and a.usage_meter_id = ${usageMeterId}`;
  const waiting =
    subscriptionId === null
      ? sql` union all select a.* from ledger_accounts a
              where a.environment_id = ${work.environmentId} and a.customer_id = ${customerId}${meter}`
      : sql``;
  const { balance, joined } =
    asOf === null ? { balance: availableBalance, joined: endedUnbooked(work.now) } : balanceAsOf(asOf);
  const { rows } = await sql<AccountAt>`
    select a.id, a.subscription_id, a.usage_meter_id, ${balance} as available_balance
      from (select a.* from subscriptions s
              join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id${meter}
             where s.environment_id = ${work.environmentId} and s.customer_id = ${customerId}${subscription}${waiting}) a
      ${joined}
     order by a.subscription_id, a.usage_meter_id limit ${limit}`.execute(work.db);
  return rows;
}

/**
 * The balance of account `a` at a past instant. It is that of its last entry by then, minus the remainders of credits
 * that had expired but were not booked, minus the holds open at that time. Only those few are summed. A credit expires
 * with all of its remainder, and neither it nor a hold changes after its end is booked, so their last update dates it.
 */
function balanceAsOf(at: Instant): { balance: RawBuilder<bigint>; joined: RawBuilder<unknown> } {
  const ofAccount = (alias: string) => sql`
    ${sql.ref(`${alias}.environment_id`)} = a.environment_id and ${sql.ref(`${alias}.ledger_account_id`)} = a.id
    and ${sql.ref(`${alias}.created_at`)} <= ${at}::bigint`;
  return {
    balance: sql<bigint>`coalesce(last.available_after, 0) - ended.credits - held.units`,
    joined: sql`
      left join lateral (
        select e.available_after from ledger_entries e where ${ofAccount('e')}
         order by e.created_at desc, e.sequence desc limit 1) last on true
      left join lateral (
        select coalesce(sum(c.issued - ${appliedInAll} - c.taken_back), 0) as credits
          from usage_credits c where ${ofAccount('c')} and c.expires_at <= ${at}::bigint
           and (not c.spent or c.updated_at > ${at}::bigint)) ended on true
      left join lateral (
        select coalesce(sum(h.amount), 0) as units from ${holdParts} h where ${ofAccount('h')}
           and h.expires_at > ${at}::bigint and (h.status = 'open' or h.updated_at > ${at}::bigint)) held on true`,
  };
}

/** The position of an entry in the list, which is in order of booking. */
export interface EntryPosition {
  readonly createdAt: Instant;
  readonly sequence: number;
}

/** The position of the entry that a cursor names, or null if it is not on these accounts. */
export async function findEntryPosition(
  work: Work,
  accountIds: readonly string[],
  { id, createdAt }: { readonly id: string; readonly createdAt: Instant },
): Promise<EntryPosition | null> {
  const { rows } = await sql<EntryPosition>`
    select created_at, sequence from ledger_entries
     where environment_id = ${work.environmentId} and ledger_account_id = any(${idArray(accountIds)}::text[])
       and created_at = ${createdAt} and id = ${id}`.execute(work.db);
  return rows[0] ?? null;
}

/** A stored entry. */
export interface LedgerEntryRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly subscriptionId: string | null;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  /** The credit pool that paid for the usage of a meter. */
  readonly creditPoolId: string | null;
  readonly debitSide: string;
  readonly creditSide: string;
  readonly amount: bigint;
  readonly availableAfter: bigint;
  readonly priceId: string | null;
  readonly billingPeriodId: string | null;
  readonly usageCreditId: string | null;
  /** For usage: the credits that covered it, and their amounts in the same order. Null if none did. */
  readonly appliedCreditIds: readonly string[] | null;
  readonly appliedAmounts: readonly string[] | null;
  readonly sourceId: string;
}

// Columns of an entry `e`, its account `a` and its transaction `t`.
const entryColumns = sql`
  e.id, e.created_at, a.subscription_id, a.usage_meter_id, e.debit_side, e.credit_side, e.amount, e.available_after, e.price_id,
  e.billing_period_id, e.usage_credit_id, e.credit_pool_id, e.applied_credit_ids[1:${sql.lit(maxApplicationsShown)}] as applied_credit_ids,
  (e.applied_amounts::text[])[1:${sql.lit(maxApplicationsShown)}] as applied_amounts, t.source_id`;

/** The booking of a usage event: `booking` numbers the unit of work that recorded it, with others. */
export interface UsageBookingKey {
  /** The event as it is stored. */
  readonly id: string;
  readonly amount: number;
  readonly booking: number;
  readonly ledgerAccountId: string;
  readonly priceId: string;
}

/** An entry of a booking, and how it was paid. */
export interface BookedEntry {
  readonly id: string;
  readonly createdAt: Instant;
  readonly sequence: number;
  readonly priceId: string;
  readonly amount: bigint;
  /** Whether a credit pool paid for it, and at the price. */
  readonly isPooled: boolean;
  readonly isAtPrice: boolean;
  /** The units that credits of the meter covered. */
  readonly covered: bigint;
}

/** The entries of an account that a booking made, in order. */
export async function listBookedEntries(
  work: Work,
  { booking, ledgerAccountId }: Pick<UsageBookingKey, 'booking' | 'ledgerAccountId'>,
): Promise<BookedEntry[]> {
  // An entry is never older than its transaction, so the scan of the account starts there.
  const { rows } = await sql<BookedEntry>`
    select e.id, e.created_at, e.sequence, e.price_id, e.amount, e.debit_side = 'pooled' as is_pooled,
           e.pool_amount is not null as is_at_price,
           coalesce((select sum(covered) from unnest(e.applied_amounts) as covered), 0) as covered
      from ledger_transactions t
      cross join lateral (
        select * from ledger_entries own
         where own.environment_id = ${work.environmentId} and own.ledger_account_id = ${ledgerAccountId}
           and own.created_at >= t.created_at and own.ledger_transaction_id = t.id) e
     where t.environment_id = ${work.environmentId} and t.type = 'usage_event_processed' and t.source_id = ${String(booking)}
     order by e.created_at, e.sequence`.execute(work.db);
  return rows;
}

/** The entry of an account at this position. */
export async function findEntryAt(
  work: Work,
  ledgerAccountId: string,
  { createdAt, sequence }: EntryPosition,
): Promise<LedgerEntryRow | null> {
  const { rows } = await sql<LedgerEntryRow>`
    select ${entryColumns}
      from ledger_entries e
      join ledger_accounts a on a.environment_id = e.environment_id and a.id = e.ledger_account_id
      join ledger_transactions t on t.environment_id = e.environment_id and t.id = e.ledger_transaction_id
     where e.environment_id = ${work.environmentId} and e.ledger_account_id = ${ledgerAccountId}
       and e.created_at = ${createdAt} and e.sequence = ${sequence}`.execute(work.db);
  return rows[0] ?? null;
}

/** A page of the accounts' entries up to `asOf`, after the cursor, plus one if there are more. */
export async function listEntries(
  work: Work,
  accountIds: readonly string[],
  request: PageRequest,
  { asOf, after }: { readonly asOf: Instant | null; readonly after: EntryPosition | null },
): Promise<LedgerEntryRow[]> {
  const upwards = isAscending(request);
  const order = (alias: string) => {
    const way = upwards ? sql`asc` : sql`desc`;
    return sql`${sql.ref(`${alias}.created_at`)} ${way}, ${sql.ref(`${alias}.sequence`)} ${way} limit ${request.limit + 1}`;
  };
  const until = asOf === null ? sql`` : sql` and e.created_at <= ${asOf}`;
  const beyond =
    after === null
      ? sql``
      : sql` and (e.created_at, e.sequence) ${upwards ? sql`>` : sql`<`} (${after.createdAt}::bigint, ${after.sequence}::bigint)`;
  // Takes the first entries of each account in index order, and the first of those overall.
  const { rows } = await sql<LedgerEntryRow>`
    select ${entryColumns}
      from (select own.* from unnest(${idArray(accountIds)}::text[]) as account (id)
             cross join lateral (
               select e.* from ledger_entries e
                where e.environment_id = ${work.environmentId} and e.ledger_account_id = account.id${until}${beyond}
                order by ${order('e')}) own
             order by ${order('own')}) e
      join ledger_accounts a on a.environment_id = e.environment_id and a.id = e.ledger_account_id
      join ledger_transactions t on t.environment_id = e.environment_id and t.id = e.ledger_transaction_id
     order by ${order('e')}`.execute(work.db);
  return rows;
}

/** The number of entries of the accounts up to `asOf`, by an index-only scan. */
export async function countEntries(work: Work, accountIds: readonly string[], asOf: Instant | null): Promise<number> {
  const until = asOf === null ? sql`` : sql` and created_at <= ${asOf}`;
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ledger_entries
     where environment_id = ${work.environmentId} and ledger_account_id = any(${idArray(accountIds)}::text[])${until}`.execute(
    work.db,
  );
  return rows[0]?.total ?? 0;
}

/** The published fields of a credit that covered usage. */
type PayingCredit = Omit<UsageCreditApplication, 'amount'>;

/** The credits in the order of use. */
export async function listPayingCredits(work: Work, ids: readonly string[]): Promise<PayingCredit[]> {
  const { rows } = await sql<PayingCredit>`
    select id as usage_credit_id, source, feature_id, expires_at from usage_credits
     where environment_id = ${work.environmentId} and id = any(${idArray(ids)}::text[])
     order by priority, expires_at nulls last, source = 'purchase', id`.execute(work.db);
  return rows;
}
