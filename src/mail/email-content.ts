import type { Instant } from '../kernel/calendar.ts';
import { Html, html } from '../kernel/html.ts';
import { type Language, localDay, localMoney } from '../kernel/language.ts';
import type { EmailTemplateName, EmailTexts } from '../organizations/mail-setting.ts';
import { catalogues } from './email-text.ts';

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
  readonly link: string | null;
}

/** How an email is written. */
interface EmailStyle {
  readonly language: Language;
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
  return { subject, text: plainText(parts), html: page(style.language, subject, parts).text };
}

/** Writes the email that invites somebody to the dashboard. Its reader has chosen no language yet. */
export function writeInvitation({
  organization,
  role,
  url,
  expiresAt,
}: {
  readonly organization: string;
  readonly role: string;
  readonly url: string;
  readonly expiresAt: Instant;
}): EmailContent {
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
  return { subject, text: plainText(parts), html: page('en', subject, parts).text };
}

function valuesOf(facts: EmailFacts, { language, timeZone }: EmailStyle): ReadonlyMap<string, string> {
  const { seller, customer, number, money, date, plan, card } = facts;
  return new Map([
    ['seller', seller],
    ['customer', customer],
    ['number', number ?? ''],
    ['amount', money === null ? '' : localMoney(money.amount, money.currency, language)],
    ['date', localDay(date, language, timeZone)],
    ['plan', plan ?? ''],
    ['card', card ?? ''],
  ]);
}

interface Parts {
  readonly heading: string;
  readonly paragraphs: readonly string[];
  readonly link: { readonly address: string; readonly label: string } | null;
  readonly closing: string;
  readonly seller: string;
}

function plainText({ paragraphs, link, closing, seller }: Parts): string {
  const action = link === null ? [] : [`${link.label}:\n${link.address}`];
  return `${[...paragraphs, ...action, closing, seller].join('\n\n')}\n`;
}

// Mail programs know few styles, and most of them only in attributes.
const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

function page(language: Language, title: string, { heading, paragraphs, link, closing, seller }: Parts): Html {
  const button =
    link &&
    html`<p style="margin:28px 0"><a href="${link.address}" style="background:#1f3a5f;border-radius:6px;color:#ffffff;display:inline-block;font-weight:600;padding:12px 20px;text-decoration:none">${link.label}</a></p>`;
  const lines = (text: string) =>
    text.split(/\r?\n/).map((line, index) => (index === 0 ? html`${line}` : html`<br>${line}`));
  return html`${new Html('<!doctype html>')}
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body style="margin:0;padding:24px 12px;background:#f4f5f7;${font};font-size:16px;line-height:1.5;color:#1c2530">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border-radius:10px"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-weight:600;color:#5b6675">${seller}</p>
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${heading}</h1>
${paragraphs.map((paragraph) => html`<p style="margin:0 0 16px">${lines(paragraph)}</p>`)}
${button}
<p style="margin:24px 0 0;color:#5b6675;font-size:14px">${closing}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}
