import assert from 'node:assert/strict';
import { type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import type { Subscriptions } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import { instantOf, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { allowsRepeatedTrials } from '../organizations/setting.ts';
import { listOverridesInForce, overridesInForce, type StoredOverrides, withAmounts } from './store-price-overrides.ts';
import {
  arrearsOfStatus,
  currentStatuses,
  type SubscriptionRow,
  terminalStatuses,
  trialNoticeAt,
} from './subscription.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'priceId',
  'name',
  'status',
  'arrears',
  'renews',
  'isFreePlan',
  'isDefaultPlan',
  'doNotCharge',
  'runBillingAtPeriodStart',
  'exclusive',
  'isOnlyTrial',
  'startDate',
  'trialEnd',
  'intervalUnit',
  'intervalCount',
  'billingCycleAnchorDate',
  'billingAnchor',
  'firstPeriod',
  'currentBillingPeriodStart',
  'currentBillingPeriodEnd',
  'interimAt',
  'defaultPaymentMethodId',
  'backupPaymentMethodId',
  'canceledAt',
  'cancelScheduledAt',
  'cancellationReason',
  'cancellationComment',
  'replacedBySubscriptionId',
  'scheduledAdjustmentAt',
  'scheduledByCustomer',
  'pausedAt',
  'resumesAt',
  'pausedCredit',
  'setupFee',
  'billingThresholdAmount',
  'metadata',
] as const;

type StoredSubscription = Pick<Selectable<Subscriptions>, (typeof columns)[number]>;

function toRow({ overrides, ...row }: StoredSubscription & { readonly overrides: StoredOverrides }): SubscriptionRow {
  // Table constraints limit the statuses and units, and only parsed metadata and anchors are written.
  return { ...row, priceOverrides: withAmounts(overrides) } as SubscriptionRow;
}

function overrides(work: Work) {
  return overridesInForce(work, sql.ref('subscriptions.id')).as('overrides');
}

function select(work: Work) {
  return work.db
    .selectFrom('subscriptions')
    .select(columns)
    .select(overrides(work))
    .where('environmentId', '=', work.environmentId);
}

export async function findSubscription(work: Work, id: string): Promise<SubscriptionRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The subscriptions with these ids, in order of id. */
export async function findSubscriptions(work: Work, ids: readonly string[]): Promise<SubscriptionRow[]> {
  const rows = await select(work).where('id', '=', sql<string>`any(${ids}::text[])`).orderBy('id').execute();
  return rows.map(toRow);
}

/**
 * Locks the subscription until the work ends. To change the customer's other subscriptions too, lock the customer
 * first.
 */
export async function lockSubscription(work: Work, id: string): Promise<SubscriptionRow | null> {
  const row = await select(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The same for several, in order of id. */
export async function lockSubscriptions(work: Work, ids: readonly string[]): Promise<SubscriptionRow[]> {
  const rows = await select(work)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return rows.map(toRow);
}

/** The newest subscriptions of the customer, at most `limit` of any status, newest first. */
export async function listNewestSubscriptions(
  work: Work,
  customerId: string,
  limit: number,
): Promise<SubscriptionRow[]> {
  const rows = await select(work).where('customerId', '=', customerId).orderBy('id', 'desc').limit(limit).execute();
  return rows.map(toRow);
}

/** The subscriptions of the customer that have not ended, newest first. The database bounds their number. */
export async function listLivingSubscriptions(work: Work, customerId: string): Promise<SubscriptionRow[]> {
  const rows = await select(work)
    .where('customerId', '=', customerId)
    .where('status', 'not in', terminalStatuses)
    .orderBy('id', 'desc')
    .execute();
  return rows.map(toRow);
}

/** Locks and returns the customer's subscriptions that have not ended, newest first. */
export function lockLivingSubscriptions(work: Work, customerId: string): Promise<SubscriptionRow[]> {
  return lockLivingSubscriptionsOf(work, [customerId]);
}

/** The same for several customers, newest first. The caller has locked the customers. */
export async function lockLivingSubscriptionsOf(
  work: Work,
  customerIds: readonly string[],
): Promise<SubscriptionRow[]> {
  if (customerIds.length === 0) return [];
  const rows = await select(work)
    .where('customerId', '=', sql<string>`any(${customerIds}::text[])`)
    .where('status', 'not in', terminalStatuses)
    .orderBy('id', 'desc')
    .forNoKeyUpdate()
    .execute();
  return rows.map(toRow);
}

/** The ids of the customer's subscriptions that have not ended and name the payment method, at most `limit`. */
export async function listSubscriptionsChargedOn(
  work: Work,
  { id, customerId }: { readonly id: string; readonly customerId: string },
  limit: number,
): Promise<string[]> {
  const rows = await select(work)
    .where('customerId', '=', customerId)
    .where('status', 'not in', terminalStatuses)
    .where((where) => where.or([where('defaultPaymentMethodId', '=', id), where('backupPaymentMethodId', '=', id)]))
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** The newest subscription of each customer that has one, whatever its status. */
export async function findNewestSubscriptions(
  work: Work,
  customerIds: readonly string[],
): Promise<Map<string, SubscriptionRow>> {
  if (customerIds.length === 0) return new Map();
  const rows = await select(work)
    .distinctOn('customerId')
    .where('customerId', '=', sql<string>`any(${customerIds}::text[])`)
    .orderBy('customerId')
    .orderBy('id', 'desc')
    .execute();
  return new Map(rows.map((row) => [row.customerId, toRow(row)]));
}

/**
 * Whether the customer has another subscription at `at` that prevents the default plan. A paid one that is booked for
 * later does not: the default plan fills the gap, and is replaced as usual.
 */
export async function hasOtherSubscriptionInTheWay(
  work: Work,
  customerId: string,
  id: string,
  at: Instant,
): Promise<boolean> {
  const row = await select(work)
    .where('customerId', '=', customerId)
    .where('id', '!=', id)
    .where((where) =>
      where.or([
        where('status', 'in', [...currentStatuses, 'paused']),
        where('status', '=', 'incomplete').and('currentBillingPeriodStart', 'is not', null),
      ]),
    )
    .where((where) =>
      where.or([
        where('isFreePlan', '=', true),
        where('currentBillingPeriodStart', 'is', null),
        where('currentBillingPeriodStart', '<=', at),
        where('currentBillingPeriodStart', '<', where.ref('currentBillingPeriodEnd')),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The last default plan that the subscription replaced; null if it replaced none. */
export async function findReplacedDefaultPlan(work: Work, id: string): Promise<SubscriptionRow | null> {
  const row = await select(work)
    .where('customerId', '=', (query) =>
      query
        .selectFrom('subscriptions as replacing')
        .select('replacing.customerId')
        .where('replacing.environmentId', '=', work.environmentId)
        .where('replacing.id', '=', id),
    )
    .where('replacedBySubscriptionId', '=', id)
    .where('isDefaultPlan', '=', true)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** Whether the customer has used up its trial: it had one, and the settings allow no other. */
export async function hasUsedTrial(work: Work, customerId: string): Promise<boolean> {
  if (allowsRepeatedTrials(work)) return false;
  const row = await select(work)
    .where('customerId', '=', customerId)
    .where('trialEnd', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function pageOfSubscriptions(
  work: Work,
  request: PageRequest,
): Promise<{ rows: SubscriptionRow[]; total: number }> {
  const { rows, total } = await selectPage<StoredSubscription>(work, 'subscriptions', columns, request, {
    status: 'status',
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    priceId: 'price_id',
    pricingModelId: 'pricing_model_id',
    billingAnchor: ofAnchor,
  });
  const ofRows = await listOverridesInForce(
    work,
    rows.map(({ id }) => id),
  );
  // Table constraints limit the statuses and units, and only parsed metadata is written.
  return { rows: rows.map((row) => ({ ...row, priceOverrides: ofRows.get(row.id) ?? [] }) as SubscriptionRow), total };
}

/** Anchors other than the anniversary are few, and have an index. A day of the month is an object. */
function ofAnchor(kind: string): RawBuilder<unknown> {
  if (kind === 'anniversary') return sql`billing_anchor = '"anniversary"'`;
  return sql`billing_anchor <> '"anniversary"' and (jsonb_typeof(billing_anchor) = 'object') = ${kind === 'day'}`;
}

export async function insertSubscription(
  work: Work,
  { metadata, billingAnchor, priceOverrides: _, ...row }: SubscriptionRow,
): Promise<void> {
  await work.db
    .insertInto('subscriptions')
    .values({
      ...row,
      environmentId: work.environmentId,
      noticeAt: trialNoticeAt(row.trialEnd),
      billingAnchor: jsonb(billingAnchor),
      metadata: jsonb(metadata),
    })
    .execute();
}

/** The changeable fields of a subscription. `updatedAt` is set automatically. */
export type SubscriptionChange = Partial<
  Pick<
    SubscriptionRow,
    | 'priceId'
    | 'name'
    | 'metadata'
    | 'status'
    | 'trialEnd'
    | 'billingCycleAnchorDate'
    | 'billingAnchor'
    | 'currentBillingPeriodStart'
    | 'currentBillingPeriodEnd'
    | 'interimAt'
    | 'defaultPaymentMethodId'
    | 'backupPaymentMethodId'
    | 'canceledAt'
    | 'cancelScheduledAt'
    | 'cancellationReason'
    | 'cancellationComment'
    | 'replacedBySubscriptionId'
    | 'scheduledAdjustmentAt'
    | 'scheduledByCustomer'
    | 'isFreePlan'
    | 'intervalUnit'
    | 'intervalCount'
    | 'pausedAt'
    | 'resumesAt'
    | 'pausedCredit'
    | 'setupFee'
    | 'billingThresholdAmount'
  >
>;

/** Saves the change and returns the updated subscription. The caller has locked it. */
export async function saveSubscription(
  work: Work,
  id: string,
  { metadata, billingAnchor, ...change }: SubscriptionChange,
): Promise<SubscriptionRow> {
  const arrears = change.status === undefined ? null : arrearsOfStatus(change.status);
  const values: Updateable<Subscriptions> = {
    ...change,
    ...(arrears === null ? {} : { arrears }),
    ...(change.trialEnd === undefined ? {} : { noticeAt: trialNoticeAt(change.trialEnd) }),
    updatedAt: work.now,
  };
  const row = await work.db
    .updateTable('subscriptions')
    .set({
      ...values,
      ...(metadata === undefined ? {} : { metadata: jsonb(metadata) }),
      ...(billingAnchor === undefined ? {} : { billingAnchor: jsonb(billingAnchor) }),
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(columns)
    .returning(overrides(work))
    .executeTakeFirst();
  assert(row, `no subscription ${id}`);
  return toRow(row);
}

/**
 * Saves the changeable fields of each row and returns the updated rows, in one statement. The caller has locked them
 * all.
 */
export async function saveSubscriptions(work: Work, changed: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  if (changed.length === 0) return [];
  const rows = changed.map((row) => {
    const arrears = arrearsOfStatus(row.status) ?? row.arrears;
    return { ...row, arrears, updatedAt: instantOf(work, row.id) };
  });
  const all = <Key extends keyof SubscriptionRow>(key: Key) => rows.map((row) => row[key]);
  await sql`
    update subscriptions s
       set price_id = new.price_id, name = new.name, status = new.status, arrears = new.arrears,
           is_free_plan = new.is_free_plan,
           interval_unit = new.interval_unit, interval_count = new.interval_count,
           billing_cycle_anchor_date = new.billing_cycle_anchor_date, billing_anchor = new.billing_anchor,
           current_billing_period_start = new.current_billing_period_start,
           current_billing_period_end = new.current_billing_period_end, interim_at = new.interim_at,
           default_payment_method_id = new.default_payment_method_id,
           backup_payment_method_id = new.backup_payment_method_id,
           canceled_at = new.canceled_at, cancel_scheduled_at = new.cancel_scheduled_at,
           cancellation_reason = new.cancellation_reason, cancellation_comment = new.cancellation_comment,
           replaced_by_subscription_id = new.replaced_by_subscription_id,
           scheduled_adjustment_at = new.scheduled_adjustment_at, paused_at = new.paused_at,
           resumes_at = new.resumes_at, paused_credit = new.paused_credit, setup_fee = new.setup_fee, updated_at = new.updated_at
      from unnest(
             ${all('id')}::text[], ${all('priceId')}::text[], ${all('name')}::text[], ${all('status')}::text[],
             ${all('arrears')}::text[], ${all('isFreePlan')}::boolean[], ${all('intervalUnit')}::text[], ${all('intervalCount')}::bigint[],
             ${all('billingCycleAnchorDate')}::bigint[],
             ${rows.map(({ billingAnchor }) => JSON.stringify(billingAnchor))}::jsonb[], ${all('currentBillingPeriodStart')}::bigint[],
             ${all('currentBillingPeriodEnd')}::bigint[], ${all('interimAt')}::bigint[], ${all('defaultPaymentMethodId')}::text[],
             ${all('backupPaymentMethodId')}::text[], ${all('canceledAt')}::bigint[], ${all('cancelScheduledAt')}::bigint[],
             ${all('cancellationReason')}::text[], ${all('cancellationComment')}::text[], ${all('replacedBySubscriptionId')}::text[],
             ${all('scheduledAdjustmentAt')}::bigint[], ${all('pausedAt')}::bigint[], ${all('resumesAt')}::bigint[],
             ${all('pausedCredit')}::numeric[], ${all('setupFee')}::numeric[], ${all('updatedAt')}::bigint[]
           ) as new (id, price_id, name, status, arrears, is_free_plan, interval_unit, interval_count, billing_cycle_anchor_date,
                     billing_anchor, current_billing_period_start, current_billing_period_end, interim_at, default_payment_method_id,
                     backup_payment_method_id, canceled_at, cancel_scheduled_at, cancellation_reason, cancellation_comment,
                     replaced_by_subscription_id, scheduled_adjustment_at, paused_at, resumes_at, paused_credit, setup_fee, updated_at)
     where s.environment_id = ${work.environmentId} and s.id = new.id`.execute(work.db);
  return rows;
}

/**
 * Adds to the stored value of paused time, in minor units. Ended subscriptions store none. The caller has locked them
 * all.
 */
export async function addPausedCredit(
  work: Work,
  credits: readonly { readonly subscriptionId: string; readonly amount: bigint }[],
): Promise<void> {
  if (credits.length === 0) return;
  await sql`
    update subscriptions s
       set paused_credit = s.paused_credit + more.amount, updated_at = ${work.now}
      from unnest(
             ${credits.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${credits.map(({ amount }) => amount)}::numeric[]
           ) as more (id, amount)
     where s.environment_id = ${work.environmentId} and s.id = more.id
       and s.status <> all(${terminalStatuses})`.execute(work.db);
}

/**
 * Makes the running subscriptions of the environment non-exclusive: they no longer prevent others of their customers.
 */
export async function liftExclusivity(work: Work): Promise<void> {
  // Locked in order of id, as everywhere, to avoid deadlocks.
  await sql`
    with living as (
      select id from subscriptions
       where environment_id = ${work.environmentId} and exclusive and status <> all(${terminalStatuses})
       order by id for no key update
    )
    update subscriptions set exclusive = false from living
     where subscriptions.environment_id = ${work.environmentId} and subscriptions.id = living.id`.execute(work.db);
}

/** Whether `subscriptionId` is that of a subscription of the customer. */
export function ofSubscriptionsOf(
  work: Work,
  subscriptionId: RawBuilder<unknown>,
  {
    customerId,
    customerExternalId,
  }: Readonly<Record<'customerId' | 'customerExternalId', string | boolean | undefined>>,
): RawBuilder<unknown> {
  const conditions = [
    sql`owned.environment_id = ${work.environmentId}`,
    ...(customerId === undefined ? [] : [sql`owned.customer_id = ${customerId}`]),
    ...(customerExternalId === undefined
      ? []
      : [ofCustomerNamed(work, sql.ref('owned.customer_id'), String(customerExternalId))]),
  ];
  return sql`${subscriptionId} in (select owned.id from subscriptions owned where ${sql.join(conditions, sql` and `)})`;
}
