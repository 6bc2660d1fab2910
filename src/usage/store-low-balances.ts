import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { LowBalance } from './low-balance.ts';
import { availableBalance, lapsedOf } from './store-balances.ts';

/** The booked balance of an account whose meter has a threshold: expired credits count until their expiry is booked. */
export interface BookedBalance extends LowBalance {
  readonly ledgerAccountId: string;
  readonly lowBalanceThreshold: bigint;
  readonly balance: bigint;
}

/** The subscriptions' balances on meters that have a threshold. */
export async function listBookedBalances(work: Work, subscriptionIds: readonly string[]): Promise<BookedBalance[]> {
  const { rows } = await sql<BookedBalance>`
    select a.id as ledger_account_id, a.pricing_model_id, s.customer_id, a.subscription_id, a.usage_meter_id,
           m.low_balance_threshold, ${availableBalance} + lapsed.credits as balance
      from ledger_accounts a
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      ${lapsedOf(work.now)}
     where a.environment_id = ${work.environmentId} and a.subscription_id = any(${subscriptionIds}::text[])
       and m.low_balance_threshold is not null
     order by a.id`.execute(work.db);
  return rows;
}
