import { z } from 'zod';
import { freeText } from '../kernel/json.ts';
import { textLimits } from '../kernel/text-limits.ts';

/** The emails to customers, and the placeholders that their texts may have. */
const emailPlaceholders = {
  invoice_issued: ['seller', 'customer', 'number', 'amount', 'date'],
  receipt: ['seller', 'customer', 'number', 'amount', 'date'],
  payment_failed: ['seller', 'customer', 'number', 'amount', 'date', 'retry'],
  payment_action_required: ['seller', 'customer', 'number', 'amount', 'date'],
  payment_waiting: ['seller', 'customer', 'amount', 'date'],
  subscription_canceled: ['seller', 'customer', 'plan', 'date'],
  credit_note_issued: ['seller', 'customer', 'number', 'amount', 'date'],
  trial_ending: ['seller', 'customer', 'plan', 'date'],
  card_expiring: ['seller', 'customer', 'card', 'date'],
  spend_limit_reached: ['seller', 'customer', 'limit', 'again'],
  top_up_action_required: ['seller', 'customer', 'date'],
} as const;

export type EmailTemplateName = keyof typeof emailPlaceholders;
const emailTemplateNames = Object.keys(emailPlaceholders) as EmailTemplateName[];
export const EmailTemplateName = z.enum(emailTemplateNames as [EmailTemplateName, ...EmailTemplateName[]]).meta({
  description:
    '`invoice_issued`: an invoice was sent, with its PDF. `receipt`: a payment succeeded. `payment_failed`: a payment of an ' +
    'invoice failed, with a link to pay it. `payment_action_required`: the bank wants the customer to confirm one. `payment_waiting`: one that a customer began waits for its confirmation. `subscription_canceled`: a subscription ended. `credit_note_issued`: a credit ' +
    'note, with its PDF. `trial_ending`: a trial ends in three days. `card_expiring`: the card expires at the end of the month. ' +
    '`spend_limit_reached`: the amount of a spend limit is used. `top_up_action_required`: the bank wants the customer to confirm an ' +
    'automatic top-up.',
});

// As many people as test one environment.
const maxTestRecipients = 50;

const Email = z.email().max(textLimits.email);
const Recipient = z.union(
  [
    Email,
    z
      .string()
      .max(255)
      .regex(/^@[a-z0-9-]+(\.[a-z0-9-]+)+$/i),
  ],
  {
    error: 'must be an email address, or a domain such as @example.com',
  },
);

const EmailTexts = z
  .object({
    subject: z.string().nullable().meta({ description: 'The subject; null: the usual one, in the language.' }),
    text: z.string().nullable().meta({ description: 'The text; null: the usual one, in the language.' }),
  })
  .meta({ id: 'EmailTexts', description: 'Own texts of an email, in any language. `{customer}` is a placeholder.' });
export type EmailTexts = Readonly<z.infer<typeof EmailTexts>>;

/** The settings of emails to customers. */
export const MailSettings = z
  .object({
    enabled: z.boolean().meta({
      description: 'If true, customers get emails about events from now on. The service needs a mail server for that.',
    }),
    replyTo: z.string().nullable().meta({ description: 'The address for answers; null: the address of the sender.' }),
    testRecipients: z.array(z.string()).meta({
      description:
        'The addresses that get emails in test mode: `jo@example.com`, or `@example.com` for all of a domain. Others ' +
        'get none. Live mode ignores it.',
    }),
    texts: z.partialRecord(z.enum(emailTemplateNames), EmailTexts).meta({
      description: 'Own texts of emails, by the name of the email. Their placeholders are filled in.',
    }),
  })
  .meta({ id: 'MailSettings', description: 'The emails to customers.' });
export type MailSettings = Readonly<z.infer<typeof MailSettings>>;

/** A text whose placeholders the email has. */
function textOf(name: EmailTemplateName, text: ReturnType<typeof freeText>) {
  const known: readonly string[] = emailPlaceholders[name];
  const all = known.map((each) => `{${each}}`).join(', ');
  return text
    .trim()
    .min(1)
    .refine(
      (value) => [...value.matchAll(/\{([^{}]*)\}/g)].every(([, placeholder = '']) => known.includes(placeholder)),
      `must have no other placeholders than ${all}`,
    );
}

/** Own texts of one email. */
function textsOf(name: EmailTemplateName) {
  return z
    .object({
      // A subject is one line.
      subject: textOf(name, freeText('name').regex(/^[^\r\n]*$/, 'must be one line')).nullish(),
      text: textOf(name, freeText('description')).nullish(),
    })
    .nullish();
}

const TextsChange = z.object({
  invoice_issued: textsOf('invoice_issued'),
  receipt: textsOf('receipt'),
  payment_failed: textsOf('payment_failed'),
  payment_action_required: textsOf('payment_action_required'),
  payment_waiting: textsOf('payment_waiting'),
  subscription_canceled: textsOf('subscription_canceled'),
  credit_note_issued: textsOf('credit_note_issued'),
  trial_ending: textsOf('trial_ending'),
  card_expiring: textsOf('card_expiring'),
  spend_limit_reached: textsOf('spend_limit_reached'),
  top_up_action_required: textsOf('top_up_action_required'),
});

/** A change of the settings of emails. Absent fields keep their value; `null` of an email removes its own texts. */
export const MailSettingsChange = z.object({
  enabled: z.boolean().optional(),
  replyTo: Email.nullish(),
  testRecipients: z.array(Recipient).max(maxTestRecipients).optional(),
  texts: TextsChange.optional(),
});
export type MailSettingsChange = z.output<typeof MailSettingsChange>;

/** The settings of emails after a change. */
export function decideMailSettings(current: MailSettings, change: MailSettingsChange = {}): MailSettings {
  const texts: Partial<Record<EmailTemplateName, EmailTexts>> = { ...current.texts };
  for (const name of emailTemplateNames) {
    const changed = change.texts?.[name];
    if (changed === undefined) continue;
    const { subject = texts[name]?.subject ?? null, text = texts[name]?.text ?? null } = changed ?? {
      subject: null,
      text: null,
    };
    if (subject === null && text === null) delete texts[name];
    else texts[name] = { subject, text };
  }
  return {
    enabled: change.enabled ?? current.enabled,
    replyTo: change.replyTo === undefined ? current.replyTo : change.replyTo,
    testRecipients: change.testRecipients ?? current.testRecipients,
    texts,
  };
}

/** Whether an address may get emails: any in live mode, and those on the list in test mode. */
export function mayReceive({ testRecipients }: MailSettings, livemode: boolean, address: string): boolean {
  if (livemode) return true;
  const wanted = address.toLowerCase();
  const domain = wanted.slice(wanted.lastIndexOf('@'));
  return testRecipients.some((each) => [wanted, domain].includes(each.toLowerCase()));
}
