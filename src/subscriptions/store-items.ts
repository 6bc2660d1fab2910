import { type Selectable, sql } from 'kysely';
import type { SubscriptionItems } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { SubscriptionItemRow } from './subscription-item.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'subscriptionId',
  'type',
  'name',
  'priceId',
  'unitPrice',
  'pricing',
  'quantity',
  'addedDate',
  'expiredAt',
  'externalId',
  'metadata',
  'manuallyCreated',
] as const;

const manualItemName = 'Manual Features';

type StoredItem = Pick<Selectable<SubscriptionItems>, (typeof columns)[number]>;

function toRow(row: StoredItem): SubscriptionItemRow {
  // `type` has only one value, and only parsed metadata and pricings are written.
  return row as SubscriptionItemRow;
}

/** The items of each subscription that are active at its instant (added and not expired), in order of creation. */
export async function listActiveItems(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly at: Instant }[],
): Promise<SubscriptionItemRow[]> {
  if (requested.length === 0) return [];
  const selected = sql.join(columns.map((column) => sql.ref(`i.${column}`)));
  const { rows } = await sql<StoredItem>`
    select ${selected}
      from unnest(${requested.map((each) => each.subscriptionId)}::text[], ${requested.map((each) => each.at)}::bigint[])
             as asked (subscription_id, at)
      join subscription_items i on i.environment_id = ${work.environmentId} and i.subscription_id = asked.subscription_id
     where i.added_date <= asked.at and (i.expired_at is null or i.expired_at > asked.at)
     order by i.id`.execute(work.db);
  return rows.map(toRow);
}

/** All items that a subscription has ever had, in order of creation. */
export async function listItemsOf(work: Work, subscriptionId: string): Promise<SubscriptionItemRow[]> {
  const rows = await work.db
    .selectFrom('subscriptionItems')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .orderBy('id')
    .execute();
  return rows.map(toRow);
}

export async function insertSubscriptionItems(work: Work, items: readonly SubscriptionItemRow[]): Promise<void> {
  if (items.length === 0) return;
  const rows = items.map(({ metadata, pricing, ...item }) => ({
    ...item,
    environmentId: work.environmentId,
    effectiveFrom: item.addedDate,
    pricing: jsonb(pricing),
    metadata: jsonb(metadata),
  }));
  await work.db.insertInto('subscriptionItems').values(rows).execute();
}

/** Expires the items of these subscriptions at `at`, including those with a later expiry. */
export async function expireItemsOfSubscriptions(
  work: Work,
  subscriptionIds: readonly string[],
  at: Instant,
): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await work.db
    .updateTable('subscriptionItems')
    .set({ expiredAt: at, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds})`)
    .where((where) => where.or([where('expiredAt', 'is', null), where('expiredAt', '>', at)]))
    .execute();
}

/** Expires each of these items at its instant. */
export async function expireItems(
  work: Work,
  items: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  if (items.length === 0) return;
  await sql`
    update subscription_items i set expired_at = ended.at, updated_at = ${work.now}
      from unnest(${items.map(({ id }) => id)}::text[], ${items.map(({ at }) => at)}::bigint[]) as ended (id, at)
     where i.environment_id = ${work.environmentId} and i.id = ended.id`.execute(work.db);
}

/** The new values of an item that changes in place. */
type ItemChange = Pick<
  SubscriptionItemRow,
  'id' | 'priceId' | 'unitPrice' | 'pricing' | 'quantity' | 'name' | 'externalId' | 'metadata'
> & {
  /** When the new price and quantity take effect; null: they are unchanged. */
  readonly effectiveFrom: Instant | null;
};

/** Changes items in place. Before changing a price or quantity, call `keepItemVersions`. */
export async function changeItems(work: Work, changes: readonly ItemChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map((change) => ({
    id: change.id,
    price_id: change.priceId,
    unit_price: change.unitPrice,
    pricing: change.pricing,
    quantity: change.quantity,
    name: change.name,
    external_id: change.externalId,
    metadata: change.metadata,
    effective_from: change.effectiveFrom,
  }));
  await sql`
    update subscription_items i
       set price_id = new.price_id, unit_price = new.unit_price, pricing = nullif(new.pricing, 'null'::jsonb),
           quantity = new.quantity, name = new.name, external_id = new.external_id, metadata = nullif(new.metadata, 'null'::jsonb),
           effective_from = coalesce(new.effective_from, i.effective_from), updated_at = ${work.now}
      from json_to_recordset(${JSON.stringify(rows)}::json) as new (id text, price_id text, unit_price numeric,
           pricing jsonb, quantity bigint, name text, external_id text, metadata jsonb, effective_from bigint)
     where i.environment_id = ${work.environmentId} and i.id = new.id`.execute(work.db);
}

/** The item of the subscription's manually added features, created if missing. It is free. */
export async function findOrCreateManualItem(
  work: Work,
  subscription: { readonly id: string; readonly pricingModelId: string },
): Promise<SubscriptionItemRow> {
  const existing = await work.db
    .selectFrom('subscriptionItems')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscription.id)
    .where('manuallyCreated', '=', true)
    .where('expiredAt', 'is', null)
    .executeTakeFirst();
  if (existing !== undefined) return toRow(existing);
  const made = await work.db
    .insertInto('subscriptionItems')
    .values({
      environmentId: work.environmentId,
      id: newId('subscriptionItem', subscription.id),
      pricingModelId: subscription.pricingModelId,
      subscriptionId: subscription.id,
      name: manualItemName,
      unitPrice: 0n,
      quantity: 0,
      addedDate: work.now,
      effectiveFrom: work.now,
      manuallyCreated: true,
      createdAt: work.now,
      updatedAt: work.now,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
  return toRow(made);
}
