import { sql } from 'kysely';
import { idColumn, jsonElement } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import type { Priced } from '../pricing/pricing.ts';
import type { PoolDraw } from '../rating/pool-draws.ts';
import type { InterimSchedule } from '../subscriptions/interim.ts';
import type { OverrideSpan } from '../subscriptions/price-override.ts';
import { overrideHistory, type StoredSpans, withAmounts } from '../subscriptions/store-price-overrides.ts';

/** The terms by which units at a price become money. */
export interface DrawTerms extends Priced {
  readonly usageEventsPerUnit: number;
}

/** A price of usage on the account of a subscription. */
export interface DrawKey {
  readonly subscriptionId: string;
  readonly ledgerAccountId: string;
  readonly priceId: string;
}

/** The present terms of a price for a subscription, and all that decides which usage period is open. */
export interface DrawnPrice extends DrawKey {
  readonly terms: DrawTerms;
  readonly overrides: readonly OverrideSpan[];
  /** The interval of the price; null: it follows the subscription. */
  readonly own: Interval | null;
  readonly schedule: InterimSchedule;
}

type PriceRow = DrawKey &
  DrawTerms &
  InterimSchedule & {
    readonly overrides: StoredSpans;
    readonly ownUnit: Interval['unit'] | null;
    readonly ownCount: number;
  };

/** The prices of usage, in the order asked. */
export async function listDrawnPrices(work: Work, asked: readonly DrawKey[]): Promise<DrawnPrice[]> {
  const { environmentId } = work;
  const { rows } = await sql<PriceRow>`
    select asked.subscription_id, asked.ledger_account_id, asked.price_id, p.unit_price,
           coalesce(p.usage_events_per_unit, 1) as usage_events_per_unit, p.pricing,
           case when p.has_own_interval then p.interval_unit end as own_unit, p.interval_count as own_count, s.start_date, s.trial_end,
           s.billing_anchor, s.first_period, s.billing_cycle_anchor_date, s.interval_unit, s.interval_count,
           s.current_billing_period_start, s.current_billing_period_end, s.interim_at,
           ${overrideHistory(work, sql.ref('asked.subscription_id'), sql.ref('asked.price_id'))} as overrides
      from unnest(${idColumn(asked, ({ subscriptionId }) => subscriptionId)}::text[],
                  ${idColumn(asked, ({ ledgerAccountId }) => ledgerAccountId)}::text[],
                  ${idColumn(asked, ({ priceId }) => priceId)}::text[])
             with ordinality as asked (subscription_id, ledger_account_id, price_id, position)
      join subscriptions s on s.environment_id = ${environmentId} and s.id = asked.subscription_id
      join prices p on p.environment_id = ${environmentId} and p.id = asked.price_id
     order by asked.position`.execute(work.db);
  return rows.map((row) => {
    const { subscriptionId, ledgerAccountId, priceId, unitPrice, usageEventsPerUnit, pricing, overrides } = row;
    const { ownUnit, ownCount } = row;
    return {
      ...{ subscriptionId, ledgerAccountId, priceId, terms: { unitPrice, usageEventsPerUnit, pricing } },
      overrides: withAmounts<OverrideSpan>(overrides),
      own: ownUnit === null ? null : { unit: ownUnit, count: ownCount },
      schedule: row,
    };
  });
}

/** The usage period of a price on an account. */
export interface DrawPeriod {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly periodStart: Instant;
}

/** A draw with its terms. */
interface StoredDraw extends DrawPeriod {
  readonly terms: DrawTerms;
  readonly draw: PoolDraw;
}

/** The draws in these usage periods. The accounts are locked. */
export async function listDraws(work: Work, asked: readonly DrawPeriod[]): Promise<StoredDraw[]> {
  const { rows } = await sql<DrawPeriod & DrawTerms & PoolDraw>`
    select d.ledger_account_id, d.price_id, d.period_start, d.unit_price, d.usage_events_per_unit, d.pricing, d.units, d.events,
           d.own_amount, d.amount
      from unnest(${idColumn(asked, ({ ledgerAccountId }) => ledgerAccountId)}::text[],
                  ${idColumn(asked, ({ priceId }) => priceId)}::text[],
                  ${idColumn(asked, ({ periodStart }) => periodStart)}::bigint[]) as asked (ledger_account_id, price_id, period_start)
      join pool_draws d on d.environment_id = ${work.environmentId} and d.ledger_account_id = asked.ledger_account_id
       and d.price_id = asked.price_id and d.period_start = asked.period_start`.execute(work.db);
  return rows.map(({ unitPrice, usageEventsPerUnit, pricing, units, events, ownAmount, amount, ...period }) => ({
    ...period,
    terms: { unitPrice, usageEventsPerUnit, pricing },
    draw: { units, events, ownAmount, amount },
  }));
}

/** Writes draws of locked accounts. */
export async function saveDraws(
  work: Work,
  draws: readonly (StoredDraw & { readonly creditPoolId: string })[],
): Promise<void> {
  if (draws.length === 0) return;
  const pricings = draws.map(({ terms }) => jsonElement(terms.pricing && JSON.stringify(terms.pricing)));
  await sql`
    insert into pool_draws (environment_id, ledger_account_id, price_id, period_start, credit_pool_id, unit_price,
           usage_events_per_unit, pricing, units, events, own_amount, amount)
    select ${work.environmentId}, given.*
      from one_row, unnest(
             ${idColumn(draws, ({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${idColumn(draws, ({ priceId }) => priceId)}::text[],
             ${idColumn(draws, ({ periodStart }) => periodStart)}::bigint[],
             ${idColumn(draws, ({ creditPoolId }) => creditPoolId)}::text[],
             ${idColumn(draws, ({ terms }) => terms.unitPrice)}::numeric[],
             ${idColumn(draws, ({ terms }) => terms.usageEventsPerUnit)}::bigint[],
             ${`{${pricings.join()}}`}::jsonb[],
             ${idColumn(draws, ({ draw }) => draw.units)}::numeric[],
             ${idColumn(draws, ({ draw }) => draw.events)}::numeric[],
             ${idColumn(draws, ({ draw }) => draw.ownAmount)}::numeric[],
             ${idColumn(draws, ({ draw }) => draw.amount)}::numeric[]) as given
    on conflict (environment_id, ledger_account_id, price_id, period_start)
    do update set units = excluded.units, events = excluded.events, own_amount = excluded.own_amount, amount = excluded.amount`.execute(
    work.db,
  );
}
