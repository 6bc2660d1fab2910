import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { idPrefixes, type SlotIdKind, slotOf } from '../../src/kernel/id.ts';

const kinds: Readonly<Record<SlotIdKind, true>> = {
  customer: true,
  subscription: true,
  subscriptionItem: true,
  subscriptionItemFeature: true,
  subscriptionItemVersion: true,
  subscriptionAdjustment: true,
  subscriptionPriceOverride: true,
  billingPeriod: true,
  resourceClaim: true,
  usageEvent: true,
  usageHold: true,
  usageCredit: true,
  spendLimit: true,
  ledgerAccount: true,
  ledgerEntry: true,
  invoice: true,
  invoiceLineItem: true,
  invoiceItem: true,
  customerBalance: true,
  customerBalanceEntry: true,
  creditNote: true,
  creditNoteLine: true,
  payment: true,
  paymentMethod: true,
  refund: true,
  purchase: true,
  discountRedemption: true,
  checkoutSession: true,
  event: true,
  email: true,
};
const prefixes = Object.keys(kinds).map((kind) => idPrefixes[kind as SlotIdKind]);
const idOfCustomer = new RegExp(`^(${prefixes.join('|')})_[0-9A-Za-z]{21}$`);

/**
 * Asserts that the ids of each row are of one customer, by their slots. A checkout session of nobody has the slot of the home cell.
 * Returns the tables that have such ids.
 */
export async function assertOneSlotInEachRow(owner: Database): Promise<readonly string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'
       and relname not in ('audit_log', 'idempotency_keys')`.execute(owner);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ row: object }>`select to_jsonb(r) as row from ${sql.table(name)} r`.execute(owner);
    for (const { row } of rows) {
      const ids = Object.values(row).filter(
        (value) => typeof value === 'string' && idOfCustomer.test(value),
      ) as string[];
      const slots = new Set(ids.filter((id) => !id.startsWith(idPrefixes.checkoutSession)).map(slotOf));
      assert(slots.size <= 1, `${name}: ${ids}`);
      if (ids.length > 1 && found.at(-1) !== name) found.push(name);
    }
  }
  return found;
}
