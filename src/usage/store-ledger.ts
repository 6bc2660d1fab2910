import { type RawBuilder, sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { LedgerBalance, LedgerQuery, UsageCreditApplication } from './ledger-entry.ts';
import { appliedInAll, availableBalance, lapsedOf } from './store-balances.ts';

/** An account that was asked about, and what could be used on it then. */
export interface AccountAt extends LedgerBalance {
  readonly id: string;
}

/** The accounts that are asked about, oldest subscription first, with their balances as of the instant that is asked about. */
export async function listAccountsAt(work: Work, query: LedgerQuery): Promise<AccountAt[]> {
  const { customerId, subscriptionId, usageMeterId, asOf } = query;
  const subscription = subscriptionId === null ? sql`` : sql` and s.id = ${subscriptionId}`;
  const meter = usageMeterId === null ? sql`` : sql` and a.usage_meter_id = ${usageMeterId}`;
  const { balance, joined } =
    asOf === null ? { balance: availableBalance, joined: lapsedOf(work.now) } : balanceAsOf(asOf);
  const { rows } = await sql<AccountAt>`
    select a.id, a.subscription_id, a.usage_meter_id, ${balance} as available_balance
      from subscriptions s
      join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id${meter}
      ${joined}
     where s.environment_id = ${work.environmentId} and s.customer_id = ${customerId}${subscription}
     order by a.subscription_id, a.usage_meter_id`.execute(work.db);
  return rows;
}

/**
 * The balance of account `a` as it was at a past instant: that of the last entry by then, less what was left of credits
 * that had ended by then and were booked as expired only later, if at all, and less the holds that were open then. Nothing is
 * summed but those few: a credit expires with all of its rest, and neither it nor a hold changes any more once its end is
 * booked, so their last change says when that was.
 */
function balanceAsOf(at: Instant): { balance: RawBuilder<bigint>; joined: RawBuilder<unknown> } {
  const ofAccount = (alias: string) => sql`
    ${sql.ref(`${alias}.environment_id`)} = a.environment_id and ${sql.ref(`${alias}.ledger_account_id`)} = a.id
    and ${sql.ref(`${alias}.created_at`)} <= ${at}::bigint`;
  return {
    balance: sql<bigint>`coalesce(last.available_after, 0) - lapsed.credits - held.units`,
    joined: sql`
      left join lateral (
        select e.available_after from ledger_entries e where ${ofAccount('e')}
         order by e.created_at desc, e.sequence desc limit 1) last on true
      left join lateral (
        select coalesce(sum(c.issued - ${appliedInAll} - c.taken_back), 0) as credits
          from usage_credits c where ${ofAccount('c')} and c.expires_at <= ${at}::bigint
           and (not c.spent or c.updated_at > ${at}::bigint)) lapsed on true
      left join lateral (
        select coalesce(sum(h.amount), 0) as units from usage_holds h where ${ofAccount('h')}
           and h.expires_at > ${at}::bigint and (h.status = 'open' or h.updated_at > ${at}::bigint)) held on true`,
  };
}

/** Where an entry stands among all: entries are listed in the order in which they were booked. */
export interface EntryPosition {
  readonly createdAt: Instant;
  readonly sequence: number;
}

/** Where the entry that was made then stands, or null when it is none of these accounts. */
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

/** An entry as it is stored. */
export interface LedgerEntryRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly debitSide: string;
  readonly creditSide: string;
  readonly amount: bigint;
  readonly availableAfter: bigint;
  readonly priceId: string | null;
  readonly billingPeriodId: string | null;
  readonly usageCreditId: string | null;
  /** Of usage: the credits that paid for it, and how much each, one by one. Null where none did. */
  readonly appliedCreditIds: readonly string[] | null;
  readonly appliedAmounts: readonly string[] | null;
  readonly sourceId: string;
}

// Of an entry `e`, its account `a` and its transaction `t`.
const entryColumns = sql`
  e.id, e.created_at, a.subscription_id, a.usage_meter_id, e.debit_side, e.credit_side, e.amount, e.available_after, e.price_id,
  e.billing_period_id, e.usage_credit_id, e.applied_credit_ids, e.applied_amounts::text[] as applied_amounts, t.source_id`;

/** What usage events are booked under: `booking` numbers the unit of work that recorded them. */
export interface UsageBookingKey {
  readonly booking: number;
  readonly ledgerAccountId: string;
  readonly priceId: string;
}

/** The entry that usage events were booked in. */
export async function findUsageEntry(
  work: Work,
  { booking, ledgerAccountId, priceId }: UsageBookingKey,
): Promise<LedgerEntryRow | null> {
  // An entry is never older than its transaction, so it is among the account's first from then on.
  const { rows } = await sql<LedgerEntryRow>`
    select ${entryColumns}
      from ledger_transactions t
      cross join lateral (
        select * from ledger_entries own
         where own.environment_id = ${work.environmentId} and own.ledger_account_id = ${ledgerAccountId}
           and own.created_at >= t.created_at and own.ledger_transaction_id = t.id and own.price_id = ${priceId}
         order by own.created_at, own.sequence limit 1) e
      join ledger_accounts a on a.environment_id = e.environment_id and a.id = e.ledger_account_id
     where t.environment_id = ${work.environmentId} and t.type = 'usage_event_processed' and t.source_id = ${String(booking)}`.execute(
    work.db,
  );
  return rows[0] ?? null;
}

/** A page of the accounts' entries up to `asOf`, beyond `after`, one more than the limit when there are more. */
export async function listEntries(
  work: Work,
  accountIds: readonly string[],
  { direction, limit }: PageRequest,
  { asOf, after }: { readonly asOf: Instant | null; readonly after: EntryPosition | null },
): Promise<LedgerEntryRow[]> {
  const forward = direction === 'forward';
  const order = (alias: string) => {
    const way = forward ? sql`asc` : sql`desc`;
    return sql`${sql.ref(`${alias}.created_at`)} ${way}, ${sql.ref(`${alias}.sequence`)} ${way} limit ${limit + 1}`;
  };
  const until = asOf === null ? sql`` : sql` and e.created_at <= ${asOf}`;
  const beyond =
    after === null
      ? sql``
      : sql` and (e.created_at, e.sequence) ${forward ? sql`>` : sql`<`} (${after.createdAt}::bigint, ${after.sequence}::bigint)`;
  // The first few of each account, which its index has in order, and of those the first few of all.
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

/** How many entries the accounts have up to `asOf`. The index alone is read. */
export async function countEntries(work: Work, accountIds: readonly string[], asOf: Instant | null): Promise<number> {
  const until = asOf === null ? sql`` : sql` and created_at <= ${asOf}`;
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ledger_entries
     where environment_id = ${work.environmentId} and ledger_account_id = any(${idArray(accountIds)}::text[])${until}`.execute(
    work.db,
  );
  return rows[0]?.total ?? 0;
}

/** What is told of credits that paid for usage. */
export type PayingCredit = Omit<UsageCreditApplication, 'amount'>;

/** These credits, in the order in which credits are used. */
export async function listPayingCredits(work: Work, ids: readonly string[]): Promise<PayingCredit[]> {
  const { rows } = await sql<PayingCredit>`
    select id as usage_credit_id, source, feature_id, expires_at from usage_credits
     where environment_id = ${work.environmentId} and id = any(${idArray(ids)}::text[])
     order by priority, expires_at nulls last, id`.execute(work.db);
  return rows;
}
