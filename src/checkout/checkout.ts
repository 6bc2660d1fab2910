import { z } from 'zod';
import { BillingAddress } from '../customers/customer.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata, Timestamp } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { AnchorRule, FirstPeriod } from '../organizations/setting.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';

export const CheckoutSessionId = idSchema('checkoutSession');

export const CheckoutType = z.enum(['product', 'purchase', 'activate_subscription', 'add_payment_method']);
export type CheckoutType = z.infer<typeof CheckoutType>;

export const CheckoutStatus = z
  .enum(['open', 'pending', 'succeeded', 'failed', 'expired'])
  .meta({ id: 'CheckoutSessionStatus' });
export type CheckoutStatus = z.infer<typeof CheckoutStatus>;

// Long enough for an interrupted buyer, short enough not to hold a price forever.
const lifetimeMs = 24 * 3_600_000;

/** The expiry of a session that is created now. */
export function expiryOf(now: Instant): Instant {
  return now + lifetimeMs;
}

const Url = z.string().nullable().meta({ format: 'uri' });

const SessionAddOn = z.object({
  priceId: z.string(),
  optional: z.boolean().meta({ description: 'Whether the buyer may leave it out.' }),
  quantity: z.int(),
  minimumQuantity: z.int().nullable().meta({ description: 'The least that the buyer may choose; null: it is fixed.' }),
  maximumQuantity: z.int().nullable(),
  selectedQuantity: z
    .int()
    .nullable()
    .meta({ description: 'The quantity that the buyer took, 0 for none; null until a confirmation.' }),
});
export type SessionAddOn = z.infer<typeof SessionAddOn>;

const shared = {
  id: CheckoutSessionId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  status: CheckoutStatus,
  billingAddress: BillingAddress.nullable(),
  quantity: z.int(),
  addOns: z.array(SessionAddOn).meta({ description: 'The add-ons that are sold or offered beside `priceId`.' }),
  customerName: z.string().nullable(),
  customerEmail: z.string().nullable(),
  paymentMethodType: PaymentMethodType.nullable(),
  discountId: z.string().nullable(),
  successUrl: Url,
  cancelUrl: Url,
  outputMetadata: Metadata.nullable(),
  outputName: z.string().nullable(),
  minimumQuantity: z.int().nullable().meta({ description: 'The least that the buyer may choose; null: it is fixed.' }),
  maximumQuantity: z.int().nullable(),
  trialPeriodDays: z.int().nullable().meta({ description: 'Null: the trial of the price.' }),
  billingAnchor: AnchorRule.nullable().meta({ description: 'Null: that of the settings.' }),
  firstPeriod: FirstPeriod.nullable().meta({ description: 'Null: that of the settings.' }),
  metadata: Metadata.nullable(),
  adjustmentId: z.string().nullable().meta({
    description: 'The most recent change of plan of the session, whose customer had a plan already.',
  }),
  expires: Timestamp.meta({ description: 'The time from which the session can no longer be confirmed.' }),
};

const ProductSession = z.object({
  ...shared,
  type: z.literal('product'),
  priceId: z.string(),
  purchaseId: z.string().nullable().meta({ description: 'The most recent purchase of the session.' }),
  invoiceId: z.null(),
  customerId: z.string().nullable(),
  preserveBillingCycleAnchor: z.boolean(),
  targetSubscriptionId: z.null(),
  automaticallyUpdateSubscriptions: z.null(),
});
const ActivationSession = z.object({
  ...shared,
  type: z.literal('activate_subscription'),
  priceId: z.string().nullable(),
  purchaseId: z.null(),
  invoiceId: z.null(),
  customerId: z.string().nullable(),
  preserveBillingCycleAnchor: z.boolean(),
  targetSubscriptionId: z.string(),
  automaticallyUpdateSubscriptions: z.boolean().nullable(),
});
const PaymentMethodSession = z.object({
  ...shared,
  type: z.literal('add_payment_method'),
  priceId: z.string().nullable(),
  purchaseId: z.string().nullable(),
  invoiceId: z.string().nullable(),
  customerId: z.string(),
  preserveBillingCycleAnchor: z.boolean(),
  targetSubscriptionId: z.string().nullable(),
  automaticallyUpdateSubscriptions: z.boolean().nullable(),
});
const PurchaseSession = z.object({
  ...shared,
  type: z.literal('purchase'),
  priceId: z.string(),
  purchaseId: z.string(),
  invoiceId: z.string().nullable(),
  customerId: z.string().nullable(),
  preserveBillingCycleAnchor: z.literal(false),
  targetSubscriptionId: z.null(),
  automaticallyUpdateSubscriptions: z.null(),
});

