import { sql } from 'kysely';

/** Of a query of usage_credits: what paid for usage of each, what is drawn from it and not in its row included. */
export const applied = sql<bigint>`
  usage_credits.applied + coalesce((
    select a.covered - a.applied from ledger_accounts a
     where a.environment_id = usage_credits.environment_id and a.pending_credit_id = usage_credits.id), 0)`.as(
  'applied',
);
