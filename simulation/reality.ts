import { sql } from 'kysely';
import type { Database } from '../src/platform/database.ts';

/** A record as a line of text that says what matters of it, by whom it is about. */
export type Picture = ReadonlyMap<string, readonly string[]>;

interface Told {
  readonly name: string;
  readonly line: Readonly<Record<string, unknown>>;
}

/** What the service has written down, read past the service, on one view of the data. */
export async function readReality(owner: Database, now: number): Promise<Picture> {
  return owner
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (db) => {
      const told = [
        await subscriptionLines(db, now),
        await invoiceLines(db),
        await paymentLines(db),
        await methodLines(db),
      ].flat();
      return pictureOf(told);
    });
}

/** Lines of all kinds together, as they were told, by the customer. */
export function pictureOf(told: readonly Told[]): Picture {
  const byName = Map.groupBy(told, ({ name }) => name);
  return new Map([...byName].map(([name, lines]) => [name, lines.map(({ line }) => JSON.stringify(line, asNumbers))]));
}

function asNumbers(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

async function subscriptionLines(db: Database, now: number): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object(
        'subscription', p.slug, 'status', s.status,
        'quantity', (select i.quantity from subscription_items i
           where i.environment_id = s.environment_id and i.subscription_id = s.id and not i.manually_created
           order by i.id desc limit 1),
        'start', s.current_billing_period_start, 'end', s.current_billing_period_end,
        'trial', s.trial_end, 'cancelAt', s.cancel_scheduled_at, 'canceledAt', s.canceled_at, 'reason', s.cancellation_reason,
        'resumesAt', s.resumes_at, 'kept', s.paused_credit, 'isToChange', s.scheduled_adjustment_at is not null,
        'granted', coalesce(a.granted, 0), 'used', coalesce(a.used, 0), 'covered', coalesce(a.covered, 0),
        'settled', coalesce(a.settled, 0),
        'left', coalesce((select sum(u.issued - u.applied - u.expired - u.taken_back) from usage_credits u
           where u.environment_id = a.environment_id and u.ledger_account_id = a.id
             and (u.expires_at is null or u.expires_at > ${now})), 0),
        'unbilled', coalesce((select sum(o.uncovered - o.invoiced) from usage_overages o
           where o.environment_id = a.environment_id and o.ledger_account_id = a.id), 0),
        'events', (select count(*) from usage_events e join usage_series r on r.environment_id = e.environment_id
           and r.id = e.series_id where r.environment_id = s.environment_id and r.subscription_id = s.id),
        'claims', (select count(*) from resource_claims k where k.environment_id = s.environment_id
           and k.subscription_id = s.id and k.released_at is null and (k.expired_at is null or k.expired_at > ${now}))
      ) as line
      from subscriptions s
      join customers c on c.environment_id = s.environment_id and c.id = s.customer_id
      join prices p on p.environment_id = s.environment_id and p.id = s.price_id
      left join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
     order by s.environment_id, s.created_at, s.id`.execute(db);
  return rows;
}

async function invoiceLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object(
        'invoice', i.reason, 'at', i.invoice_date, 'status', i.status, 'total', i.total, 'discount', i.discount_amount,
        'paid', i.amount_paid, 'refunded', i.amount_refunded, 'attempts', i.attempt_count, 'nextAt', i.next_attempt_at,
        'lines', (select json_agg(l.amount order by l.amount, l.id) from invoice_line_items l
           where l.environment_id = i.environment_id and l.invoice_id = i.id),
        'units', (select coalesce(sum(l.ledger_account_credit), 0) from invoice_line_items l
           where l.environment_id = i.environment_id and l.invoice_id = i.id)) as line
      from invoices i join customers c on c.environment_id = i.environment_id and c.id = i.customer_id
     order by i.environment_id, length(i.invoice_number), i.invoice_number`.execute(db);
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
      from payments p join customers c on c.environment_id = p.environment_id and c.id = p.customer_id
     group by c.external_id`.execute(db);
  return rows;
}

async function methodLines(db: Database): Promise<Told[]> {
  const { rows } = await sql<Told>`
    select c.external_id as name, json_build_object('methods', count(m.id)) as line
      from customers c left join payment_methods m on m.environment_id = c.environment_id and m.customer_id = c.id
     group by c.external_id`.execute(db);
  return rows;
}
