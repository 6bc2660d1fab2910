import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { CreditSource } from './ledger.ts';
import { appliedInAll } from './store-balances.ts';
import type { GrantedSubscription, UsageCreditRow } from './usage-credit.ts';

/** The subscription with this id, locked until the work ends: its cancellation waits for credits being granted. */
export async function holdGrantedSubscription(work: Work, id: string): Promise<GrantedSubscription | null> {
  const { rows } = await sql<GrantedSubscription>`
    select s.id, s.status, s.pricing_model_id, s.customer_id,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived
      from subscriptions s
     where s.environment_id = ${work.environmentId} and s.id = ${id} for share of s`.execute(work.db);
  return rows[0] ?? null;
}

const columns = sql`
  c.id, c.created_at, case when c.id = a.drawn_credit_id then greatest(c.updated_at, a.updated_at) else c.updated_at end as updated_at,
  c.pricing_model_id, c.ledger_account_id, a.subscription_id, a.usage_meter_id, c.feature_id,
  c.source, c.reason, c.priority, c.issued, ${appliedInAll} as applied,
  c.expired, c.taken_back, c.expires_at`;
const joined = sql`
  usage_credits c join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id`;

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

const filterColumns = { subscriptionId: 'a.subscription_id', usageMeterId: 'a.usage_meter_id', source: 'c.source' };

/** A page of credits in order of creation, plus one if there are more, and the total number of matches. */
export async function pageOfUsageCredits(
  work: Work,
  request: PageRequest,
): Promise<{ rows: UsageCreditRow[]; total: number }> {
  const conditions = [sql`c.environment_id = ${work.environmentId}`];
  for (const [filter, column] of Object.entries(filterColumns)) {
    const value = request.filters[filter];
    if (value !== undefined) conditions.push(sql`${sql.ref(column)} = ${value}`);
  }
  const matches = sql.join(conditions, sql` and `);
  const forward = request.direction === 'forward';
  const beyond = request.after === null ? sql`` : sql` and c.id ${forward ? sql`>` : sql`<`} ${request.after}`;
  const { rows } = await sql<UsageCreditRow>`
    select ${columns} from ${joined} where ${matches}${beyond}
     order by c.id ${forward ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{ total: number }>`select count(*) as total from ${joined} where ${matches}`.execute(
    work.db,
  );
  return { rows, total: counted.rows[0]?.total ?? 0 };
}
