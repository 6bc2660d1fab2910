import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import { addOn } from './catalogue.ts';
import { meterSlug, usersSlug } from './catalogue-usage.ts';
import { calendarStart, dayMs } from './oracle-arithmetic.ts';

/** Each record as a line of text with its relevant fields, grouped by name. */
export type Picture = ReadonlyMap<string, readonly string[]>;

export interface Told {
  /** For a record without a name. */
  readonly id?: string;
  readonly name: string;
  readonly line: Readonly<Record<string, unknown>>;
}

/** Reads the service's records directly from the database, on one snapshot. */
export async function readReality(owner: Database, now: number): Promise<readonly Told[]> {
  return owner
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (db) => {
      return [
        await subscriptionLines(db, now),
        await invoiceLines(db),
        await noteLines(db),
        await balanceLines(db),
        await itemLines(db),
        await paymentLines(db),
        await methodLines(db),
        await creditLines(db, now),
        await poolCreditLines(db, now),
        await claimLines(db, now),
        await meterLines(db),
        await usersLines(db),
        await holdLines(db, now),
        await limitLines(db),
        await topUpLines(db, now),
        await attemptLines(db, now),
      ].flat();
    });
}

/** Combines the lines of all kinds by customer, in order. */
export function pictureOf(told: readonly Told[]): Picture {
  const byName = Map.groupBy(told, ({ name }) => name);
  return new Map([...byName].map(([name, lines]) => [name, lines.map(({ line }) => JSON.stringify(line, asNumbers))]));
}

function asNumbers(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

// The invariants look at what is left of erased customers.
const remaining = sql`(select * from customers where erased_at is null)`;

async function subscriptionLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object(
        'subscription', p.slug, 'status', s.status,
        'quantity', (select i.quantity from subscription_items i
           where i.environment_id = s.environment_id and i.subscription_id = s.id and not i.manually_created
             and i.price_id = s.price_id
           order by i.id desc limit 1),
        'addOns', case when s.status in ('canceled', 'incomplete_expired') then 0
          else coalesce((select sum(i.quantity) from subscription_items i
             join prices q on q.environment_id = i.environment_id and q.id = i.price_id and q.slug = ${addOn.slug}
           where i.environment_id = s.environment_id and i.subscription_id = s.id and i.expired_at is null), 0) end,
        'start', s.current_billing_period_start, 'end', s.current_billing_period_end,
        'trial', s.trial_end, 'anchor', s.billing_cycle_anchor_date, 'cancelAt', s.cancel_scheduled_at, 'canceledAt', s.canceled_at, 'reason', s.cancellation_reason,
        'resumesAt', s.resumes_at, 'kept', s.paused_credit, 'isToChange', s.scheduled_adjustment_at is not null,
        'discounts', coalesce((select json_agg(r.code order by r.position) from discount_redemptions r
           where r.environment_id = s.environment_id and r.subscription_id = s.id and r.removed_at is null
             and s.status not in ('canceled', 'incomplete_expired')), '[]'),
        'granted', coalesce(a.granted, 0), 'used', coalesce(a.used, 0), 'covered', coalesce(a.covered, 0),
        'settled', coalesce(a.settled, 0), 'pooled', coalesce(a.pooled, 0),
        'beyond', (select count(*) from usage_events e join usage_series r on r.environment_id = e.environment_id
           and r.id = e.series_id where r.environment_id = s.environment_id and r.subscription_id = s.id and e.beyond_limit),
        'left', coalesce((select sum(u.issued - ${applied} - u.expired - u.taken_back) from usage_credits u
           where u.environment_id = a.environment_id and u.ledger_account_id = a.id
             and (u.expires_at is null or u.expires_at > ${now})), 0),
        'unbilled', coalesce((select sum(o.uncovered - o.invoiced) from usage_overages o
           where o.environment_id = a.environment_id and o.ledger_account_id = a.id), 0),
        'events', (select count(*) from usage_events e join usage_series r on r.environment_id = e.environment_id
           and r.id = e.series_id where r.environment_id = s.environment_id and r.subscription_id = s.id
           and r.usage_meter_id = m.id),
        'consumed', coalesce((select sum(e.amount) from usage_events e join usage_series r on r.environment_id = e.environment_id
           and r.id = e.series_id where r.environment_id = s.environment_id and r.subscription_id = s.id
           and r.usage_meter_id = m.id), 0),
        'claims', (select count(*) from resource_claims k where k.environment_id = s.environment_id
           and k.subscription_id = s.id and k.released_at is null and (k.expired_at is null or k.expired_at > ${now})),
        'limit', (select coalesce(max(v.value::numeric) filter (where v.manually_created), max(v.value::numeric))
            from subscription_item_features v
            join subscription_items i on i.environment_id = v.environment_id and i.id = v.subscription_item_id
           where v.environment_id = s.environment_id and v.subscription_id = s.id and v.value is not null
             and s.status not in ('canceled', 'incomplete_expired')
             and (v.expired_at is null or v.expired_at > ${now}) and (i.expired_at is null or i.expired_at > ${now}))
      ) as line
      from subscriptions s
      join ${remaining} c on c.environment_id = s.environment_id and c.id = s.customer_id
      join prices p on p.environment_id = s.environment_id and p.id = s.price_id
      left join usage_meters m on m.environment_id = s.environment_id and m.slug = ${meterSlug}
      left join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
       and a.usage_meter_id = m.id
     order by s.environment_id, s.created_at, s.id`.execute(db);
  return rows;
}

const unitsOfInvoice = sql`select coalesce(sum(l.ledger_account_credit), 0) from invoice_line_items l
    join ledger_accounts a on a.environment_id = l.environment_id and a.id = l.ledger_account_id
    join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
   where l.environment_id = i.environment_id and l.invoice_id = i.id`;

async function invoiceLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object(
        'invoice', i.reason, 'at', i.invoice_date, 'due', i.due_date, 'status', i.status, 'total', i.total, 'discount', i.discount_amount,
        'discounts', coalesce((select json_agg(concat_ws(' ', r.code, o.amount) order by o.position) from invoice_discounts o
             join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
           where o.environment_id = i.environment_id and o.invoice_id = i.id), '[]'),
        'tax', i.tax_amount, 'paid', i.amount_paid, 'refunded', i.amount_refunded, 'credited', i.credited_amount, 'applied', i.balance_applied, 'offset', i.offset_amount, 'toBalance', i.balance_credited, 'attempts', i.attempt_count, 'nextAt', i.next_attempt_at,
        'lines', (select json_agg(concat_ws(' ', l.amount, l.discount_amount, l.tax_amount)
             order by concat_ws(' ', l.amount, l.discount_amount, l.tax_amount) collate "C") from invoice_line_items l
           where l.environment_id = i.environment_id and l.invoice_id = i.id),
        'units', (${unitsOfInvoice} and m.slug = ${meterSlug}), 'others', (${unitsOfInvoice} and m.slug <> ${meterSlug})) as line
      from invoices i join ${remaining} c on c.environment_id = i.environment_id and c.id = i.customer_id
     order by i.environment_id, length(i.invoice_number), i.invoice_number`.execute(db);
  return rows;
}

