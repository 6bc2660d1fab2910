import { sql } from 'kysely';
import { slotOf } from '../../src/kernel/id.ts';
import { cellHere, insertFixture, nameHere } from './fixtures.ts';
import type { TestApp } from './harness.ts';

/** How many events, of how many subscriptions, used from when to when. */
export interface ManyEvents {
  readonly subscriptions: number;
  readonly events: number;
  readonly from: number;
  readonly to: number;
  /** The letter that all their ids begin with: events of a later one are listed later. */
  readonly idsFrom?: string;
}

// A customer may have 500 subscriptions.
const ofOneCustomer = 100;

/**
 * Writes events straight into the database, with the series and hours that they belong to: in the order of their dates but
 * for one in a hundred that comes late, from one subscription after the other, one unit each.
 */
export async function insertManyEvents(app: TestApp, { subscriptions, events, from, to, idsFrom = '0' }: ManyEvents) {
  const world = await insertFixture(app, { now: from });
  const { owner: db } = cellHere(app);
  const names = Array.from({ length: Math.floor(subscriptions / ofOneCustomer) + 1 }, (_, n) =>
    nameHere(app, `${world.externalId}-${n}`),
  );
  const slot = slotOf(world.customerId);
  const environmentId = app.testEnvironmentId;
  await sql`
    insert into customers
    select copy.* from customers c, unnest(${names}::text[]) with ordinality named (name, place),
           lateral (select place - 1 as n) numbered,
           lateral jsonb_populate_record(c, jsonb_build_object('id', c.id || '-' || n || ${slot}::text, 'external_id', named.name,
             'invoice_number_base', c.invoice_number_base || '-' || n)) copy
     where c.environment_id = ${environmentId} and c.id = ${world.customerId}`.execute(db);
  await sql`
    insert into subscriptions
    select copy.* from subscriptions s, generate_series(1, ${subscriptions}::integer) n,
           lateral jsonb_populate_record(s, jsonb_build_object('id', s.id || '-' || n, 'exclusive', false,
             'customer_id', s.customer_id || '-' || n / ${ofOneCustomer} || ${slot}::text)) copy
     where s.environment_id = ${environmentId} and s.id = ${world.subscriptionId}`.execute(db);
  await sql`
    insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_id, subscription_revision,
           usage_meter_id, created_at, updated_at)
    select environment_id, 'la-' || id, pricing_model_id, id, revision, ${world.meterId}, ${from}, ${from} from subscriptions
     where environment_id = ${environmentId} and id like ${`${world.subscriptionId}-%`}`.execute(db);
  await sql`
    insert into usage_series (environment_id, pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id, ledger_account_id)
    select a.environment_id, a.pricing_model_id, s.customer_id, a.subscription_id, a.usage_meter_id, ${world.usagePriceId}, a.id
      from ledger_accounts a join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
     where a.environment_id = ${environmentId} and a.pricing_model_id = ${world.pricingModelId}
     order by a.subscription_id`.execute(db);
  await sql`
    with series as (
      select id, row_number() over (order by id) - 1 as place from usage_series
       where environment_id = ${environmentId} and pricing_model_id = ${world.pricingModelId}
    ), numbered as (
      select n, ${from}::bigint + (${to}::bigint - ${from}::bigint) * (case when n % 100 = 0 then n / 2 else n end) / ${events} as usage_date
        from generate_series(0, ${events - 1}::bigint) n
    )
    insert into usage_events (environment_id, series_id, booking, amount, usage_date, created_at, transaction_key, id, transaction_id)
    select ${environmentId}, series.id, 0, 1, numbered.usage_date, ${from} + n, gen_random_uuid(), ${idsFrom}::text || lpad(n::text, 20, '0'), 'many ' || n
      from numbered join series on series.place = n % ${subscriptions}
     order by n`.execute(db);
  await sql`
    insert into usage_rollups (environment_id, series_id, hour, units, events)
    select environment_id, series_id, usage_date - usage_date % 3600000, sum(amount), count(*) from usage_events
     where environment_id = ${environmentId} and id like ${`${idsFrom}%`} group by 1, 2, 3`.execute(db);
  await sql`
    insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select s.environment_id, s.pricing_model_id, s.usage_meter_id, e.usage_date - e.usage_date % 3600000, sum(e.amount), count(*)
      from usage_events e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
     where e.environment_id = ${environmentId} and e.id like ${`${idsFrom}%`} group by 1, 2, 3, 4`.execute(db);
  // As the database itself does it, only sooner.
  await sql`analyze usage_series, usage_events, usage_rollups`.execute(db);
  return world;
}
