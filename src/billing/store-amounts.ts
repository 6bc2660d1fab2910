import { sql } from 'kysely';
import type { Work } from '../database/work.ts';

/** Whether the environment contains an amount of money above 0, so that its currency matters. */
export async function hasAmounts(work: Work): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from prices where environment_id = ${work.environmentId} and unit_price > 0)
        or exists (select from discounts where environment_id = ${work.environmentId} and amount_type = 'fixed')
        or exists (select from invoices where environment_id = ${work.environmentId}) as found`.execute(work.db);
  return rows[0]?.found ?? false;
}