/** Credit notes by hand, which have a reason. A refund's has none. */
async function noteLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, n.id, json_build_object('note', n.settle, 'status', n.status, 'total', n.total,
        'discount', n.discount_amount, 'tax', n.tax_amount) as line
      from credit_notes n join ${remaining} c on c.environment_id = n.environment_id and c.id = n.customer_id
     where n.reason is not null order by n.environment_id, n.id`.execute(db);
  return rows;
}

async function balanceLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('credited', b.credited, 'debited', b.debited,
        'entries', (select json_agg(json_build_array(e.source, e.amount) order by e.id) from customer_balance_entries e
           where e.environment_id = b.environment_id and e.customer_balance_id = b.id)) as line
      from customer_balances b join ${remaining} c on c.environment_id = b.environment_id and c.id = b.customer_id`.execute(
    db,
  );
  return rows;
}

async function itemLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('item', t.price * t.quantity) as line
      from invoice_items t join ${remaining} c on c.environment_id = t.environment_id and c.id = t.customer_id
     where t.invoice_id is null`.execute(db);
  return rows;
}

async function paymentLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object(
        'payments', sum(p.amount) filter (where p.status in ('succeeded', 'refunded')), 'succeeded',
        count(*) filter (where p.status in ('succeeded', 'refunded')), 'failed',
        count(*) filter (where p.status in ('failed', 'canceled')), 'others',
        count(*) filter (where p.status not in ('succeeded', 'refunded', 'failed', 'canceled')),
        'refunded', sum(p.refunded_amount), 'refunding', sum(p.refunding_amount)) as line
      from payments p join ${remaining} c on c.environment_id = p.environment_id and c.id = p.customer_id
     group by c.external_id`.execute(db);
  return rows;
}

