import { z } from 'zod';
import { CurrencyCode } from '../kernel/currency.ts';
import { amountInput, countInput, freeText, SafeString, TimeZone, WholeNumber } from '../kernel/json.ts';
import { maxAddressLines } from '../kernel/text-limits.ts';
import { Branding, BrandingChange, decideBranding } from './branding.ts';
import { decideMailSettings, MailSettings, MailSettingsChange } from './mail-setting.ts';

const TerminalAction = z.enum(['unpaid', 'canceled', 'past_due']).meta({ id: 'TerminalAction' });
const TaxProviderName = z.enum(['none', 'rates']).meta({
  description: '`none`: invoices carry no tax. `rates`: the tax rates apply, by the billing address of the customer.',
});

const AccessLevel = z.enum(['full', 'none']).meta({ id: 'AccessLevel' });

/** The access of customers while invoices are unpaid. */
export const Access = z
  .object({
    pastDue: AccessLevel.meta({ description: 'While the collection of a failed payment is still tried.' }),
    unpaid: AccessLevel.meta({ description: 'After the last attempt has failed.' }),
  })
  .meta({
    id: 'Access',
    description:
      'The access to a subscription whose invoices are unpaid. `none`: checks, consumption, holds and claims are ' +
      'refused, and a new period grants its credits once it is paid. Usage events are always stored.',
  });
export type Access = Readonly<z.infer<typeof Access>>;

// A month that lacks the day has its last day instead.
const maxDay = 31;

/** The instant from which the billing periods of a subscription are counted. */
export const AnchorRule = z
  .union([z.enum(['anniversary', 'calendar']), z.strictObject({ day: countInput(1, maxDay) })], {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? `must be {"day": a whole number from 1 to ${maxDay}}`
        : 'must be anniversary, calendar or {"day": 1 to 31}',
  })
  .meta({
    id: 'AnchorRule',
    description:
      'The instant from which billing periods are counted, in UTC. `anniversary`: the start or, after a trial, its end. ' +
      '`calendar`: the first instant of the day, of the week (Monday), of the month, or of the year (1 January); several ' +
      'months are counted from January. `day`: the next such day of a month, for intervals of months and years. A month ' +
      'without that day has its last day instead.',
  });
export type AnchorRule = z.output<typeof AnchorRule>;

/** The first paid period, where the subscription begins between two boundaries. */
export const FirstPeriod = z.enum(['short', 'long']).meta({
  id: 'FirstPeriod',
  description:
    'The first paid period, where it begins between two boundaries. `short`: it ends at the next one, and costs its share ' +
    'of the price. `long`: it ends at the one after that, and each day of it costs as much as one of that whole interval.',
});
export type FirstPeriod = z.output<typeof FirstPeriod>;

/** How the periods of a new subscription are counted. */
export interface AnchorTerms {
  readonly billingAnchor: AnchorRule;
  readonly firstPeriod: FirstPeriod;
}

// Prefixes of real companies are shorter.
const maxPrefix = 20;
// Separators stand inside, so that a series has one spelling.
const prefixPattern = /^[A-Za-z0-9]([A-Za-z0-9./_-]{0,18}[A-Za-z0-9])?$/;

const seriesFields = {
  per: z.enum(['customer', 'environment']).meta({
    description: '`customer`: each customer has its own series. `environment`: all customers share one.',
  }),
  prefix: z
    .string()
    .max(maxPrefix)
    .regex(prefixPattern, 'must be 1 to 20 letters, digits and `.`, `/`, `_`, `-` between them')
    .nullable()
    .meta({ description: 'The first part of the numbers. null: the usual one of the series.' }),
  yearly: z.boolean().meta({
    description: 'If true, each year has its own series, with the year in its numbers: that of the date in `timeZone`.',
  }),
};

/** A series of numbers of documents. */
const NumberSeries = z.object(seriesFields).meta({ id: 'NumberSeries' });
export type NumberSeries = Readonly<z.infer<typeof NumberSeries>>;

/** The numbers of documents. */
export const Numbering = z.object({ invoices: NumberSeries, creditNotes: NumberSeries }).meta({
  id: 'Numbering',
  description:
    'The series of the numbers of invoices and of credit notes. A series has no gap, and a number is used once in an ' +
    'environment. After a change the next document begins another series, or continues one that was used before.',
});
export type Numbering = Readonly<z.infer<typeof Numbering>>;

const NumberSeriesChange = z.object(seriesFields).partial().meta({ id: 'NumberSeriesChange' });

const UnknownFields = z.enum(['refuse', 'ignore']).meta({
  id: 'UnknownFields',
  description:
    'The treatment of fields and query parameters that an operation does not have. `refuse`: the request is refused ' +
    'with 400. `ignore`: they are dropped, and the header `Tollkeeper-Ignored` names them.',
});

