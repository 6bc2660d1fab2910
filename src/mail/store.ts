import { sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import { textArray } from '../database/array-literal.ts';
import { newId } from '../database/new-id.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { type Email, type EmailStatus, maxEmailAttempts } from './email.ts';

/** An email without the fields of its environment. */
export type EmailRow = Omit<Email, 'livemode' | 'organizationId'>;

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'eventId',
  'resentFrom',
  'template',
  'status',
  'attempts',
  'recipients',
  'bouncedRecipients',
  'subject',
  'lastError',
  'sentAt',
] as const;

// Rows are cast to the record's type: check constraints limit the status and the template.

export async function findEmail(work: Work, id: string): Promise<EmailRow | null> {
  const row = await work.db
    .selectFrom('emails')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<EmailRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** A page of emails in order of creation, plus one if there are more, and the total number of matches. */
export function pageOfEmails(work: Work, request: PageRequest): Promise<{ rows: EmailRow[]; total: number }> {
  return selectPage<EmailRow>(work, 'emails', columns, request, {
    status: 'status',
    template: 'template',
    eventId: 'event_id',
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
  });
}

/** Queues an email that repeats another one. */
export async function insertRepeat(work: Work, origin: EmailRow, at: number): Promise<EmailRow> {
  const { pricingModelId, customerId, eventId, template, id: resentFrom } = origin;
  return work.db
    .insertInto('emails')
    .values({
      ...{ environmentId: work.environmentId, id: newId('email', customerId), createdAt: at, updatedAt: at },
      ...{ pricingModelId, customerId, eventId, template, resentFrom },
    })
    .returning(columns)
    .$castTo<EmailRow>()
    .executeTakeFirstOrThrow();
}

/** Stores an attempt at a queued email; null if it is no longer queued. `at` is real time. */
export async function recordAttempt(
  work: Work,
  id: string,
  {
    status,
    at,
    ...attempt
  }: {
    readonly status: EmailStatus;
    readonly lastError: string | null;
    readonly recipients: readonly string[];
    readonly bouncedRecipients: readonly string[];
    readonly subject: string | null;
    readonly at: number;
  },
): Promise<EmailRow | null> {
  const row = await work.db
    .updateTable('emails')
    .set({
      ...attempt,
      ...{ recipients: [...attempt.recipients], bouncedRecipients: [...attempt.bouncedRecipients] },
      ...{ status, updatedAt: at, sentAt: status === 'sent' ? at : null },
      attempts: sql`least(attempts + 1, ${maxEmailAttempts})`,
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .returning(columns)
    .$castTo<EmailRow>()
    .executeTakeFirst();
  return row ?? null;
}

/**
 * The addresses, in lower case, that refused the last email of the customer to them, with the reason. An email that is
 * sent again on request does not look at earlier ones.
 */
export async function findBounced(
  work: Work,
  { id, customerId, resentFrom }: EmailRow,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ownOnly = resentFrom === null ? sql`` : sql`and e.id >= ${id}`;
  const { rows } = await sql<{ address: string; reason: string | null }>`
    select asked.address, last.last_error as reason
      from unnest(${textArray(addresses.map((address) => address.toLowerCase()))}::text[]) asked (address)
     cross join lateral (
      select e.last_error, lower(e.bounced_recipients::text)::text[] as bounced
        from emails e
       where e.environment_id = ${work.environmentId} and e.customer_id = ${customerId} ${ownOnly}
         and (e.status = 'sent' and asked.address = any (lower(e.recipients::text)::text[])
           or asked.address = any (lower(e.bounced_recipients::text)::text[]))
       order by e.id desc
       limit 1
    ) last
     where asked.address = any (last.bounced)`.execute(work.db);
  return new Map(rows.map(({ address, reason }) => [address, reason ?? '']));
}
