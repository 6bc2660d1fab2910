import { z } from 'zod';
import { BillingAddress, ExternalId } from '../customers/customer.ts';
import { formatId } from '../kernel/id.ts';
import { countInput, freeText, Metadata, SafeString, Timestamp } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { AnchorRule, FirstPeriod } from '../organizations/setting.ts';
import { maxQuantity } from '../pricing/product.ts';
import { maxItems } from '../subscriptions/adjustment-input.ts';
import { onePriceOrItems } from '../subscriptions/subscription-start.ts';
import { withSessionId } from './checkout.ts';
import type { CheckoutConfirmation, CheckoutDraft } from './checkout-view.ts';

const Reference = z.string().min(1).max(255);
const longestSessionId = formatId('checkoutSession', 0, 0, 0);

/** Unsafe schemes: a browser would run or show their content as if it were ours. */
const refusedSchemes = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:', 'filesystem:']);

/** The return address: a web page, or an app by its own scheme. */
const ReturnUrl = freeText('url')
  .refine((text) => URL.canParse(text) && !refusedSchemes.has(new URL(text).protocol), {
    message: 'must be an absolute URL, such as https://example.com/paid',
  })
  // It may be used in a header later.
  .transform((text) => (/^[\x21-\x7e]+$/.test(text) ? text : new URL(text).href))
  // Other letters take up to nine characters there, and the id is longer than the words that it replaces.
  .refine((url) => withSessionId(url, longestSessionId).length <= textLimits.url, {
    message: `must have at most ${textLimits.url} characters, with the id of the session in it`,
  });

const withId = 'The session id replaces `{CHECKOUT_SESSION_ID}` in it.';
const returns = {
  successUrl: ReturnUrl.meta({ description: `The address to return to after success. ${withId}` }),
  cancelUrl: ReturnUrl.meta({ description: `The address to return to otherwise. ${withId}` }),
  metadata: Metadata.nullish().meta({ description: 'Your own notes about the session.' }),
};
const outputs = {
  outputName: SafeString.nullish().meta({ description: 'The name of the purchase and the subscription.' }),
  outputMetadata: Metadata.nullish().meta({ description: 'Copied to the purchase and the subscription.' }),
};

// Two years, the longest trial of card processors.
const maxTrialDays = 730;

const Email = z.email().max(textLimits.email);

interface GivenQuantity {
  readonly quantity?: number | undefined;
  readonly minimumQuantity?: number | null | undefined;
  readonly maximumQuantity?: number | null | undefined;
}

function namesOnePrice(given: { readonly priceId?: string | undefined; readonly priceSlug?: string | undefined }) {
  return (given.priceId === undefined) !== (given.priceSlug === undefined);
}
const onePrice = { path: ['priceId'], message: 'send exactly one of priceId and priceSlug' };

function hasBothLimits({ minimumQuantity, maximumQuantity }: GivenQuantity): boolean {
  return !minimumQuantity || Boolean(maximumQuantity);
}
const bothLimits = { path: ['maximumQuantity'], message: 'is required with minimumQuantity' };

function hasLimitsInOrder({ minimumQuantity: least, maximumQuantity: most }: GivenQuantity): boolean {
  return !most || (least ?? 1) <= most;
}
const limitsInOrder = { path: ['maximumQuantity'], message: 'must be at least minimumQuantity' };

function hasQuantityWithin({ quantity, minimumQuantity, maximumQuantity: most }: GivenQuantity): boolean {
  return !quantity || !most || (quantity >= (minimumQuantity ?? 1) && quantity <= most);
}
const quantityWithin = { path: ['quantity'], message: 'must be from minimumQuantity to maximumQuantity' };