/** The issuer as it appears on invoices. */
export const Seller = z
  .object({
    name: z.string().nullable(),
    email: z.string().nullable(),
    addressLines: z.array(z.string()),
    taxId: z.string().nullable(),
  })
  .meta({ id: 'Seller' });
export type Seller = Readonly<z.infer<typeof Seller>>;

/** The billing settings of an environment. */
export const Settings = z
  .object({
    currency: CurrencyCode,
    allowMultipleSubscriptions: z
      .boolean()
      .meta({ description: 'If true, a customer may have several paid subscriptions at a time.' }),
    access: Access,
    allowRepeatedTrials: z.boolean().meta({
      description:
        'If true, the trial days of a price count for customers who already had a trial. A `trialEnd` in a request always counts.',
    }),
    bankDebits: z.boolean().meta({
      description:
        'If true, the pages of buyers take debits beside cards: of SEPA in EUR, of Bacs in GBP, and of US bank accounts in ' +
        'USD. Stripe must have them activated. Their money arrives days later.',
    }),
    billingAnchor: AnchorRule,
    firstPeriod: FirstPeriod,
    allowRepeatedDiscounts: z.boolean().meta({
      description:
        'If true, a customer may redeem the same discount more than once. A redemption that ended before any invoice ' +
        'with the discount does not count.',
    }),
    billingThresholdAmount: WholeNumber.nullable().meta({
      description:
        'Unbilled usage of a subscription is invoiced as soon as it is worth this much, in minor units. null: at the end of ' +
        'the period. A subscription may have its own.',
    }),
    dunning: z.object({
      retryDays: z
        .array(z.int())
        .readonly()
        .meta({ description: 'The days from each failed attempt to the next. Empty: no retry.' }),
      terminalAction: TerminalAction.meta({
        description: 'The status of the subscription after the last attempt has failed.',
      }),
    }),
    branding: Branding,
    mail: MailSettings,
    netTermsDays: z.int().meta({
      description: 'The days from the date of an invoice to its due date, for customers without a payment method.',
    }),
    numbering: Numbering,
    paymentInstructions: z.string().nullable().meta({
      description: 'How to pay without a card, such as the bank account: the text on the page to pay an invoice.',
    }),
    reviewHours: z.int().meta({
      description:
        'The hours for which the invoice of a renewal waits as a draft. Late usage and lines by hand still get onto it. 0: it is ' +
        'finalized at once. A customer may have its own.',
    }),
    seller: Seller.nullable(),
    taxProvider: TaxProviderName,
    timeZone: z.string().meta({
      description:
        'The time zone of the seller, which decides the year of a number. Periods and the days on documents are in UTC.',
    }),
    unknownFields: UnknownFields,
  })
  .meta({ id: 'Settings' });
export type Settings = Readonly<z.infer<typeof Settings>>;

/** The settings without the images, which most readers do not need. */
export type BillingSettings = Omit<Settings, 'branding'>;

// A longer dunning schedule would outlast the billing period.
const maxRetries = 10;
const maxDays = 365;
/** A month. Nobody reviews an invoice of a period for longer, and the next invoice ends the review. */
export const maxReviewHours = 720;
// The limit of one payment.
const maxThreshold = 4_503_599_627_370_495;

const SellerInput = z.object({
  name: SafeString.nullish(),
  email: freeText('email').trim().min(1).nullish(),
  addressLines: z.array(freeText('addressLine').trim().min(1)).max(maxAddressLines).optional(),
  taxId: SafeString.nullish(),
});

/** A change of the settings. Absent fields keep their value, within the objects too. */
export const SettingsChange = z.object({
  currency: CurrencyCode.optional(),
  allowMultipleSubscriptions: z.boolean().optional(),
  access: Access.partial().optional(),
  allowRepeatedTrials: z.boolean().optional(),
  allowRepeatedDiscounts: z.boolean().optional(),
  bankDebits: z.boolean().optional(),
  billingAnchor: AnchorRule.optional(),
  firstPeriod: FirstPeriod.optional(),
  billingThresholdAmount: amountInput(1, maxThreshold).nullish(),
  dunning: z
    .object({
      retryDays: z
        .array(countInput(1, maxDays))
        .max(maxRetries)
        .optional()
        .meta({
          description: `The days from each failed attempt to the next, at most ${maxRetries} numbers. Empty: no retry.`,
        }),
      terminalAction: TerminalAction.optional(),
    })
    .optional(),
  branding: BrandingChange.optional(),
  mail: MailSettingsChange.optional(),
  netTermsDays: countInput(0, maxDays).optional(),
  numbering: z
    .object({ invoices: NumberSeriesChange.optional(), creditNotes: NumberSeriesChange.optional() })
    .optional(),
  seller: SellerInput.nullish(),
  taxProvider: TaxProviderName.optional(),
  paymentInstructions: freeText('description').trim().min(1).nullish(),
  reviewHours: countInput(0, maxReviewHours).optional(),
  timeZone: TimeZone.optional(),
  unknownFields: UnknownFields.optional(),
});
export type SettingsChange = z.output<typeof SettingsChange>;