async function methodLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('methods', count(m.id)) as line
      from ${remaining} c left join payment_methods m on m.environment_id = c.environment_id and m.customer_id = c.id
     group by c.external_id`.execute(db);
  return rows;
}

/** The position of a subscription `s` among its customer's, by age. */
const placeOfSubscription = sql`(select count(*) from subscriptions earlier
    where earlier.environment_id = s.environment_id and earlier.customer_id = s.customer_id and earlier.id < s.id)`;

// The applied amount of a credit `u` of an account `a`, including the pending one.
const applied = sql`(u.applied + case when u.id = a.pending_credit_id then a.covered - a.applied else 0 end)`;

const kindOfCredit = sql`case when u.source = 'rollover' then 'rollover' when u.source = 'purchase' then 'bought'
       when u.feature_id is null then 'by_hand' when u.expires_at is null then 'once' else 'recurring' end`;

async function creditLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, u.id, json_build_object('credit', u.issued, 'of', case when s.id is not null then ${placeOfSubscription} end, 'meter', m.slug,
        'kind', ${kindOfCredit},
        'applied', ${applied}, 'takenBack', u.taken_back,
        'left', case when u.expires_at <= ${now} then 0 else u.issued - ${applied} - u.expired - u.taken_back end,
        'priority', u.priority, 'expiresAt', u.expires_at) as line
      from usage_credits u
      join ledger_accounts a on a.environment_id = u.environment_id and a.id = u.ledger_account_id
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      left join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      join ${remaining} c on c.environment_id = a.environment_id and c.id = coalesce(s.customer_id, a.customer_id)
     order by u.environment_id, u.id`.execute(db);
  return rows;
}

/** Amounts of pools are too large for numbers. */
async function poolCreditLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, u.id, json_build_object('pool', p.slug,
        'of', (select ${placeOfSubscription} from subscriptions s
                where s.environment_id = u.environment_id and s.id = u.subscription_id),
        'kind', ${kindOfCredit},
        'credit', u.issued::text, 'applied', u.applied::text, 'takenBack', u.taken_back::text,
        'left', (case when u.expires_at <= ${now} then 0 else u.issued - u.applied - u.expired - u.taken_back end)::text,
        'priority', u.priority, 'expiresAt', u.expires_at) as line
      from usage_credits u
      join ledger_accounts a on a.environment_id = u.environment_id and a.id = u.ledger_account_id
      join credit_pools p on p.environment_id = a.environment_id and p.id = a.usage_meter_id
      join ${remaining} c on c.environment_id = a.environment_id and c.id = a.customer_id
     order by u.environment_id, u.id`.execute(db);
  return rows;
}

async function claimLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, k.id, json_build_object('claim', k.external_id, 'of', ${placeOfSubscription},
        'endsAt', k.expired_at) as line
      from resource_claims k
      join subscriptions s on s.environment_id = k.environment_id and s.id = k.subscription_id
      join ${remaining} c on c.environment_id = s.environment_id and c.id = s.customer_id
     where k.released_at is null and (k.expired_at is null or k.expired_at > ${now})
     order by k.environment_id, k.id`.execute(db);
  return rows;
}

async function meterLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('meter', m.slug, 'of', ${placeOfSubscription}, 'used', a.used,
        'settled', a.settled, 'pooled', a.pooled, 'open', o.units, 'openEvents', o.events, 'openOwn', o.own_amount::text,
        'events', e.events, 'stored', e.units, 'from', t.period_start,
        'billed', case when m.is_measured then coalesce((select sum(g.amount) from usage_charges g
          where g.environment_id = a.environment_id and g.ledger_account_id = a.id), 0) else 0 end) as line
      from ledger_accounts a
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      join ${remaining} c on c.environment_id = s.environment_id and c.id = s.customer_id
      left join usage_measures t on t.environment_id = a.environment_id and t.ledger_account_id = a.id
      cross join lateral (
        select coalesce(sum(o.uncovered - o.invoiced), 0) as units, coalesce(sum(o.events - o.invoiced_events), 0) as events,
               coalesce(sum(o.own_amount - o.invoiced_own_amount), 0) as own_amount
          from usage_overages o where o.environment_id = a.environment_id and o.ledger_account_id = a.id) o
      cross join lateral (
        select count(*) as events, coalesce(sum(e.amount), 0) as units
          from usage_events e join usage_series r on r.environment_id = e.environment_id and r.id = e.series_id
         where r.environment_id = s.environment_id and r.subscription_id = s.id and r.usage_meter_id = m.id) e
     where m.slug not in (${meterSlug}, ${usersSlug})`.execute(db);
  return rows;
}

async function usersLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('users', a.used, 'of', ${placeOfSubscription},
        'events', (select count(*) from usage_events e join usage_series r on r.environment_id = e.environment_id
           and r.id = e.series_id where r.environment_id = s.environment_id and r.subscription_id = s.id
           and r.usage_meter_id = m.id)) as line
      from ledger_accounts a
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      join ${remaining} c on c.environment_id = s.environment_id and c.id = s.customer_id
     where m.slug = ${usersSlug}`.execute(db);
  return rows;
}