const SessionItem = z
  .object({
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({
      description: 'By default `minimumQuantity`, else 1. The buyer cannot change it without limits.',
    }),
    minimumQuantity: countInput(1, maxQuantity).nullish().meta({
      description: 'The least that the buyer may choose. By default 1 if there is a `maximumQuantity`.',
    }),
    maximumQuantity: countInput(1, maxQuantity).nullish().meta({
      description: 'The most that the buyer may choose. Without it the quantity is fixed.',
    }),
  })
  .refine(namesOnePrice, onePrice)
  .refine(hasBothLimits, bothLimits)
  .refine(hasLimitsInOrder, limitsInOrder)
  .refine(hasQuantityWithin, quantityWithin)
  .meta({ id: 'NewCheckoutItem' });

/** Optional items are a choice to read, so they are few. */
const maxOptionalItems = 10;

const NewProductSession = z
  .object({
    ...returns,
    ...outputs,
    type: z.literal('product'),
    customerExternalId: ExternalId.nullish().meta({
      description: 'Your own id of the customer. Absent or null for an anonymous session.',
    }),
    anonymous: z
      .boolean()
      .optional()
      .meta({ description: 'If true, the buyers enter their own details, and a customer is created when they pay.' }),
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({
      description: 'By default `minimumQuantity`, else 1. The buyer cannot change it without limits.',
    }),
    minimumQuantity: countInput(1, maxQuantity).nullish().meta({
      description: 'The least that the buyer may choose. By default 1 if there is a `maximumQuantity`.',
    }),
    maximumQuantity: countInput(1, maxQuantity).nullish().meta({
      description: 'The most that the buyer may choose. Without it the quantity is fixed.',
    }),
    items: z
      .array(SessionItem)
      .min(1)
      .max(maxItems)
      .optional()
      .meta({
        description:
          'Several items at once, in place of one price and its quantity: one plan, and add-ons (`addOn: true`) beside it. All ' +
          'have the same interval.',
      }),
    optionalItems: z
      .array(SessionItem)
      .max(maxOptionalItems)
      .optional()
      .meta({
        description:
          'Add-ons (`addOn: true`) that the buyer may take on the page, at `quantity` or within the limits. They have the interval of ' +
          'the plan.',
      }),
    discountCode: SafeString.nullish().meta({
      description: 'The code of an active discount, which is applied unless the buyer enters another code.',
    }),
    customerEmail: Email.nullish().meta({
      description: 'The email address of an anonymous buyer, who may change it.',
    }),
    trialPeriodDays: countInput(0, maxTrialDays).nullish().meta({
      description: 'The days of a free trial, in place of those of the price. 0 for no trial.',
    }),
    preserveBillingCycleAnchor: z.boolean().optional().meta({
      description: 'If true, a paid plan keeps the periods of the free plan, and its first period is charged in part.',
    }),
    billingAnchor: AnchorRule.nullish().meta({
      description: 'For a new subscription. By default that of the settings.',
    }),
    firstPeriod: FirstPeriod.nullish().meta({
      description: 'For a new subscription. By default that of the settings.',
    }),
  })
  .refine((given) => !given.preserveBillingCycleAnchor || !given.billingAnchor, {
    path: ['billingAnchor'],
    message: 'must be absent or null with preserveBillingCycleAnchor',
  })
  .refine(...onePriceOrItems)
  .refine(({ items, quantity, maximumQuantity }) => items === undefined || !(quantity || maximumQuantity), {
    path: ['quantity'],
    message: 'must be absent beside items: each has its own',
  })
  .refine(({ items = [], optionalItems = [] }) => items.length + optionalItems.length <= maxItems, {
    path: ['optionalItems'],
    message: `must be at most ${maxItems} together with items`,
  })
  .refine(hasBothLimits, bothLimits)
  .refine(hasLimitsInOrder, limitsInOrder)
  .refine(hasQuantityWithin, quantityWithin)
  .refine((given) => given.anonymous || (given.customerEmail ?? null) === null, {
    path: ['customerEmail'],
    message: 'must be absent or null unless anonymous is true: the customer has its own',
  })
  .refine((given) => !given.anonymous || (given.customerExternalId ?? null) === null, {
    path: ['customerExternalId'],
    message: 'must be absent or null when anonymous is true',
  })
  .refine((given) => given.anonymous || (given.customerExternalId ?? null) !== null, {
    path: ['customerExternalId'],
    message: 'is required unless anonymous is true',
  });
