import { z } from 'zod';
import type { RefusedRecipient } from '../jobs/smtp.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { createdFilters, customerFilters, textFilter } from '../kernel/pagination.ts';
import { stamps } from '../kernel/record.ts';
import { EmailTemplateName } from '../organizations/mail-setting.ts';

export const EmailId = idSchema('email');

export const EmailStatus = z.enum(['queued', 'sent', 'bounced', 'failed', 'suppressed']).meta({
  id: 'EmailStatus',
  description:
    '`queued`: it is about to be sent, or tried again. `sent`: the mail server took it. `bounced`: the server refused ' +
    'all its addresses for good. `failed`: all attempts failed. `suppressed`: it was not to be sent, as `lastError` says.',
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
    bouncedRecipients: z.array(z.string()).meta({
      description:
        'The addresses among them that the mail server refused for good. Later emails are not sent to them, until the ' +
        'customer has another address, or an email is sent again on request and arrives.',
    }),
    subject: z.string().nullable().meta({ description: 'The subject of the last attempt. Null before the first.' }),
    lastError: z.string().nullable().meta({
      description: 'The reason why it was not sent, or not to all its recipients; otherwise null.',
    }),
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
  | { readonly kind: 'suppressed'; readonly reason: string }
  | { readonly kind: 'sent'; readonly refusedRecipients: readonly RefusedRecipient[] }
  /** The mail server, or the way to it, refused. */
  | { readonly kind: 'refused'; readonly reason: string; readonly refusedRecipients: readonly RefusedRecipient[] };

/**
 * Whether the server will never take a message for the address: the mailbox does not exist, is not local or is not
 * allowed (RFC 5321, 4.2.3). A reason 5.7 is about the sender, such as one that is on a block list.
 */
function isBounce({ responseCode, reason }: RefusedRecipient): boolean {
  return responseCode !== null && [550, 551, 553].includes(responseCode) && !/\b5\.7\.\d/.test(reason);
}

/** The part of an email that an attempt decides. */
interface Attempted {
  readonly status: EmailStatus;
  readonly lastError: string | null;
  readonly bouncedRecipients: string[];
}

/**
 * An email to these recipients after its attempt number `attempts`. A refusal for now leaves it queued for another
 * attempt, without the addresses that were refused for good.
 */
export function decideSent(attempts: number, recipients: readonly string[], outcome: SendOutcome): Attempted {
  const short = (reason: string) => reason.slice(0, maxErrorLength);
  if (outcome.kind === 'suppressed')
    return { status: 'suppressed', lastError: short(outcome.reason), bouncedRecipients: [] };
  const bounces = outcome.refusedRecipients.filter(isBounce);
  const refused = new Set(bounces.map(({ address }) => address.toLowerCase()));
  const bouncedRecipients = recipients.filter((address) => refused.has(address.toLowerCase()));
  const about = outcome.refusedRecipients.map(({ address, reason }) => `${address}: ${reason}`).join('; ');
  if (outcome.kind === 'sent') return { status: 'sent', lastError: short(about) || null, bouncedRecipients };
  const lastError = short(about || outcome.reason);
  if (bouncedRecipients.length > 0 && bouncedRecipients.length === recipients.length)
    return { status: 'bounced', lastError, bouncedRecipients };
  return { status: attempts >= maxEmailAttempts ? 'failed' : 'queued', lastError, bouncedRecipients };
}

/** The texts of one email in one language, with placeholders in braces. */
interface EmailMessage {
  readonly subject: string;
  readonly heading: string;
  readonly text: string;
  /** The label of the link; null without one. */
  readonly action: string | null;
}

/** Every text of emails in one language. */
export interface EmailCatalogue {
  readonly greeting: string;
  readonly closing: string;
  /** The day of the next attempt to collect an invoice, or that there is none. */
  readonly retry: string;
  readonly noRetry: string;
  /** The day on which a limit begins again. */
  readonly again: string;
  readonly emails: Readonly<Record<EmailTemplateName, EmailMessage>>;
}
