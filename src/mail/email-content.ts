import { fillIn } from '../documents/document-text.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type Language, localDay, localMoney } from '../kernel/language.ts';
import type { Branding } from '../organizations/branding.ts';
import type { EmailTemplateName, EmailTexts } from '../organizations/mail-setting.ts';
import type { EmailCatalogue } from './email.ts';
import { attachedImages, type EmailImage, type EmailLook, type EmailParts, emailPage } from './email-page.ts';
import { dutch } from './text-dutch.ts';
import { english } from './text-english.ts';
import { french } from './text-french.ts';
import { german } from './text-german.ts';
import { italian } from './text-italian.ts';
import { japanese } from './text-japanese.ts';
import { portuguese } from './text-portuguese.ts';
import { spanish } from './text-spanish.ts';

const catalogues: Readonly<Record<Language, EmailCatalogue>> = {
  en: english,
  de: german,
  es: spanish,
  fr: french,
  it: italian,
  ja: japanese,
  nl: dutch,
  pt: portuguese,
};

/** The values of an email. Money in minor units. */
export interface EmailFacts {
  readonly seller: string;
  readonly customer: string;
  /** The number of the invoice or credit note. */
  readonly number: string | null;
  readonly money: { readonly amount: bigint; readonly currency: string } | null;
  /** The due date of an invoice, otherwise the day of the event. */
  readonly date: Instant;
  readonly plan: string | null;
  /** For example `Visa •••• 4242`. */
  readonly card: string | null;
  /** The next attempt to collect the invoice; null without one. */
  readonly nextAttemptAt: Instant | null;
  /** For example `1,000 API calls`. */
  readonly limit: string | null;
  /** The instant at which the limit begins again; null: never. */
  readonly againAt: Instant | null;
  readonly link: string | null;
}

/** How an email is written. */
interface EmailStyle extends EmailLook {
  /** The time zone of days. */
  readonly timeZone: string;
  /** The seller's own texts. */
  readonly own: EmailTexts | null;
}

/** A written email. */
export interface EmailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly images: readonly EmailImage[];
}

/** Writes an email: in its language, with the seller's own texts where there are any. */
export function writeEmail(name: EmailTemplateName, facts: EmailFacts, style: EmailStyle): EmailContent {
  const { greeting, closing, emails } = catalogues[style.language];
  const usual = emails[name];
  const values = valuesOf(facts, style);
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, key: string) => values.get(key) ?? '');
  // Names of others must not begin another header.
  const subject = fill(style.own?.subject ?? usual.subject)
    .replaceAll(/\s+/g, ' ')
    .slice(0, 255);
  const parts = {
    heading: fill(usual.heading),
    paragraphs: [greeting, style.own?.text ?? usual.text].map(fill),
    link: facts.link === null || usual.action === null ? null : { address: facts.link, label: usual.action },
    closing,
    seller: facts.seller,
  };
  return written(subject, parts, style);
}

function written(subject: string, parts: EmailParts, look: EmailLook): EmailContent {
  const { text: html } = emailPage(subject, parts, look);
  return { subject, text: plainText(parts, look), html, images: attachedImages(look) };
}

/** Writes the email that invites somebody to the dashboard. Its reader has chosen no language yet. */
export function writeInvitation(
  {
    organization,
    role,
    url,
    expiresAt,
  }: { readonly organization: string; readonly role: string; readonly url: string; readonly expiresAt: Instant },
  branding: Branding,
): EmailContent {
  const until = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(expiresAt);
  const subject = `Join ${organization}`.replaceAll(/\s+/g, ' ').slice(0, 255);
  const parts = {
    heading: subject,
    paragraphs: [
      `You are invited to the dashboard of ${organization} with the role ${role}.`,
      `The link works once, until ${until}.`,
    ],
    link: { address: url, label: 'Join' },
    closing: 'If you do not know the sender, ignore this email.',
    seller: organization,
  };
  return written(subject, parts, { language: 'en', branding, images: 'attached' });
}

function valuesOf(facts: EmailFacts, { language, timeZone }: EmailStyle): ReadonlyMap<string, string> {
  const { seller, customer, number, money, date, plan, card, nextAttemptAt, limit, againAt } = facts;
  const { retry, noRetry, again } = catalogues[language];
  const dayOf = (at: Instant) => localDay(at, language, timeZone);
  const next = nextAttemptAt === null ? noRetry : fillIn(retry, { date: dayOf(nextAttemptAt) });
  return new Map([
    ['retry', next],
    ['seller', seller],
    ['customer', customer],
    ['number', number ?? ''],
    ['amount', money === null ? '' : localMoney(money.amount, money.currency, language)],
    ['date', dayOf(date)],
    ['limit', limit ?? ''],
    ['again', againAt === null ? '' : fillIn(again, { date: dayOf(againAt) })],
    ['plan', plan ?? ''],
    ['card', card ?? ''],
  ]);
}

function plainText({ paragraphs, link, closing, seller }: EmailParts, { branding }: EmailLook): string {
  const action = link === null ? [] : [`${link.label}:\n${link.address}`];
  const footer = branding.legalFooter === null ? [] : [branding.legalFooter];
  return `${[...paragraphs, ...action, closing, seller, ...footer].join('\n\n')}\n`;
}