async function holdLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, h.id, json_build_object('hold', h.amount, 'pooled', h.pooled, 'of', ${placeOfSubscription},
        'status', case when h.status = 'open' and h.expires_at <= ${now} then 'expired' else h.status end,
        'settled', h.settled_amount, 'expiresAt', h.expires_at) as line
      from usage_holds h
      join ledger_accounts a on a.environment_id = h.environment_id and a.id = h.ledger_account_id
      join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      join ${remaining} c on c.environment_id = s.environment_id and c.id = s.customer_id
     order by h.environment_id, h.id`.execute(db);
  return rows;
}

/** Spend limits with what is used in each period, and the events of those that were reached. */
async function limitLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('limit', l.set_by, 'of', case when s.id is not null then ${placeOfSubscription} end, 'meter', m.slug, 'pool', p.slug, 'label', l.label, 'period', l.period,
        'unit', l.unit, 'amount', l.amount::text, 'action', l.action, 'counters', coalesce(
          (select json_agg(json_build_array(coalesce(k.period_start, 0)::text, k.units::text, k.used::text) order by k.period_start, k.units, k.used)
             from spend_counters k
            where k.environment_id = l.environment_id and k.spend_limit_id = l.id and k.units > 0), '[]')) as line
      from spend_limits l
      join ${remaining} c on c.environment_id = l.environment_id and c.id = l.customer_id
      left join usage_meters m on m.environment_id = l.environment_id and m.id = l.usage_meter_id
      left join credit_pools p on p.environment_id = l.environment_id and p.id = l.usage_meter_id
      left join subscriptions s on s.environment_id = l.environment_id and s.id = l.subscription_id
     where l.set_by <> 'plan' or exists (
       select from spend_counters k
        where k.environment_id = l.environment_id and k.spend_limit_id = l.id and k.units > 0)
    union all
    select c.external_id, json_build_object('reached', count(*) filter (where e.type = 'spend_limit.reached'),
        'thresholds', count(*) filter (where e.type = 'usage_threshold.reached'))
      from events e
      join ${remaining} c on c.environment_id = e.environment_id and c.id = e.object_id
     where e.type in ('spend_limit.reached', 'usage_threshold.reached')
     group by c.external_id`.execute(db);
  return rows;
}

/** Automatic top-ups, and the cost of their purchases in the present month. */
async function topUpLines(db: Database, now: number): Promise<Told[]> {
  const month = calendarStart({ unit: 'month', count: 1 }, now);
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('topUp', p.slug, 'below', t.below::text, 'failures', t.failures,
        'isStopped', t.stopped_at is not null, 'spent', coalesce((select sum(b.amount) from auto_top_up_purchases b
           where b.environment_id = t.environment_id and b.customer_id = t.customer_id and b.status in ('open', 'paid')
             and b.month_start = ${month}), 0),
        'isOpen', exists (select from auto_top_up_purchases b
           where b.environment_id = t.environment_id and b.customer_id = t.customer_id and b.status = 'open')) as line
      from auto_top_ups t
      join ${remaining} c on c.environment_id = t.environment_id and c.id = t.customer_id
      join prices p on p.environment_id = t.environment_id and p.id = t.price_id`.execute(db);
  return rows;
}

/** Counts of failed attempts of customers, and those of everybody. */
async function attemptLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select coalesce(c.external_id, 'everybody') as name, json_build_object('attempts', a.kind, 'scope', a.scope,
        'failures', a.failures, 'from', a.counted_from, 'nextAt', a.next_at, 'reached', a.reached_at is not null) as line
      from attempt_counts a
      left join ${remaining} c on c.environment_id = a.environment_id and a.id = a.kind || ' customer ' || c.id
     where (a.scope = 'environment' or a.scope = 'customer' and c.id is not null)
       and a.counted_from + ${dayMs} > ${now}`.execute(db);
  return rows;
}