/** A page for a buyer, and its outcome. */
export const CheckoutSession = z
  .discriminatedUnion('type', [ProductSession, ActivationSession, PaymentMethodSession, PurchaseSession])
  .meta({ id: 'CheckoutSession' });
export type CheckoutSession = z.infer<typeof CheckoutSession>;

/** A session as it is stored. */
export interface CheckoutSessionRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly type: CheckoutType;
  /** The expiry of an open session follows from the clock. */
  readonly status: Exclude<CheckoutStatus, 'expired'>;
  /** Null in an anonymous session until its buyer has entered its details. */
  readonly customerId: string | null;
  readonly anonymous: boolean;
  readonly customerName: string | null;
  readonly customerEmail: string | null;
  readonly billingAddress: BillingAddress | null;
  readonly priceId: string | null;
  readonly quantity: number;
  readonly addOns: readonly SessionAddOn[];
  /** The limits within which the buyer may change the quantity. Both null: it is fixed. */
  readonly minimumQuantity: number | null;
  readonly maximumQuantity: number | null;
  /** Null: the price's. */
  readonly trialPeriodDays: number | null;
  readonly discountId: string | null;
  readonly purchaseId: string | null;
  readonly adjustmentId: string | null;
  readonly paymentMethodId: string | null;
  readonly paymentMethodType: PaymentMethodType | null;
  readonly paymentToken: string | null;
  readonly preserveBillingCycleAnchor: boolean;
  /** The count of the periods of its subscription. Null: that of the settings. */
  readonly billingAnchor: AnchorRule | null;
  readonly firstPeriod: FirstPeriod | null;
  readonly targetSubscriptionId: string | null;
  readonly automaticallyUpdateSubscriptions: boolean | null;
  readonly outputName: string | null;
  readonly outputMetadata: z.infer<typeof Metadata> | null;
  readonly metadata: z.infer<typeof Metadata> | null;
  readonly successUrl: string | null;
  readonly cancelUrl: string | null;
  readonly expiresAt: Instant;
}

/** The status at `now`: an open session past its expiry has expired. */
export function statusAt({ status, expiresAt }: CheckoutSessionRow, now: Instant): CheckoutStatus {
  return status === 'open' && now >= expiresAt ? 'expired' : status;
}

/** Whether the buyer may change the quantity. */
export function isAdjustable({ type, minimumQuantity, maximumQuantity }: CheckoutSessionRow): boolean {
  return type === 'product' && minimumQuantity !== maximumQuantity;
}

/** The session as the buyer of a free trial sees it: no more than its own quantity. */
export function inTrial(session: CheckoutSessionRow): CheckoutSessionRow {
  return { ...session, ...limited(session), addOns: session.addOns.map((addOn) => ({ ...addOn, ...limited(addOn) })) };
}

function limited({ quantity, maximumQuantity }: Pick<SessionAddOn, 'quantity' | 'maximumQuantity'>) {
  return { maximumQuantity: maximumQuantity === null ? null : Math.min(maximumQuantity, quantity) };
}

