import assert from 'node:assert/strict';
import { findPageOfPayment } from '../checkout/actions-sessions.ts';
import { getCreditNote, getCreditNoteDocument } from '../credit-notes/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { invoiceUrl, portalUrl } from '../customers/portal-link.ts';
import { findCustomer, lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import type { PrintedDocument } from '../documents/document.ts';
import { type DocumentServices, getDocument } from '../invoicing/actions-document.ts';
import { amountDue } from '../invoicing/invoice.ts';
import { findInvoice, type InvoiceRow } from '../invoicing/store.ts';
import { enqueue } from '../jobs/queue.ts';
import type { Smtp } from '../jobs/smtp.ts';
import { msPerDay } from '../kernel/calendar.ts';
import { type Language, localMoney } from '../kernel/language.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { Branding } from '../organizations/branding.ts';
import { type EmailTemplateName, mayReceive } from '../organizations/mail-setting.ts';
import type { BillingSettings } from '../organizations/setting.ts';
import { readBranding, readSellerName, readSettings } from '../organizations/store-settings.ts';
import { findReceipt } from '../payments/actions-receipt.ts';
import { findPayment } from '../payments/store.ts';
import { findPaymentMethods } from '../payments/store-payment-methods.ts';
import { findCreditPool } from '../pricing/store-credit-pools.ts';
import { findUsageMeter } from '../pricing/store-usage-meters.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { getEvent } from '../webhooks/actions-events.ts';
import type { Event } from '../webhooks/event.ts';
import { decideSent, type Email, type SendOutcome } from './email.ts';
import { type EmailContent, type EmailFacts, writeEmail } from './email-content.ts';
import * as store from './store.ts';

/** The part of the external services that emails use. */
export interface WithMail {
  readonly mail?: MailServices;
}

/** The mail server, and the address of the service in the links of emails. */
interface MailServices {
  readonly smtp: Smtp;
  readonly publicUrl: string;
}

/** The mail server. Refuses with `mailNotConfigured` if the service was started without one. */
export function requireMail({ mail }: WithMail = {}): MailServices {
  if (mail === undefined) throw new Problem('mailNotConfigured');
  return mail;
}

export const sendTask = 'send_email';

function render(work: Work, row: store.EmailRow): Email {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/** Refuses with `emailNotFound`. */
export async function getEmail(work: Work, id: string): Promise<Email> {
  return render(work, await requireEmail(work, id));
}

async function requireEmail(work: Work, id: string): Promise<store.EmailRow> {
  const row = await store.findEmail(work, id);
  if (row === null) throw new Problem('emailNotFound', { id });
  return row;
}

/** The environment's emails, in order of creation. Refuses an empty time range. */
export async function listEmails(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfEmails(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

/**
 * Queues the same email again. Refuses with `emailStillQueued` one that is about to be sent, and with
 * `mailNotConfigured` without a mail server.
 */
export async function resendEmail(work: Work, services: WithMail | undefined, id: string): Promise<Email> {
  const origin = await requireEmail(work, id);
  requireMail(services);
  if (origin.status === 'queued') throw new Problem('emailStillQueued', { id });
  const repeat = await store.insertRepeat(work, origin, Date.now());
  await enqueue(work, sendTask, { emailId: repeat.id }, { key: `email:${repeat.id}` });
  return render(work, repeat);
}

/** A document to attach, not yet laid out. */
interface Attachment {
  readonly filename: string;
  readonly document: PrintedDocument;
}

/** A queued email with all that it says, or the reason why it is not to be sent. */
export type PreparedEmail =
  | {
      readonly kind: 'ready';
      readonly content: EmailContent;
      readonly senderName: string;
      readonly replyTo: string | null;
      readonly recipients: readonly string[];
      readonly attachment: Attachment | null;
    }
  | { readonly kind: 'suppressed'; readonly reason: string; readonly recipients: readonly string[] };

// These go to an accounts department. A trial, a card and the end of a subscription concern the customer itself.
const aboutInvoices: ReadonlySet<EmailTemplateName> = new Set([
  'invoice_issued',
  'receipt',
  'payment_failed',
  'payment_action_required',
  'payment_waiting',
  'credit_note_issued',
]);

/** Writes a queued email; null if it is no longer queued. */
export async function prepareEmail(work: Work, id: string, services: DocumentServices): Promise<PreparedEmail | null> {
  const email = await store.findEmail(work, id);
  if (email?.status !== 'queued') return null;
  const customer = await findCustomer(work, email.customerId);
  assert(customer, 'an email has its customer');
  const { billingTerms: terms } = customer;
  const ofInvoices = aboutInvoices.has(email.template) ? terms?.invoiceEmails : undefined;
  const addresses = ofInvoices ?? (customer.email === '' ? [] : [customer.email]);
  const settings = await readSettings(work);
  const suppressed = (reason: string) => ({ kind: 'suppressed' as const, reason, recipients: addresses });
  if (customer.erasedAt !== null) return suppressed('The personal data of the customer was erased.');
  if (addresses.length === 0) return suppressed('The customer has no email address.');
  if (!addresses.every((address) => mayReceive(settings.mail, work.livemode, address)))
    return suppressed('In test mode only addresses in `mail.testRecipients` of the settings get emails.');
  const bounced = await store.findBounced(work, email, addresses);
  const recipients = addresses.filter((address) => !bounced.has(address.toLowerCase()));
  if (recipients.length === 0) return suppressed(bouncedText(bounced));
  const subject = await subjectOf(work, services, await getEvent(work, email.eventId), {
    template: email.template,
    language: terms?.language ?? 'en',
  });
  if (typeof subject === 'string') return suppressed(subject);
  const { invoice, attachment, page: other = null, opensPortal = false, ...facts } = subject;
  const portal = opensPortal ? portalOf(work, services, customer) : null;
  const link =
    invoice === null
      ? (other ?? portal)
      : invoiceUrl(services.publicUrl, services.encryption, {
          environmentId: work.environmentId,
          invoiceId: invoice.id,
          version: customer.portalVersion,
        });
  const seller = await readSellerName(work);
  const content = writeEmail(
    email.template,
    { ...noLimit, ...facts, seller, customer: customer.name, link },
    {
      ...styleOf(settings, email.template, terms?.language ?? 'en'),
      ...{ branding: await readBranding(work), images: 'attached' },
      ...(terms?.timeZone === undefined ? {} : { timeZone: terms.timeZone }),
    },
  );
  return { kind: 'ready', content, senderName: seller, replyTo: settings.mail.replyTo, recipients, attachment };
}

// An email is read some days later, and forwarded: then the portal is closed.
const portalDays = 7;

function portalOf(
  { environmentId }: Work,
  { publicUrl, encryption }: DocumentServices,
  { id: customerId, portalVersion: version }: CustomerRow,
): string {
  const expiresAt = Date.now() + portalDays * msPerDay;
  return portalUrl(publicUrl, encryption, { environmentId, customerId, version, expiresAt, returnUrl: null });
}

/** Why an email is not sent to addresses that were refused before. */
function bouncedText(bounced: ReadonlyMap<string, string>): string {
  const [reason = ''] = bounced.values();
  return `Not sent, until the address is another one or an email to it is sent again. The mail server refused ${reason}`;
}

function styleOf({ timeZone, mail }: BillingSettings, template: EmailTemplateName, language: Language) {
  return { language, timeZone, own: mail.texts[template] ?? null };
}

/** The record that an email is about. */
interface Subject
  extends Pick<EmailFacts, 'number' | 'money' | 'date' | 'plan' | 'card' | 'nextAttemptAt'>,
    Partial<Pick<EmailFacts, 'limit' | 'againAt'>> {
  /** The invoice that its link leads to. */
  readonly invoice: InvoiceRow | null;
  readonly attachment: Attachment | null;
  /** Another page that it leads to. */
  readonly page?: string | null;
  /** Whether it leads to the portal. */
  readonly opensPortal?: boolean;
}

/** Reads the record that an email is about, or the reason why it is not to be sent. */
function subjectOf(
  work: Work,
  services: DocumentServices,
  event: Event,
  { template, language }: { readonly template: EmailTemplateName; readonly language: Language },
): Promise<Subject | string> {
  switch (template) {
    case 'invoice_issued':
      return issuedInvoice(work, services, event.objectId);
    case 'receipt':
    case 'payment_failed':
    case 'payment_action_required':
      return chargedInvoice(work, services, event, template);
    case 'payment_waiting':
      return waitingPayment(work, services, event.objectId);
    case 'credit_note_issued':
      return issuedCreditNote(work, event.objectId);
    case 'subscription_canceled':
      return Promise.resolve({ ...withoutInvoice, date: event.occurredAt, plan: planOf(event) });
    case 'trial_ending':
      return endingTrial(work, event);
    case 'card_expiring':
      return expiringCard(work, event.objectId);
    case 'spend_limit_reached':
      return reachedLimit(work, event, language);
    case 'top_up_action_required':
      return Promise.resolve({ ...withoutInvoice, date: event.occurredAt, opensPortal: true });
  }
}

const withoutInvoice = {
  ...{ number: null, money: null, plan: null, card: null, nextAttemptAt: null },
  ...{ invoice: null, attachment: null },
};

const noLimit = { limit: null, againAt: null };

function planOf({ payload }: Event): string {
  const plan = payload.data?.name;
  return typeof plan === 'string' ? plan : '';
}

async function endingTrial(work: Work, event: Event): Promise<Subject | string> {
  const [subscription] = await findSubscriptions(work, [event.objectId]);
  const { trialEnd = null, status } = subscription ?? {};
  // A subscription whose cancellation is scheduled has another status.
  if (status !== 'trialing' || trialEnd === null) return 'The trial has ended, or the subscription ends with it.';
  return { ...withoutInvoice, date: trialEnd, plan: planOf(event) };
}

async function expiringCard(work: Work, id: string): Promise<Subject | string> {
  const [method] = await findPaymentMethods(work, [id]);
  const { brand = '', last4 = '', expMonth, expYear } = method?.paymentMethodData ?? {};
  if (!expMonth || !expYear) return 'The card was removed.';
  // Noon of the last day of the month is that day in nearly every time zone.
  const date = Date.UTC(Number(expYear), Number(expMonth), 0, 12);
  const name = String(brand).replace(/^./, (first) => first.toUpperCase());
  return { ...withoutInvoice, date, card: `${name} •••• ${last4}` };
}

const notOwed = 'The invoice was voided or written off meanwhile.';

/** Whether nobody is asked for the money of an invoice any more. */
function isEnded({ status }: InvoiceRow): boolean {
  return status === 'void' || status === 'uncollectible';
}

async function issuedInvoice(work: Work, services: DocumentServices, id: string): Promise<Subject | string> {
  const invoice = await requireInvoice(work, id);
  if (isEnded(invoice)) return notOwed;
  const { invoiceNumber: number, currency, dueDate, invoiceDate, total } = invoice;
  // One that is paid already is sent for its total.
  const amount = amountDue(invoice) || total;
  return {
    ...{ number, invoice, plan: null, card: null, nextAttemptAt: null, money: { amount, currency } },
    date: dueDate ?? invoiceDate,
    attachment: { filename: `${number}.pdf`, document: await getDocument(work, id, services) },
  };
}

async function chargedInvoice(
  work: Work,
  services: DocumentServices,
  { payload, objectId, occurredAt: date }: Event,
  template: 'receipt' | 'payment_failed' | 'payment_action_required',
): Promise<Subject | string> {
  const { invoiceId, amount, currency }: Readonly<Record<string, unknown>> = payload.data ?? {};
  if (typeof invoiceId !== 'string' || typeof currency !== 'string') return 'The payment has no invoice.';
  const invoice = await requireInvoice(work, invoiceId);
  const isReceipt = template === 'receipt';
  if (!isReceipt && isEnded(invoice)) return notOwed;
  if (!isReceipt && amountDue(invoice) === 0n) return 'The invoice was paid meanwhile.';
  const attachment = isReceipt
    ? await receiptOf(work, services, { id: objectId, number: invoice.invoiceNumber })
    : null;
  if (isReceipt && attachment === null) return 'The money was taken back meanwhile.';
  return {
    ...{ number: invoice.invoiceNumber, plan: null, card: null, date, invoice, attachment },
    nextAttemptAt: invoice.nextAttemptAt,
    money: { amount: BigInt(Number(amount)), currency },
  };
}

/** A payment that its customer has yet to confirm to the bank: on the page of its invoice, or of its purchase. */
async function waitingPayment(work: Work, services: DocumentServices, id: string): Promise<Subject | string> {
  const payment = await findPayment(work, id);
  if (payment?.status !== 'requires_action') return 'The payment does not wait any more.';
  const { invoiceId, amount, currency, chargeDate: date } = payment;
  const invoice = invoiceId === null ? null : await requireInvoice(work, invoiceId);
  const page = invoice === null ? await findPageOfPayment(work, services, payment) : null;
  return { ...withoutInvoice, date, money: { amount, currency }, invoice, page };
}

async function receiptOf(
  work: Work,
  services: DocumentServices,
  { id, number }: { readonly id: string; readonly number: string | null },
): Promise<Attachment | null> {
  const payment = await findPayment(work, id);
  const document = payment && (await findReceipt(work, payment, services));
  return document && { filename: `${number ?? id}-receipt.pdf`, document };
}

async function issuedCreditNote(work: Work, id: string): Promise<Subject | string> {
  const { creditNote } = await getCreditNote(work, id);
  const { creditNoteNumber: number, status, currency, total, createdAt: date, invoiceId } = creditNote;
  // One whose refund has failed brings no money.
  if (status === 'void') return 'The credit note was voided meanwhile.';
  return {
    ...{ number, plan: null, card: null, nextAttemptAt: null, date, money: { amount: BigInt(total), currency } },
    invoice: await requireInvoice(work, invoiceId),
    attachment: { filename: `${number}.pdf`, document: await getCreditNoteDocument(work, id) },
  };
}

async function requireInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const invoice = await findInvoice(work, id);
  assert(invoice, 'an invoice that was told of stays');
  return invoice;
}

/** A spend limit whose amount is used: `1,000 API calls`, or what it is in money. */
async function reachedLimit(work: Work, { payload, occurredAt: date }: Event, language: Language): Promise<Subject> {
  const { spendLimit } = payload;
  assert(spendLimit, 'the event is about a limit');
  const { unit, amount, usageMeterId, creditPoolId, label, resetsAt: againAt } = spendLimit;
  const pool = creditPoolId === undefined ? null : await findCreditPool(work, creditPoolId);
  const subject = usageMeterId === null ? pool : await findUsageMeter(work, usageMeterId);
  const { currency } = await readSettings(work);
  const most = unit === 'money' ? localMoney(BigInt(amount), currency, language) : amount.toLocaleString(language);
  const limit = [most, subject?.name, label === null ? null : `(${label})`].filter(Boolean).join(' ');
  return { ...withoutInvoice, date, limit, againAt, opensPortal: true };
}

/** The values of a preview. */
const sample = {
  ...{ customer: 'Ada Lovelace', number: 'INV-0042', plan: 'Pro', card: 'Visa •••• 4242', date: Date.UTC(2030, 0, 15) },
  nextAttemptAt: Date.UTC(2030, 0, 18),
  ...{ limit: '1000 API calls', againAt: Date.UTC(2030, 1, 1) },
  ...{ link: 'https://example.com/pay/inv_example', amount: 4900n },
};

/** An email as customers would get it now, with values of an example. */
export async function previewEmail(
  work: Work,
  template: EmailTemplateName,
  { language, branding }: { readonly language: Language; readonly branding?: Branding },
): Promise<Omit<EmailContent, 'images'>> {
  const settings = await readSettings(work);
  const { amount, ...facts } = sample;
  const money = { amount, currency: settings.currency };
  const { images: _, ...preview } = writeEmail(
    template,
    { ...facts, seller: await readSellerName(work), money },
    { ...styleOf(settings, template, language), branding: branding ?? (await readBranding(work)), images: 'inline' },
  );
  return preview;
}

/** The texts of an attempt for an erased customer. */
const nothingTold = { recipients: [], bouncedRecipients: [], subject: null, lastError: null };

/** Stores the outcome of an attempt, and answers the email then; null if it was no longer queued. */
export async function recordOutcome(
  work: Work,
  id: string,
  {
    outcome,
    recipients,
    subject,
  }: {
    readonly outcome: SendOutcome;
    readonly recipients: readonly string[];
    readonly subject: string | null;
  },
): Promise<store.EmailRow | null> {
  const email = await store.findEmail(work, id);
  if (email === null) return null;
  const { status, ...told } = decideSent(email.attempts + 1, recipients, outcome);
  // An erasure may have come while the email was in flight. One that comes now waits.
  const customer = await lockCustomer(work, email.customerId);
  const kept = customer?.erasedAt == null ? { ...told, recipients, subject } : nothingTold;
  return store.recordAttempt(work, id, { ...kept, status, at: Date.now() });
}