const NewActivationSession = z.object({
  ...returns,
  ...outputs,
  type: z.literal('activate_subscription'),
  customerExternalId: ExternalId,
  targetSubscriptionId: Reference,
  preserveBillingCycleAnchor: z.boolean().optional(),
});
const NewPaymentMethodSession = z.object({
  ...returns,
  ...outputs,
  type: z.literal('add_payment_method'),
  customerExternalId: ExternalId,
  targetSubscriptionId: Reference.nullish().meta({
    description: 'A subscription that is charged on the new payment method from then on.',
  }),
  automaticallyUpdateSubscriptions: z.boolean().nullish().meta({
    description: 'If true, all subscriptions of the customer are charged on the new payment method from then on.',
  }),
});

/** A request for a checkout session. */
export const NewCheckoutSession = z.discriminatedUnion(
  'type',
  [NewProductSession, NewActivationSession, NewPaymentMethodSession],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'must be product, activate_subscription or add_payment_method' : undefined,
  },
);
export type NewCheckoutSession = z.output<typeof NewCheckoutSession>;

const Draft = z.object({
  // The session bounds it.
  quantity: z.int().min(1).optional(),
  addOns: z.array(z.object({ priceId: z.string(), quantity: z.int().min(0) })).optional(),
  discountCode: SafeString.nullable().optional(),
  billingAddress: BillingAddress.nullable().optional(),
  taxId: SafeString.nullable().optional(),
});

/** Refuses with `invalidRequest` input that is invalid for every session. */
export function checkDraft(draft: CheckoutDraft): void {
  refuse(Draft.safeParse(draft));
}

const Buyer = z.object({ name: SafeString, email: Email });

/** Parses the buyer of an anonymous session. Refuses with `invalidRequest`, naming `name` or `email`. */
export function readBuyer({ name, email }: Pick<CheckoutConfirmation, 'name' | 'email'>): z.infer<typeof Buyer> {
  const read = Buyer.safeParse({ name: name ?? '', email: (email ?? '').trim() });
  refuse(read);
  return read.data as z.infer<typeof Buyer>;
}

function refuse({ error }: { error?: z.ZodError | undefined }): void {
  if (error === undefined) return;
  const issues = error.issues.map(({ path, message, code }) => ({
    path: path.filter((key) => typeof key !== 'symbol'),
    message,
    code: code ?? 'custom',
  }));
  const [first] = issues;
  if (first === undefined) throw invalid([], 'is not valid');
  throw new Problem('invalidRequest', { reason: `${first.path.join('.')}: ${first.message}` }, issues);
}

/** The default validity of a portal link: long enough to click it, and for a visit. */
export const portalSessionSeconds = 3600;
// A link acts for the customer, so none is valid for longer than a week.
const maxPortalSessionSeconds = 7 * 86_400;

/** A request for a portal link. */
export const NewPortalSession = z.object({
  returnUrl: ReturnUrl.nullish().meta({ description: 'The address of the link that leads back from the portal.' }),
  expiresInSeconds: countInput(1, maxPortalSessionSeconds)
    .optional()
    .meta({
      description: `The lifetime of the link in seconds, by default ${portalSessionSeconds} and at most ${maxPortalSessionSeconds}.`,
    }),
});
export type NewPortalSession = z.output<typeof NewPortalSession>;

/** A portal link. Anyone who has it acts for the customer until it expires. */
export const PortalSession = z
  .object({
    url: z.string().meta({ format: 'uri' }),
    expiresAt: Timestamp.meta({ description: 'Real time in epoch milliseconds, even if the test clock is set.' }),
    returnUrl: z.string().nullable().meta({ format: 'uri' }),
  })
  .meta({ id: 'PortalSession' });
export type PortalSession = z.infer<typeof PortalSession>;
