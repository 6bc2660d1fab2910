import { type RawBuilder, sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { isRemoval, type OverrideChange, type OverrideSpan, type PriceOverride } from './price-override.ts';

/** JSON has no bigint: an amount is read as a number, and every one is a safe integer. */
type InJson<Terms> = Omit<Terms, 'unitPrice'> & { readonly unitPrice: number | null };
export type StoredOverrides = readonly InJson<PriceOverride>[];
export type StoredSpans = readonly InJson<OverrideSpan>[];

/** The terms of prices in force for the subscription with this id, as one JSON value. */
export function overridesInForce(work: Work, subscriptionId: RawBuilder<unknown>): RawBuilder<StoredOverrides> {
  return sql<StoredOverrides>`(
    select coalesce(jsonb_agg(jsonb_build_object('priceId', o.price_id, 'unitPrice', o.unit_price, 'pricing', o.pricing,
             'startsAt', o.start_at) order by o.price_id), '[]')
      from subscription_price_overrides o
     where o.environment_id = ${work.environmentId} and o.subscription_id = ${subscriptionId} and o.end_at is null)`;
}

/** All terms that a price has had for a subscription, as one JSON value. */
export function overrideHistory(
  work: Work,
  subscriptionId: RawBuilder<unknown>,
  priceId: RawBuilder<unknown>,
): RawBuilder<StoredSpans> {
  return sql<StoredSpans>`(
    select coalesce(jsonb_agg(jsonb_build_object('unitPrice', v.unit_price, 'pricing', v.pricing, 'startAt', v.start_at,
             'endAt', v.end_at)), '[]')
      from subscription_price_overrides v
     where v.environment_id = ${work.environmentId} and v.subscription_id = ${subscriptionId} and v.price_id = ${priceId})`;
}

/** Reads stored terms with their amounts. */
export function withAmounts<Terms extends { readonly unitPrice: bigint | null }>(
  stored: readonly InJson<Terms>[],
): Terms[] {
  // Only terms are ever written, so the amount is all that differs.
  return stored.map(
    (each) => ({ ...each, unitPrice: each.unitPrice === null ? null : BigInt(each.unitPrice) }) as Terms,
  );
}

/** The terms of prices in force for these subscriptions, by subscription. */
export async function listOverridesInForce(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<Map<string, PriceOverride[]>> {
  const { rows } = await sql<{ id: string; overrides: StoredOverrides }>`
    select asked.id, ${overridesInForce(work, sql.ref('asked.id'))} as overrides
      from unnest(${subscriptionIds}::text[]) as asked (id)`.execute(work.db);
  return new Map(rows.map(({ id, overrides }) => [id, withAmounts(overrides)]));
}

/** A change of the terms of a price from an instant on. */
export interface DatedOverride extends OverrideChange {
  readonly subscriptionId: string;
  readonly pricingModelId: string;
  readonly startAt: Instant;
}

/**
 * Ends the terms in force of each price and begins the new ones. Each (subscription, price) is listed once, and the
 * subscriptions are locked. Ended terms stay, because bills of their time follow them.
 */
export async function changePriceOverrides(work: Work, changes: readonly DatedOverride[]): Promise<void> {
  if (changes.length === 0) return;
  await sql`
    update subscription_price_overrides o set end_at = greatest(o.start_at, changed.at), updated_at = ${work.now}
      from unnest(
             ${changes.map(({ subscriptionId }) => subscriptionId)}::text[], ${changes.map(({ priceId }) => priceId)}::text[],
             ${changes.map(({ startAt }) => startAt)}::bigint[]) as changed (subscription_id, price_id, at)
     where o.environment_id = ${work.environmentId} and o.subscription_id = changed.subscription_id
       and o.price_id = changed.price_id and o.end_at is null`.execute(work.db);
  const begun = changes.filter((change) => !isRemoval(change));
  if (begun.length === 0) return;
  const rows = begun.map(({ pricingModelId, subscriptionId, priceId, unitPrice, pricing, startAt }) => ({
    id: newId('subscriptionPriceOverride', subscriptionId),
    pricing_model_id: pricingModelId,
    subscription_id: subscriptionId,
    price_id: priceId,
    unit_price: unitPrice,
    pricing,
    start_at: startAt,
  }));
  await sql`
    insert into subscription_price_overrides (environment_id, id, pricing_model_id, subscription_id, price_id, unit_price,
           pricing, start_at, created_at, updated_at)
    select ${work.environmentId}, new.id, new.pricing_model_id, new.subscription_id, new.price_id, new.unit_price,
           nullif(new.pricing, 'null'::jsonb), new.start_at, ${work.now}, ${work.now}
      from one_row, json_to_recordset(${JSON.stringify(rows)}::json) as new (id text, pricing_model_id text, subscription_id text,
           price_id text, unit_price numeric, pricing jsonb, start_at bigint)`.execute(work.db);
}
