import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import Stripe from 'stripe';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import type {
  AttachOutcome,
  AttachRequest,
  ChargeOutcome,
  ChargeRequest,
  PaymentProcessor,
  RefundRequest,
} from './processor.ts';
import {
  ask,
  attachedMethod,
  bankDebits,
  fromStripeAmount,
  outcomeOfIntent,
  type Refusal,
  refusalOf,
  reversalOf,
  toStripeAmount,
} from './processor-stripe-outcome.ts';

/** A Stripe account, in one mode. */
interface StripeAccount {
  readonly livemode: boolean;
  readonly secretKey: string;
  /** The key of its card form in a browser; null or absent if our pages should not show it. */
  readonly publishableKey?: string | null;
  /** The signing secret of its events; null to accept none. */
  readonly webhookSecret: string | null;
  /** The address of its API; null for Stripe's own. */
  readonly apiBase: string | null;
  /** The timeout of a request. */
  readonly timeoutMs?: number;
}

/** A Stripe event about one of our payments. Its content is queried separately. */
export interface StripeNotice {
  readonly id: string;
  readonly environmentId: number;
  readonly paymentId: string;
  /** True if it only reports the success of the charge: a known success needs no query. */
  readonly saysPaid: boolean;
}

export interface StripeProcessor extends PaymentProcessor {
  readonly livemode: boolean;
  readonly takesEvents: boolean;
  /**
   * Parses an event. Null if it is not about one of our payments. Refuses with `signatureInvalid` an event that Stripe
   * did not sign for this account within the last five minutes.
   */
  readEvent(body: Buffer, signature: string | undefined): Promise<StripeNotice | null>;
}

// Card networks respond within seconds. A caller waits, so a hanging connection times out before callers give up.
const defaultTimeoutMs = 20_000;
// Stripe forgets an idempotency key some time after 24 hours; from then on earlier objects are searched.
const keyLifetimeMs = 23 * 60 * 60 * 1000;
// Stripe waits forever for a customer to confirm a charge, which would block the payment. A subscription waits 23 hours
// for its first payment: this ends earlier.
const confirmationLifetimeMs = 22 * 60 * 60 * 1000;
const clockSkewMs = 60 * 60 * 1000;

/**
 * Payments by Stripe, with its official client. A payment is a payment intent that is confirmed immediately,
 * off-session unless the customer is present. The payment's id is the idempotency key, and our ids are in its metadata.
 * A refund is a Stripe refund with the refund's id as key.
 */
export function createStripeProcessor(account: StripeAccount): StripeProcessor {
  const client = createClient(account);
  // The test account has a separate name, so that no row of one mode ever reaches the account of the other.
  const name = account.livemode ? 'stripe' : 'stripe_test';
  const call = <Answer>(request: () => Promise<Answer>) => ask(name, request);
  return {
    name,
    publishableKey: account.publishableKey ?? null,
    livemode: account.livemode,
    takesEvents: account.webhookSecret !== null,
    identifyCustomer: (request) => identifyCustomer(client, call, request),
    attachPaymentMethod: (request) => attach(client, call, request),
    detachPaymentMethod: (token) => orNothing(() => call(() => client.paymentMethods.detach(token))),
    deleteCustomer: (reference) => orNothing(() => call(() => client.customers.del(reference))),
    charge: (request) => charge(client, call, request),
    async retrieve(reference, now) {
      const intent = await retrieveIntent(client, call, reference);
      return (await findReversal(client, call, intent)) ?? outcomeForGood(client, call, intent, now);
    },
    refund: (request) => refund(client, call, request),
    listRefunds: async (reference, currency) =>
      (await listRefunds(client, call, reference)).map(({ id, amount, metadata }) => ({
        reference: id,
        idempotencyKey: metadata?.refund_id ?? null,
        amount: fromStripeAmount(amount, currency),
      })),
    readEvent: (body, signature) => readEvent(client, call, account, body, signature),
  };
}

type Call = <Answer>(request: () => Promise<Answer>) => Promise<Answer>;

function createClient({ secretKey, apiBase, timeoutMs = defaultTimeoutMs }: StripeAccount): Stripe {
  const base = new URL(apiBase ?? 'https://api.stripe.com');
  return new Stripe(secretKey, {
    host: base.hostname,
    port: base.port === '' ? (base.protocol === 'http:' ? 80 : 443) : Number(base.port),
    protocol: base.protocol === 'http:' ? 'http' : 'https',
    timeout: timeoutMs,
    // Callers retry with the same key: a retry here would only delay them.
    maxNetworkRetries: 0,
    telemetry: false,
    appInfo: { name: 'Tollkeeper' },
  });
}

