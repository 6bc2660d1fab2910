import { type Selectable, sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { SubscriptionItems } from '../platform/database-types.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
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
  // `type` has one value, and only parsed metadata is written.
  return row as SubscriptionItemRow;
}

/** Every item of these subscriptions, expired or not, in order of creation. */
export async function listSubscriptionItems(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<SubscriptionItemRow[]> {
  if (subscriptionIds.length === 0) return [];
  const rows = await work.db
    .selectFrom('subscriptionItems')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds})`)
    .orderBy('id')
    .execute();
  return rows.map(toRow);
}

export async function insertSubscriptionItems(work: Work, items: readonly SubscriptionItemRow[]): Promise<void> {
  if (items.length === 0) return;
  const rows = items.map(({ metadata, ...item }) => ({
    ...item,
    environmentId: work.environmentId,
    metadata: metadata === null ? null : sql<never>`${JSON.stringify(metadata)}::jsonb`,
  }));
  await work.db.insertInto('subscriptionItems').values(rows).execute();
}

/** Ends the items of these subscriptions at the instant: also those that were to end later. */
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

/** The item that holds the features that were added to the subscription by hand, made when there is none. It costs nothing. */
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
      id: newId('subscriptionItem'),
      pricingModelId: subscription.pricingModelId,
      subscriptionId: subscription.id,
      name: manualItemName,
      unitPrice: 0n,
      quantity: 0,
      addedDate: work.now,
      manuallyCreated: true,
      createdAt: work.now,
      updatedAt: work.now,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
  return toRow(made);
}
