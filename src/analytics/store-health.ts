import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { isPastDue } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Attention, Health } from './health.ts';

/** The counts that need no record of later folders. */
export type CountedAttention = Omit<Attention, 'failingWebhooks' | 'brokenInvariants'>;
export type CountedWork = Omit<Health['work'], 'messagesPending' | 'oldestMessageAt'>;

interface Counting {
  /** The first instant of failed payments. */
  readonly since: Instant;
  readonly mostCounted: number;
}

/** The number of this environment's rows of a table that match, up to `most`: each is found by an index. */
function counted(
  { environmentId }: Work,
  table: string,
  matches: RawBuilder<unknown>,
  most: number,
): RawBuilder<number> {
  return sql`(select count(*)::integer from (
    select from ${sql.table(table)} where environment_id = ${environmentId} and ${matches} limit ${most}) as found)`;
}

const isStuck = sql`work_retry_at is not null`;

/** Counts everything in one statement. */
export async function countAttention(work: Work, { since, mostCounted }: Counting): Promise<CountedAttention> {
  const count = (table: string, matches: RawBuilder<unknown>) => counted(work, table, matches, mostCounted);
  const { rows } = await sql<CountedAttention>`
    select ${count('subscriptions', sql`status = 'past_due'`)} as past_due_subscriptions,
           ${count('subscriptions', sql`status = 'unpaid'`)} as unpaid_subscriptions,
           ${count('invoices', isPastDue(work.now))} as past_due_invoices,
           ${count('payments', sql`status = 'failed' and created_at >= ${since}::bigint`)} as failed_payments,
           ${count('payments', sql`status = 'failed' and settlement_date is not null and updated_at >= ${since}::bigint`)} as reversed_payments,
           ${count('invoices', sql`status = 'draft'`)} as draft_invoices,
           ${count('subscriptions', isStuck)} as stuck_subscriptions`.execute(work.db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate has a row');
  return row;
}

/** Counts the work that is due. */
export async function countWork(
  work: Work,
  mostCounted: number,
): Promise<CountedWork & { readonly databaseVersion: string }> {
  const { now } = work;
  const count = (table: string, matches: RawBuilder<unknown>) => counted(work, table, matches, mostCounted);
  const { rows } = await sql<CountedWork & { databaseVersion: string }>`
    select current_setting('server_version') as database_version,
           ${count(
             'subscriptions',
             sql`current_billing_period_end <= ${now}::bigint and renews and status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
               order by current_billing_period_end`,
           )} as periods_due,
           ${count('invoices', sql`next_attempt_at <= ${now}::bigint`)} as attempts_due,
           ${count('subscriptions', isStuck)} as stuck_subscriptions`.execute(work.db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate has a row');
  return row;
}