/** The quantity that is bought. Refuses with `invalidRequest` one that the seller does not allow. */
export function decideQuantity(session: CheckoutSessionRow, asked: number | undefined): number {
  const { type, quantity, minimumQuantity: least, maximumQuantity: most } = session;
  if (type !== 'product' || asked === undefined || asked === quantity) return quantity;
  if (least === null || most === null) throw invalid(['quantity'], `must be ${quantity}: the seller has set it`);
  if (asked < least || asked > most) throw invalid(['quantity'], `must be from ${least} to ${most}`);
  return asked;
}

/** A quantity of an add-on; 0: it is left out. */
export interface AddOnChoice {
  readonly priceId: string;
  readonly quantity: number;
}

/** The field of an add-on in a form and in refusals, by its place in the session. */
export function addOnField(index: number): `addOn${number}` {
  return `addOn${index}`;
}

/**
 * The quantity of each add-on that is bought. Without a choice it is the last one, else that of the seller, who leaves
 * optional ones out. Refuses with `invalidRequest` a choice that the seller does not allow.
 */
export function decideAddOns(
  { addOns }: Pick<CheckoutSessionRow, 'addOns'>,
  chosen: readonly AddOnChoice[] = [],
): AddOnChoice[] {
  const stray = chosen.find(({ priceId }) => !addOns.some((addOn) => addOn.priceId === priceId));
  if (stray !== undefined) throw invalid(['addOns'], `must not name ${stray.priceId}: the session does not offer it`);
  return addOns.map((addOn, index) => {
    const { priceId, optional, quantity: set, minimumQuantity: least, maximumQuantity: most } = addOn;
    const choice = chosen.find((each) => each.priceId === priceId);
    if (choice === undefined) return { priceId, quantity: addOn.selectedQuantity ?? (optional ? 0 : set) };
    const { quantity } = choice;
    const isWithin = least === null || most === null ? quantity === set : quantity >= least && quantity <= most;
    if (isWithin || (optional && quantity === 0)) return { priceId, quantity };
    const range = least === null || most === null || least === most ? `${set}` : `from ${least} to ${most}`;
    throw invalid([addOnField(index)], `must be ${optional ? `0 or ${range}` : range}`);
  });
}

/** The address with the session's id in the place of `{CHECKOUT_SESSION_ID}`. */
export function withSessionId(url: string, sessionId: string): string {
  return url.replaceAll(/(?:\{|%7B)CHECKOUT_SESSION_ID(?:\}|%7D)/gi, sessionId);
}

// Links of the customer portal are in customers/portal-link.ts, because the billing response contains one.

/** The page that a link opens. Both show the same session. */
type CheckoutPage = 'checkout' | 'add-payment-method';

/** A session and its environment. */
interface SessionPlace {
  readonly environmentId: number;
  readonly sessionId: string;
}

/**
 * The address of a checkout session: `<publicUrl>/checkout/<id>?key=<environment>.<mac>`. The link authorizes its
 * holder to pay, and cannot be guessed from the id.
 */
export function checkoutUrl(
  publicUrl: string,
  encryption: Encryption,
  { environmentId, sessionId }: SessionPlace,
  page: CheckoutPage = 'checkout',
): string {
  const environment = environmentId.toString(36);
  const key = `${environment}.${encryption.mac(environment, checkoutContext(sessionId))}`;
  return `${publicUrl.replace(/\/+$/, '')}/${page}/${sessionId}?key=${key}`;
}

/** The environment of the session for which `key` is valid, or null. */
export function readCheckoutKey(encryption: Encryption, sessionId: string, key: string): number | null {
  const parts = key.split('.');
  const [environment = '', mac = ''] = parts;
  if (parts.length !== 2 || !encryption.isMac(environment, checkoutContext(sessionId), mac)) return null;
  return Number.parseInt(environment, 36);
}

function checkoutContext(sessionId: string): string {
  return `checkout ${sessionId}`;
}