async function charge(client: Stripe, call: Call, request: ChargeRequest) {
  const { idempotencyKey, amount, currency, token, customerReference, now } = request;
  assert(token !== null && customerReference !== null, 'a payment method of Stripe has its token and its customer');
  const stripeAmount = toStripeAmount(amount, currency);
  if (stripeAmount === null) {
    const message = `Card networks cannot charge ${amount} ${currency}: it has too many decimal places.`;
    return { result: 'failed', reference: null, code: 'amount_not_chargeable', message } as const;
  }
  const earlier = await findEarlierIntent(client, call, request);
  if (earlier !== null) return outcomeForGood(client, call, earlier, now);
  const create = () =>
    client.paymentIntents.create(
      {
        amount: stripeAmount,
        currency: currency.toLowerCase(),
        customer: customerReference,
        payment_method: token,
        confirm: true,
        ...(request.customerPresent ? { use_stripe_sdk: true } : { off_session: true }),
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        ...(request.description === null ? {} : { description: request.description }),
        metadata: { environment_id: String(request.environmentId), payment_id: idempotencyKey },
        expand: ['latest_charge'],
      },
      { idempotencyKey },
    );
  try {
    return outcomeOfIntent(await call(create), now);
  } catch (error) {
    const { reference, code, message } = refusalOrThrow(error);
    const failed = { result: 'failed', reference, code, message } as const;
    return reference === null ? failed : callOff(client, call, { reference, failed, now });
  }
}

function retrieveIntent(client: Stripe, call: Call, reference: string): Promise<Stripe.PaymentIntent> {
  return call(() => client.paymentIntents.retrieve(reference, { expand: ['latest_charge'] }));
}

/** The charge's status after a permanent failure. */
async function outcomeForGood(
  client: Stripe,
  call: Call,
  intent: Stripe.PaymentIntent,
  now: Instant,
): Promise<ChargeOutcome> {
  const outcome = outcomeOfIntent(intent, now);
  const failed = outcome.result === 'requires_action' ? unconfirmedFor(intent) : outcome;
  return failed?.result === 'failed' ? callOff(client, call, { reference: intent.id, failed, now }) : outcome;
}

/** The failure of a charge that the customer did not confirm in time; null while there is time. Uses Stripe's time. */
function unconfirmedFor({ id: reference, created }: Stripe.PaymentIntent): ChargeOutcome | null {
  if (Date.now() - created * 1000 < confirmationLifetimeMs) return null;
  return {
    result: 'failed',
    reference,
    code: 'authentication_required',
    message: 'The payment was not confirmed in time.',
  };
}

/**
 * Cancels the intent of a failed charge. Otherwise its client secret could be used to pay it with another card after
 * the invoice is no longer awaited, and the next attempt would charge again. If another change was faster, returns the
 * current state.
 */
async function callOff(
  client: Stripe,
  call: Call,
  { reference, failed, now }: { reference: string; failed: ChargeOutcome; now: Instant },
): Promise<ChargeOutcome> {
  try {
    await call(() => client.paymentIntents.cancel(reference));
    return failed;
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
    const outcome = outcomeOfIntent(await retrieveIntent(client, call, reference), now);
    return outcome.result === 'canceled' ? failed : outcome;
  }
}

function refusalOrThrow(error: unknown): Refusal {
  const refusal = refusalOf(error);
  if (refusal === null) throw error;
  return refusal;
}

/** The earlier intent of the payment, created so long ago that its key may be forgotten; null if there is none. */
async function findEarlierIntent(
  client: Stripe,
  call: Call,
  { idempotencyKey, customerReference, now }: ChargeRequest,
) {
  if (Date.now() - now < keyLifetimeMs) return null;
  return call(async () => {
    const since = Math.max(0, Math.floor((now - clockSkewMs) / 1000));
    const list = client.paymentIntents.list({
      customer: customerReference ?? '',
      created: { gte: since },
      limit: 100,
      expand: ['data.latest_charge'],
    });
    for await (const intent of list) if (intent.metadata.payment_id === idempotencyKey) return intent;
    return null;
  });
}

