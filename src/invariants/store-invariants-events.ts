import { sql } from 'kysely';
import { idPrefixes } from '../kernel/id.ts';
import type { Invariant } from './store-invariants.ts';

// A webhook and an event created at the same time may not see each other, because commits take time.
const togetherMs = 60_000;

/** The table of each kind of event object. */
const eventTables = {
  customer: 'customers',
  subscription: 'subscriptions',
  payment: 'payments',
  purchase: 'purchases',
  checkoutSession: 'checkout_sessions',
  creditNote: 'credit_notes',
  paymentMethod: 'payment_methods',
} as const;

/** Invariants of events and their deliveries to webhooks. */
export const eventInvariants: readonly Invariant[] = [
  {
    name: 'eventsHaveTheirDeliveries',
    // The earlier filter or activity of a changed webhook is unknown.
    sentence:
      'An event has a delivery to each active webhook of its pricing model that subscribed to its type at least a minute before.',
    query: sql`
      select e.environment_id, e.id, e.type, w.id as webhook_id, w.wanted_since
        from (select w.*, ${sql.lit(`${idPrefixes.event}_`)} || id_time(w.wanted_since + ${sql.lit(togetherMs)}) as first_id
                from webhooks w where w.active) w
        join events e on e.environment_id = w.environment_id and e.pricing_model_id = w.pricing_model_id and e.id > w.first_id
       where webhook_wants(w.filter_types, e.type)
         and e.id ~ ${sql.lit(`^${idPrefixes.event}_[0-9A-Za-z]{21}$`)}
         and not exists (
           select from webhook_deliveries d
            where d.environment_id = e.environment_id and d.event_id = e.id and d.webhook_id = w.id)`,
  },
  {
    name: 'deliveriesAreOfTheirEvents',
    sentence:
      'A delivery has the type, object and pricing model of its event, and its webhook belongs to that pricing model.',
    query: sql`
      select d.environment_id, d.id, d.event_id, d.event_type, d.object_id, d.pricing_model_id, e.type, e.object_id as event_object_id,
             e.pricing_model_id as event_pricing_model_id, w.pricing_model_id as webhook_pricing_model_id
        from webhook_deliveries d
        left join events e on e.environment_id = d.environment_id and e.id = d.event_id
        left join webhooks w on w.environment_id = d.environment_id and w.id = d.webhook_id
       where w.id is null or w.pricing_model_id <> d.pricing_model_id
          or (d.event_id is not null and (e.type, e.object_id, e.pricing_model_id)
                is distinct from (d.event_type, d.object_id, d.pricing_model_id))`,
  },
  {
    name: 'deliveriesTellTheirAttempts',
    sentence:
      'A delivery is pending, succeeded with its last attempt, or failed; it counts at least its stored attempts.',
    query: sql`
      select d.environment_id, d.id, d.status, d.attempts, d.failures, d.next_attempt_at, d.last_attempt_at, a.last_number
        from webhook_deliveries d
        left join (select environment_id, delivery_id, max(number) as last_number
                     from webhook_attempts group by environment_id, delivery_id) a
          on a.environment_id = d.environment_id and a.delivery_id = d.id
       where (d.status = 'pending') <> (d.next_attempt_at is not null)
          or (d.attempts > 0) <> (d.last_attempt_at is not null)
          or (d.status = 'succeeded' and d.attempts = 0)
          or coalesce(a.last_number, 0) > d.attempts or d.failures not between 0 and d.attempts`,
  },
  {
    name: 'eventsTellOfRecords',
    sentence: 'An event refers to an existing record of its pricing model.',
    query: sql`${sql.join(
      Object.entries(eventTables).map(
        ([object, table]) => sql`
      select e.environment_id, e.id, e.type, e.object, e.object_id, e.pricing_model_id
        from events e
        left join ${sql.table(table)} r
          on r.environment_id = e.environment_id and r.id = e.object_id and r.pricing_model_id = e.pricing_model_id
       where e.object = ${sql.lit(object)} and r.id is null`,
      ),
      sql` union all `,
    )}`,
  },
  {
    name: 'reachedLimitsAreTold',
    sentence: 'A limit of failed attempts that a link or customer has reached was published as an event.',
    query: sql`
      select c.environment_id, c.id, c.failures, c.reached_limit, c.reached_at
        from attempt_counts c
       where c.reached_at is not null and c.scope in ('link', 'customer')
         and not exists (
           select from events e
            where e.environment_id = c.environment_id and e.type = 'attempts.limit_reached'
              and e.payload -> 'attempts' = jsonb_build_object('kind', c.kind, 'scope', c.scope)
              and split_part(c.id, ' ', 3) in (e.object_id, e.payload -> 'customer' ->> 'id'))`,
  },
  {
    name: 'invoicesAreTold',
    sentence:
      'An invoice has an event of its creation, of its finalization, and of having been paid, voided or written off, where it was.',
    query: sql`
      select i.environment_id, i.id, i.status, told.type
        from invoices i
       cross join lateral (values
         ('invoice.created', true), ('invoice.finalized', i.invoice_number is not null),
         ('invoice.paid', i.status in ('paid', 'partially_refunded', 'refunded') and i.consolidated_into is null),
         ('invoice.voided', i.status = 'void' and i.consolidated_into is null),
         ('invoice.uncollectible', i.status = 'uncollectible' and i.consolidated_into is null)) as told (type, is_wanted)
       where told.is_wanted
         and not exists (select from events e where e.environment_id = i.environment_id and e.object_id = i.id and e.type = told.type)`,
  },
  {
    name: 'refundsAreTold',
    sentence: 'A refund has an event of its payment.',
    query: sql`
      select r.environment_id, r.id, r.payment_id from refunds r
       where not exists (
         select from events e
          where e.environment_id = r.environment_id and e.object_id = r.payment_id and e.type = 'refund.created' and e.cause = r.id)`,
  },
  {
    name: 'noticesWereTold',
    sentence: 'A due date or the end of a trial that is no longer awaited was published as an event.',
    query: sql`
      select i.environment_id, i.id, i.due_date as due_at from invoices i
       where i.due_date is not null and i.notice_at is null and i.consolidated_into is null
         and not exists (
           select from events e
            where e.environment_id = i.environment_id and e.object_id = i.id and e.type = 'invoice.overdue' and e.cause = '')
      union all
      select s.environment_id, s.id, s.trial_end from subscriptions s
       where s.trial_end is not null and s.notice_at is null
         and not exists (
           select from events e
            where e.environment_id = s.environment_id and e.object_id = s.id and e.type = 'subscription.trial_will_end'
              and e.cause = s.trial_end::text)`,
  },
  {
    name: 'eventsSayWhatTheyAre',
    sentence: 'The body of an event contains its id, type, object and time.',
    query: sql`
      select environment_id, id, type, object_id, occurred_at, payload
        from events
       where payload ->> 'eventId' is distinct from id or payload ->> 'type' is distinct from type
          or payload ->> 'id' is distinct from object_id or payload ->> 'object' is distinct from object
          or payload -> 'occurredAt' is distinct from to_jsonb(occurred_at)`,
  },
  {
    name: 'emailsAreOfTheirEvents',
    sentence: 'An email is of the kind that its event causes, to the customer of the event and in its pricing model.',
    query: sql`
      select m.environment_id, m.id, m.template, m.customer_id, m.pricing_model_id, e.type, e.payload -> 'customer' as customer
        from emails m join events e on e.environment_id = m.environment_id and e.id = m.event_id
       where m.pricing_model_id <> e.pricing_model_id
          or m.customer_id <> e.payload -> 'customer' ->> 'id'
          -- An erased event tells nothing of its record.
          or (e.payload -> 'data' <> 'null' and m.template is distinct from email_of_event(e.type, e.payload -> 'data'))`,
  },
  {
    name: 'queuedEmailsHaveAJob',
    sentence: 'An email that is queued has a job that sends it.',
    query: sql`
      select m.environment_id, m.id, m.attempts
        from emails m
       where m.status = 'queued'
         and not has_job_with_key('email:' || m.id)`,
  },
];