/** The settings after a change. */
export function decideSettings(
  current: Settings,
  { access, branding, dunning, mail, numbering, seller, ...change }: SettingsChange,
): Settings {
  return {
    currency: change.currency ?? current.currency,
    allowMultipleSubscriptions: change.allowMultipleSubscriptions ?? current.allowMultipleSubscriptions,
    access: {
      pastDue: access?.pastDue ?? current.access.pastDue,
      unpaid: access?.unpaid ?? current.access.unpaid,
    },
    allowRepeatedTrials: change.allowRepeatedTrials ?? current.allowRepeatedTrials,
    allowRepeatedDiscounts: change.allowRepeatedDiscounts ?? current.allowRepeatedDiscounts,
    bankDebits: change.bankDebits ?? current.bankDebits,
    billingAnchor: change.billingAnchor ?? current.billingAnchor,
    firstPeriod: change.firstPeriod ?? current.firstPeriod,
    billingThresholdAmount:
      change.billingThresholdAmount === undefined ? current.billingThresholdAmount : change.billingThresholdAmount,
    dunning: {
      retryDays: dunning?.retryDays ?? current.dunning.retryDays,
      terminalAction: dunning?.terminalAction ?? current.dunning.terminalAction,
    },
    branding: decideBranding(current.branding, branding),
    mail: decideMailSettings(current.mail, mail),
    netTermsDays: change.netTermsDays ?? current.netTermsDays,
    numbering: {
      invoices: decideSeries(current.numbering.invoices, numbering?.invoices),
      creditNotes: decideSeries(current.numbering.creditNotes, numbering?.creditNotes),
    },
    seller: seller === undefined ? current.seller : decideSeller(current.seller, seller),
    taxProvider: change.taxProvider ?? current.taxProvider,
    paymentInstructions:
      change.paymentInstructions === undefined ? current.paymentInstructions : change.paymentInstructions,
    reviewHours: change.reviewHours ?? current.reviewHours,
    timeZone: change.timeZone ?? current.timeZone,
    unknownFields: change.unknownFields ?? current.unknownFields,
  };
}

function decideSeries(current: NumberSeries, change: z.output<typeof NumberSeriesChange> = {}): NumberSeries {
  return {
    per: change.per ?? current.per,
    prefix: change.prefix === undefined ? current.prefix : change.prefix,
    yearly: change.yearly ?? current.yearly,
  };
}

function decideSeller(current: Seller | null, change: NonNullable<SettingsChange['seller']> | null): Seller | null {
  if (change === null) return null;
  const text = (field: 'name' | 'email' | 'taxId') =>
    change[field] === undefined ? (current?.[field] ?? null) : change[field];
  return {
    name: text('name'),
    email: text('email'),
    addressLines: change.addressLines ?? current?.addressLines ?? [],
    taxId: text('taxId'),
  };
}

/** The settings that a transaction knows. */
interface KnownSettings {
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Whether a customer may have several paid subscriptions at a time. */
export function allowsMultipleSubscriptions({ settings }: KnownSettings): boolean {
  return settings.allowMultipleSubscriptions === true;
}

/** The access of subscriptions that owe, by the settings that a transaction knows. */
export function accessOf({ settings }: KnownSettings): Access {
  const levelOf = (name: string) => AccessLevel.parse(settings[name]);
  return { pastDue: levelOf('accessPastDue'), unpaid: levelOf('accessUnpaid') };
}

/** Whether a customer may have the trial of a price after another trial. */
export function allowsRepeatedTrials({ settings }: KnownSettings): boolean {
  return settings.allowRepeatedTrials === true;
}

/** Whether a customer may redeem the same discount more than once. */
export function allowsRepeatedDiscounts({ settings }: KnownSettings): boolean {
  return settings.allowRepeatedDiscounts === true;
}

/** Whether the pages of buyers take bank debits. */
export function takesBankDebits({ settings }: KnownSettings): boolean {
  return settings.bankDebits === true;
}

/** How the periods of subscriptions are counted that do not say so. */
export function anchorSettings({ settings }: KnownSettings): AnchorTerms {
  return {
    billingAnchor: AnchorRule.parse(settings.billingAnchor),
    firstPeriod: FirstPeriod.parse(settings.firstPeriod),
  };
}

/** How documents are numbered, and the time zone of their years. */
export function numberingOf({ settings }: KnownSettings): { readonly numbering: Numbering; readonly timeZone: string } {
  return { numbering: Numbering.parse(settings.numbering), timeZone: String(settings.timeZone) };
}