/** The reversal of a succeeded charge, if any. */
async function findReversal(client: Stripe, call: Call, intent: Stripe.PaymentIntent) {
  const { latest_charge: latest } = intent;
  if (intent.status !== 'succeeded' || typeof latest !== 'object' || !latest?.disputed) return null;
  const { data } = await call(() => client.disputes.list({ payment_intent: intent.id, limit: 100 }));
  return reversalOf(intent, data);
}

async function refund(client: Stripe, call: Call, request: RefundRequest) {
  const { idempotencyKey, reference, amount, currency, now } = request;
  assert(reference !== null, 'a payment that succeeded knows its charge');
  const stripeAmount = toStripeAmount(amount, currency);
  if (stripeAmount === null) {
    const message = `Card networks cannot refund ${amount} ${currency}: it has too many decimal places.`;
    return { result: 'failed', code: 'amount_not_refundable', message } as const;
  }
  const made = Date.now() - now < keyLifetimeMs ? null : await findRefund(client, call, reference, idempotencyKey);
  if (made !== null) return outcomeOfRefund(made);
  const create = () =>
    client.refunds.create(
      { payment_intent: reference, amount: stripeAmount, metadata: { refund_id: idempotencyKey } },
      { idempotencyKey },
    );
  try {
    return outcomeOfRefund(await call(create));
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
    return { result: 'failed', code: error.code ?? 'refund_failed', message: error.message } as const;
  }
}

/** A refund to a bank takes days. It counts from the start, because the money has left the seller's account. */
function outcomeOfRefund({ id, status, failure_reason: code = 'refund_failed' }: Stripe.Refund) {
  if (status !== 'failed' && status !== 'canceled') return { result: 'succeeded', reference: id } as const;
  return { result: 'failed', code, message: 'The refund failed.' } as const;
}

async function findRefund(client: Stripe, call: Call, reference: string, key: string): Promise<Stripe.Refund | null> {
  const refunds = await listRefunds(client, call, reference);
  return refunds.find((each) => each.metadata?.refund_id === key) ?? null;
}

async function listRefunds(client: Stripe, call: Call, reference: string): Promise<Stripe.Refund[]> {
  const { data } = await call(() => client.refunds.list({ payment_intent: reference, limit: 100 }));
  return data.filter(({ status }) => status !== 'failed' && status !== 'canceled');
}

/**
 * The customer that already owns the payment method, because the seller's page set it up; otherwise a new customer. A
 * payment method from a page of ours belongs to nobody yet, so an owner is somebody else.
 */
async function identifyCustomer(client: Stripe, call: Call, request: AttachRequest): Promise<string> {
  const { token, customer, environmentId, isOnPage } = request;
  const holder = isOnPage ? null : idOf((await findMethod(client, call, token))?.customer);
  if (holder !== null) return holder;
  const { id, name, email } = customer;
  const said = createHash('sha256')
    .update(JSON.stringify([name, email]))
    .digest('base64url');
  const made = await call(() =>
    client.customers.create(
      { name, email, metadata: { environment_id: String(environmentId), customer_id: id } },
      // The key includes the content: a key represents one request, and a customer may be renamed between two attempts.
      { idempotencyKey: `${id}_${said}` },
    ),
  );
  return made.id;
}

function idOf(reference: string | { readonly id: string } | null | undefined): string | null {
  return typeof reference === 'object' ? (reference?.id ?? null) : (reference ?? null);
}

/** Removes an object. Stripe refuses one that is removed or unknown, which is what is wanted. */
async function orNothing(remove: () => Promise<unknown>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
  }
}

/** The payment method, or null if it does not exist: Stripe's test names create one on use. */
async function findMethod(client: Stripe, call: Call, token: string): Promise<Stripe.PaymentMethod | null> {
  try {
    return await call(() => client.paymentMethods.retrieve(token));
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError) return null;
    throw error;
  }
}

async function attach(client: Stripe, call: Call, request: AttachRequest): Promise<AttachOutcome> {
  const { token, customerReference } = request;
  assert(customerReference !== null, 'the customer was identified before');
  const method = await findMethod(client, call, token);
  const holder = idOf(method?.customer);
  // The seller's page has set it up with the customer present.
  if (method !== null && holder === customerReference) return attachedMethod(method);
  if (holder !== null) {
    const message = 'The payment method belongs to another customer at Stripe.';
    return { result: 'declined', code: 'payment_method_of_other_customer', message };
  }
  try {
    return await setUp(client, call, request, method?.type ?? request.type ?? '');
  } catch (error) {
    const refusal = refusalOrThrow(error);
    if (refusal.param === 'payment_method' && refusal.code === 'resource_missing')
      return { result: 'unknown', known: [] };
    return { result: 'declined', code: refusal.code, message: refusal.message };
  }
}

