import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Period } from '../kernel/calendar.ts';

/** Credits granted to a subscription by a feature. */
export interface GrantedCreditsRow {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string;
  /** The part granted in the requested interval that expires with it. */
  readonly inPeriod: bigint;
}

/**
 * The features that ever granted credits to these subscriptions, with the amount granted in an interval: in all billing
 * periods that began in it, because a pause splits one.
 */
export async function listGrantedCredits(
  work: Work,
  asked: readonly { readonly subscriptionId: string; readonly interval: Period }[],
): Promise<GrantedCreditsRow[]> {
  if (asked.length === 0) return [];
  const { rows } = await sql<GrantedCreditsRow>`
    select a.subscription_id, a.usage_meter_id, c.feature_id,
           coalesce(sum(c.issued) filter (where p.start_at >= asked.since and p.start_at < asked.until and c.expires_at is not null), 0)
             as in_period
      from unnest(
             ${asked.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${asked.map(({ interval }) => interval.start)}::bigint[],
             ${asked.map(({ interval }) => interval.end)}::bigint[]) as asked (subscription_id, since, until)
      join ledger_accounts a on a.environment_id = ${work.environmentId} and a.subscription_id = asked.subscription_id
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
      left join billing_periods p on p.environment_id = c.environment_id and p.id = c.billing_period_id
     where c.feature_id is not null
     group by a.subscription_id, a.usage_meter_id, c.feature_id`.execute(work.db);
  return rows;
}
