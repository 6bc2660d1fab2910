import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { createdFilters, customerFilters, textFilter } from '../kernel/pagination.ts';
import { stamps } from '../kernel/record.ts';
import { EmailTemplateName } from '../organizations/mail-setting.ts';

export const EmailId = idSchema('email');

export const EmailStatus = z.enum(['queued', 'sent', 'bounced', 'failed', 'suppressed']).meta({
  id: 'EmailStatus',
  description:
    '`queued`: it is about to be sent, or tried again. `sent`: the mail server took it. `bounced`: the server refused the ' +
    'address. `failed`: all attempts failed. `suppressed`: it was not to be sent, as `lastError` says.',
});
export type EmailStatus = z.infer<typeof EmailStatus>;

/** An email to a customer. */
export const Email = z
  .object({
    id: EmailId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    customerId: z.string(),
    eventId: z.string().meta({ description: 'The event that caused it.' }),
    resentFrom: z.string().nullable().meta({ description: 'The email that it repeats on request; otherwise null.' }),
    template: EmailTemplateName,
    status: EmailStatus,
    attempts: z.int(),
    recipients: z.array(z.string()).meta({ description: 'The addresses of the last attempt. Empty before the first.' }),
    subject: z.string().nullable().meta({ description: 'The subject of the last attempt. Null before the first.' }),
    lastError: z.string().nullable().meta({ description: 'The reason why it was not sent, otherwise null.' }),
    sentAt: Timestamp.nullable(),
  })
  .meta({ id: 'Email', description: 'An email to a customer. Its instants are real time.' });
export type Email = z.infer<typeof Email>;

/** The filters of an email list. */
export const emailFilters = {
  ...customerFilters,
  status: EmailStatus.optional(),
  template: EmailTemplateName.optional(),
  eventId: textFilter,
  ...createdFilters,
};

// Two days, as the queue waits e^attempt seconds between attempts.
export const maxEmailAttempts = 12;
const maxErrorLength = 500;

/** The outcome of an attempt to send an email. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'suppressed'; readonly reason: string }
  /** The mail server, or the way to it, refused. `responseCode` is that of SMTP, if it answered. */
  | { readonly kind: 'refused'; readonly reason: string; readonly responseCode: number | null };

// 550 to 553: the mailbox does not exist, is not local or is not allowed (RFC 5321, 4.2.3).
const isAddressRefused = (code: number | null) => code !== null && code >= 550 && code <= 553;

/** The state of an email after its attempt number `attempts`. A refusal for now leaves it queued for another attempt. */
export function decideSent(attempts: number, outcome: SendOutcome): { status: EmailStatus; lastError: string | null } {
  if (outcome.kind === 'sent') return { status: 'sent', lastError: null };
  const lastError = outcome.reason.slice(0, maxErrorLength);
  if (outcome.kind === 'suppressed') return { status: 'suppressed', lastError };
  if (isAddressRefused(outcome.responseCode)) return { status: 'bounced', lastError };
  return { status: attempts >= maxEmailAttempts ? 'failed' : 'queued', lastError };
}