/** Verifies the payment method and stores it for off-session charges. */
async function setUp(client: Stripe, call: Call, request: AttachRequest, type: string): Promise<AttachOutcome> {
  const { token, idempotencyKey, environmentId, customerReference } = request;
  const intent = await call(() =>
    client.setupIntents.create(
      {
        customer: customerReference ?? '',
        payment_method: token,
        confirm: true,
        usage: 'off_session',
        use_stripe_sdk: true,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        ...(bankDebits.has(type) ? mandateOf(request, type) : {}),
        metadata: { environment_id: String(environmentId), payment_method_id: idempotencyKey },
        expand: ['payment_method'],
      },
      { idempotencyKey },
    ),
  );
  const { status, payment_method: kept, client_secret: clientSecret } = intent;
  if (status === 'succeeded' && typeof kept === 'object' && kept !== null) return attachedMethod(kept);
  const message = `The customer must confirm it first (${intent.next_action?.type ?? status}): set it up with the customer present, then attach it.`;
  const keptId = idOf(kept);
  const canBeConfirmed = status === 'requires_action' && clientSecret !== null && keptId !== null;
  const nextAction = canBeConfirmed ? { nextAction: { clientSecret, token: keptId } } : {};
  return { result: 'declined', code: 'authentication_required', message, ...nextAction };
}

/** The mandate of a debit. A caller that attaches a bank account without a page has the holder's mandate. */
function mandateOf({ acceptance }: AttachRequest, type: string): Partial<Stripe.SetupIntentCreateParams> {
  if (acceptance === null) return { mandate_data: { customer_acceptance: { type: 'offline' } } };
  const { ipAddress: ip_address, userAgent: user_agent } = acceptance;
  return {
    mandate_data: { customer_acceptance: { type: 'online', online: { ip_address, user_agent } } },
    // The form has verified the account at the bank. Two small deposits would take days, and nobody to enter them.
    ...(type === 'us_bank_account' && {
      payment_method_options: { us_bank_account: { verification_method: 'instant' } },
    }),
  };
}

// Events about a payment's charge, refunds or disputes.
const readTypes =
  /^(payment_intent\.(succeeded|payment_failed|processing|canceled|requires_action)|charge\.(failed|refunded|refund\.updated|dispute\..+)|refund\..+)$/;

async function readEvent(
  client: Stripe,
  call: Call,
  { webhookSecret, livemode }: StripeAccount,
  body: Buffer,
  signature: string | undefined,
): Promise<StripeNotice | null> {
  const event = verifyEvent(client, webhookSecret, body, signature);
  if (event.livemode !== livemode || !readTypes.test(event.type)) return null;
  // The object of each of these types is a payment intent, or names one.
  const metadata = await paymentMetadata(client, call, event.data.object as EventObject);
  const environmentId = Number(metadata?.environment_id);
  const paymentId = metadata?.payment_id;
  if (paymentId === undefined || !Number.isSafeInteger(environmentId)) return null;
  return { id: event.id, environmentId, paymentId, saysPaid: event.type === 'payment_intent.succeeded' };
}

interface EventObject {
  readonly id: string;
  readonly object: string;
  readonly metadata?: Stripe.Metadata | null;
  readonly payment_intent?: string | { readonly id: string } | null;
}

/** Our ids: intents have them, charges copy them from the intent; refunds and disputes name their intent. */
async function paymentMetadata(client: Stripe, call: Call, object: EventObject): Promise<Stripe.Metadata | null> {
  if (object.metadata?.payment_id !== undefined) return object.metadata;
  const intentId = idOf(object.payment_intent);
  return intentId === null ? null : (await call(() => client.paymentIntents.retrieve(intentId))).metadata;
}

function verifyEvent(client: Stripe, secret: string | null, body: Buffer, signature: string | undefined): Stripe.Event {
  try {
    return client.webhooks.constructEvent(body, signature ?? '', secret ?? '');
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) throw new Problem('signatureInvalid');
    throw error;
  }
}
