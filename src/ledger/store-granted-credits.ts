import { sql } from 'kysely';
import type { Work } from '../platform/work.ts';

/** Credits that a feature brought a subscription. */
export interface GrantedCreditsRow {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string;
  /** Of the billing period that was asked about, those that end with it. */
  readonly inPeriod: bigint;
}

/** The features that ever brought these subscriptions credits, with what each brought in the billing period. */
export async function listGrantedCredits(
  work: Work,
  asked: readonly { readonly subscriptionId: string; readonly billingPeriodId: string }[],
): Promise<GrantedCreditsRow[]> {
  if (asked.length === 0) return [];
  const { rows } = await sql<GrantedCreditsRow>`
    select a.subscription_id, a.usage_meter_id, c.feature_id,
           coalesce(sum(c.issued) filter (where c.billing_period_id = asked.period_id and c.expires_at is not null), 0)
             as in_period
      from unnest(
             ${asked.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${asked.map(({ billingPeriodId }) => billingPeriodId)}::text[]) as asked (subscription_id, period_id)
      join ledger_accounts a on a.environment_id = ${work.environmentId} and a.subscription_id = asked.subscription_id
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
     where c.feature_id is not null
     group by a.subscription_id, a.usage_meter_id, c.feature_id`.execute(work.db);
  return rows;
}
