/** The wire codes and the HTTP status each of them travels with. */
export const statusOfCode = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  TIMEOUT: 408,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  HEADERS_TOO_LARGE: 431,
  SERVICE_UNAVAILABLE: 503,
} as const;
export type ProblemCode = keyof typeof statusOfCode;

/** Every refusal there is: its wire code, and a sentence whose {placeholders} the details fill. */
export const registry = {
  // The request itself
  invalidRequest: ['BAD_REQUEST', '{reason}'],
  invalidJson: ['BAD_REQUEST', 'Invalid JSON in request body: {reason}'],
  invalidCursor: ['BAD_REQUEST', 'Invalid cursor: use a value that a list answered as currentCursor or nextCursor.'],
  unauthorized: ['UNAUTHORIZED', 'Send a valid API key: Authorization: Bearer <key>.'],
  operatorTokenWrong: ['UNAUTHORIZED', "Send the operator's token: Authorization: Bearer <TOLLKEEPER_OPERATOR_TOKEN>."],
  checkUnderWay: ['CONFLICT', 'Another process is checking the data. Ask for its answer when it has ended.'],
  notCheckedYet: ['NOT_FOUND', 'The data was not checked yet. Ask with ?fresh=true to have it checked now.'],
  routeNotFound: ['NOT_FOUND', 'There is no {method} {path}.'],
  bodyTooLarge: ['PAYLOAD_TOO_LARGE', 'The request body is larger than {limit} bytes.'],
  headersTooLarge: ['HEADERS_TOO_LARGE', 'The headers of the request are larger than {limit} bytes.'],
  requestTimeout: ['TIMEOUT', 'The request did not arrive within {seconds} seconds.'],
  unsupportedMediaType: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  contentEncodingRefused: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding: {encoding}.'],
  idempotencyKeyReused: ['CONFLICT', 'The Idempotency-Key was used before for another request. Use a new key.'],
  idempotencyKeyInUse: [
    'CONFLICT',
    'A request with this Idempotency-Key is still running. Try again when it has ended.',
  ],
  idMismatch: ['BAD_REQUEST', 'The id in the body ({bodyId}) is not the id in the path ({pathId}).'],
  conflictingRow: ['CONFLICT', 'Another request has just made a record that excludes this one ({constraint}).'],
  outsidePinnedPricingModel: [
    'FORBIDDEN',
    'The API key is pinned to one pricing model and may not write outside of it.',
  ],
  tooBusy: ['TOO_MANY_REQUESTS', 'More is waiting than can be answered soon. Try again shortly.'],
  serviceUnavailable: ['SERVICE_UNAVAILABLE', 'The database does not answer. Try again shortly.'],
  rateLimited: ['TOO_MANY_REQUESTS', 'This API key sends more than {limit} requests a second. Try again shortly.'],
  tooManyWrongKeys: [
    'TOO_MANY_REQUESTS',
    'Too many requests from this address had no valid API key. Check the key, and try again shortly.',
  ],
  overloaded: [
    'SERVICE_UNAVAILABLE',
    'As many requests are under way as can be carried out. Nothing was done: try again shortly.',
  ],
  databaseTookTooLong: [
    'SERVICE_UNAVAILABLE',
    'The database did not finish in time, because it is busy or somebody else changes the same records. Nothing was stored: try again shortly.',
  ],
  databaseFull: [
    'SERVICE_UNAVAILABLE',
    'The disk of the database is full. Nothing was stored: try again when whoever runs the service has made room.',
  ],
  databaseReadOnly: [
    'SERVICE_UNAVAILABLE',
    'The database takes no changes now: it is read-only. Nothing was stored: try again later.',
  ],
  databaseFailing: [
    'SERVICE_UNAVAILABLE',
    'The database fails, for want of memory or by its disk. Nothing was stored: try again later.',
  ],

  // Pages
  linkInvalid: ['NOT_FOUND', 'This link opens nothing. Please open it again from where you have it, whole.'],
  portalClosed: [
    'FORBIDDEN',
    'Your access has ended, or belongs to another customer by now. Please ask for a new link.',
  ],
  formFromElsewhere: ['FORBIDDEN', 'This form was not sent from our own page. Please open the page and try again.'],

  // Organizations
  apiKeyNotFound: ['NOT_FOUND', 'No API key with id {id}.'],
  currencyInUse: [
    'CONFLICT',
    'The currency stays {currency}: there are prices, discounts or invoices of more than nothing in it.',
  ],
  testClockInLiveMode: ['FORBIDDEN', 'Time is real in live mode: only the clock of test mode can be set.'],
  testClockBackwards: [
    'BAD_REQUEST',
    'The test clock stands at {now} and does not go back once there are subscriptions: send that instant or a later one.',
  ],
  testClockMoving: [
    'SERVICE_UNAVAILABLE',
    'The test clock is at {now} on its way to {target}, and the work goes on. Ask for {target} again to wait for it.',
  ],

  // Pricing
  pricingModelNotFound: ['NOT_FOUND', 'No pricing model with id {id}.'],
  defaultPricingModelNotFound: [
    'NOT_FOUND',
    'There is no default pricing model: name one with pricingModelId, or make one the default.',
  ],
  productNotFound: ['NOT_FOUND', 'No product with id {id}.'],
  priceNotFound: ['NOT_FOUND', 'No price with id or slug {id}.'],
  featureNotFound: ['NOT_FOUND', 'No feature with id or slug {id}.'],
  productFeatureNotFound: ['NOT_FOUND', 'No product feature with id {id}.'],
  usageMeterNotFound: ['NOT_FOUND', 'No usage meter with id or slug {id}.'],
  resourceNotFound: ['NOT_FOUND', 'No resource with id or slug {id}.'],
  slugTaken: ['CONFLICT', 'The slug {slug} is already used by another {record} of the pricing model.'],
  discountNotFound: ['NOT_FOUND', 'No discount with id {id}.'],
  discountCodeTaken: ['CONFLICT', 'The code {code} is already used by another discount of the pricing model.'],
  otherCurrency: [
    'BAD_REQUEST',
    'The pricing model is in {currency} and the destination in {otherCurrency}: set one currency for both first.',
  ],
  otherPricingModel: ['BAD_REQUEST', 'The {record} {id} belongs to another pricing model.'],
  defaultProductNotCreatable: [
    'FORBIDDEN',
    'A pricing model is made with its default product and gets no second one: leave out default, or send false.',
  ],
  defaultProductProtected: ['FORBIDDEN', 'Product {id} is the plan that every customer starts on: {rule}.'],
  priceTypeFixed: [
    'FORBIDDEN',
    'Product {id} is sold by prices of type {type}: a price of another type needs a product of its own.',
  ],
  noChargePriceProtected: ['BAD_REQUEST', "Price {id} is its usage meter's no-charge price: {rule}."],
  defaultPriceNeeded: [
    'BAD_REQUEST',
    'Price {id} is the default price of its product: make another price the default instead.',
  ],
  toggleOnSinglePayment: [
    'BAD_REQUEST',
    'Feature {featureId} is a toggle, and product {productId} is paid once: only products with a subscription price give toggles.',
  ],

  // Customers, subscriptions, entitlements
  customerNotFound: ['NOT_FOUND', 'Customer with id or external id {id} not found.'],
  customerArchived: ['BAD_REQUEST', 'Customer {id} is archived.'],
  externalIdTaken: [
    'CONFLICT',
    'The external id {externalId} is already used by another customer of the pricing model.',
  ],
  externalIdAmbiguous: [
    'BAD_REQUEST',
    'Several pricing models have a customer with external id {externalId}: add pricingModelId to the query.',
  ],
  subscriptionNotFound: ['NOT_FOUND', 'No subscription with id {id}.'],
  subscriptionItemNotFound: ['NOT_FOUND', 'No subscription item with id {id}.'],
  subscriptionItemFeatureNotFound: ['NOT_FOUND', 'No subscription item feature with id {id}.'],
  subscriptionTerminal: ['BAD_REQUEST', 'Subscription {id} has ended: its status is {status}.'],
  subscriptionPaused: [
    'BAD_REQUEST',
    'Subscription {id} is paused: resume it first with POST /subscriptions/{id}/resume.',
  ],
  subscriptionNotPausable: ['BAD_REQUEST', 'Subscription {id} cannot be paused: {reason}.'],
  subscriptionItemExpired: ['BAD_REQUEST', 'Subscription item {id} has expired: what is put on it gives nothing.'],
  featureInactive: ['BAD_REQUEST', 'Feature {id} is inactive.'],
  itemFeatureExists: [
    'CONFLICT',
    'The subscription item has this feature already, without an end: change or expire that one.',
  ],
  creditsNotGrantable: [
    'BAD_REQUEST',
    'Feature {id} is of type {type} and gives no credits: leave out grantCreditsImmediately, or send false.',
  ],
  resourceFeatureMissing: ['BAD_REQUEST', 'Subscription {id} has no active feature that grants the resource {slug}.'],
  resourceInactive: ['BAD_REQUEST', 'The resource {slug} is inactive: no more of it can be claimed.'],
  capacityExceeded: [
    'BAD_REQUEST',
    'No available capacity of {slug}: requested {requested}, available {available} (capacity {capacity}, claimed {claimed}).',
  ],
  tooManyClaims: ['BAD_REQUEST', '{requested} claims are too many for one request: send at most {limit} at a time.'],
  tooFewClaims: [
    'BAD_REQUEST',
    'Of {slug} only {available} claims without an external id are held, so {requested} cannot be released.',
  ],
  resourceClaimNotFound: ['NOT_FOUND', 'No active claim of {slug} with id or external id {id}.'],
  priceNotSubscribable: [
    'BAD_REQUEST',
    'Price {id} is of type {type}: subscribe to a price of type subscription, or to that of the default product.',
  ],
  priceInactive: ['BAD_REQUEST', 'Price {id} is not sold any more: it or its product is not active.'],
  defaultPlanCannotBeCanceled: [
    'BAD_REQUEST',
    "Subscription {id} is the customer's default plan and cannot be canceled: subscribe to another plan, or archive the customer.",
  ],
  adjustmentScheduled: [
    'BAD_REQUEST',
    'A change of subscription {id} is scheduled: undo it first with POST /subscriptions/{id}/cancel-scheduled-adjustment.',
  ],
  subscriptionNotAdjustable: ['BAD_REQUEST', 'Subscription {id} cannot be changed: {reason}.'],
  adjustmentAwaitsPayment: [
    'CONFLICT',
    'A change of subscription {id} waits for its payment (invoice {invoiceId}): ask for another one when that has ended.',
  ],
  adjustmentNeedsPeriod: ['NOT_FOUND', 'Subscription {id} is in no billing period now that a change could be made in.'],
  activePriceNotFound: ['NOT_FOUND', 'No active price with id or slug {id} in the pricing model of the subscription.'],
  capacityBelowClaims: [
    'CONFLICT',
    'The change would leave {capacity} of {slug} and {claimed} are claimed: release {excess} first.',
  ],
  adjustmentNotPaid: [
    'PAYMENT_REQUIRED',
    'Nothing was changed, because the charge for the change failed. {code}: {reason} Use another payment method.',
  ],
  noAdjustmentScheduled: ['BAD_REQUEST', 'No change of subscription {id} is scheduled.'],
  subscriptionDoesNotRenew: [
    'BAD_REQUEST',
    'Subscription {id} does not renew, so it has no billing period to end with: cancel it immediately.',
  ],
  currentBillingPeriodNotFound: ['NOT_FOUND', 'Subscription {id} is in no billing period now: cancel it immediately.'],
  paymentMethodRequired: [
    'BAD_REQUEST',
    'Subscription {id} has to be paid for and there is no payment method to charge: attach one to the customer first.',
  ],
  currentSubscriptionExists: [
    'CONFLICT',
    'The customer already has a current subscription: cancel or adjust it, or allow several per customer.',
  ],

  // Usage, money, webhooks
  usageEventNotFound: ['NOT_FOUND', 'No usage event with id {id}.'],
  usageCreditNotFound: ['NOT_FOUND', 'No usage credit with id {id}.'],
  usageCreditSpent: ['BAD_REQUEST', 'Nothing is left of credit {id} that could be taken back.'],
  usageCreditTooSmall: [
    'BAD_REQUEST',
    'Of credit {id} only {remaining} are left, so {amount} cannot be taken back: send {remaining} or less.',
  ],
  usageCreditHeld: [
    'BAD_REQUEST',
    'Of credit {id} only {free} can be taken back now, and not {amount}: open holds have set the rest of the balance aside.',
  ],
  insufficientBalance: ['PAYMENT_REQUIRED', 'The balance of {balance} does not cover {amount}.'],
  holdNotFound: ['NOT_FOUND', 'No hold with id {id}.'],
  holdSettled: ['CONFLICT', 'Hold {id} was settled with {amount} before.'],
  holdReleased: ['CONFLICT', 'Hold {id} was released: record what was used as a usage event.'],
  holdTransactionTaken: [
    'CONFLICT',
    'A usage event has the id of hold {id} as its transactionId already: release the hold instead.',
  ],
  tooManyHolds: [
    'CONFLICT',
    'The subscription has {limit} open holds on this usage meter already: settle or release some first.',
  ],
  transactionIdTaken: ['CONFLICT', 'Another subscription has already recorded transaction {id} on this usage meter.'],
  invoiceNotFound: ['NOT_FOUND', 'No invoice with id {id}.'],
  taxRateNotFound: ['NOT_FOUND', 'No tax rate with id {id}.'],
  taxRateExists: [
    'CONFLICT',
    'There is an active tax rate for this country and state already: change or deactivate that one.',
  ],
  noUpcomingInvoice: ['BAD_REQUEST', 'Subscription {id} has no upcoming invoice: {reason}.'],
  invoiceLineItemNotFound: ['NOT_FOUND', 'No invoice line item with id {id}.'],
  paymentNotFound: ['NOT_FOUND', 'No payment with id {id}.'],
  processorNotConfigured: [
    'SERVICE_UNAVAILABLE',
    'The {processor} processor has no keys: set them and start the service again. What waits for it goes on then.',
  ],
  processorUnavailable: [
    'SERVICE_UNAVAILABLE',
    'The {processor} processor does not answer ({reason}). What was asked for is kept and goes on by itself.',
  ],
  signatureInvalid: [
    'BAD_REQUEST',
    'The event is not signed with the secret that is set here, or was so too long ago.',
  ],
  processorTakesNoPaymentMethods: [
    'BAD_REQUEST',
    'The {processor} processor, which this mode has, keeps no payment methods: test tokens are for test mode, where no money moves.',
  ],
  paymentMethodNotFound: ['NOT_FOUND', 'No payment method with id {id}.'],
  invoiceStatusForbids: ['BAD_REQUEST', 'Invoice {id} cannot be {happening}: its status is {status}.'],
  invoiceNotOpen: ['BAD_REQUEST', 'Only an open invoice can be paid; the status of invoice {id} is {status}.'],
  invoiceAlreadyBeingPaid: ['CONFLICT', 'Invoice {invoiceId} has a payment under way: try again when that has ended.'],
  invoicePartlyPaid: [
    'BAD_REQUEST',
    'Of invoice {id} {amount} are paid and not refunded: refund them before it is made void, or mark it uncollectible.',
  ],
  nothingOwed: ['BAD_REQUEST', 'Subscription {id} owes no invoice for a billing period.'],
  subscriptionNotCharged: ['BAD_REQUEST', 'Subscription {id} is not charged: it was made with doNotCharge.'],
  paymentFailed: ['PAYMENT_REQUIRED', 'The charge failed. {code}: {reason} Use another payment method.'],
  invoiceTooLarge: ['BAD_REQUEST', 'An invoice of {total} is more than one payment can carry: {limit}.'],
  periodAlreadyInvoiced: [
    'CONFLICT',
    'Billing period {billingPeriodId} has an invoice for this reason already: {reason}.',
  ],
  paymentMethodDeclined: ['PAYMENT_REQUIRED', '{code}: {reason} Use another payment method.'],
  paymentAlreadyRefunded: ['BAD_REQUEST', 'Payment {id} is refunded already, all of it.'],
  paymentNotRefundable: [
    'BAD_REQUEST',
    'Only a payment that has succeeded can be refunded; the status of payment {id} is {status}.',
  ],
  refundUnderWay: ['BAD_REQUEST', 'All that remains of payment {id} is being refunded already.'],
  refundFailed: ['BAD_REQUEST', 'The payment processor refused the refund: {reason}'],
  purchaseNotFound: ['NOT_FOUND', 'No purchase with id {id}.'],
  priceNotSold: ['BAD_REQUEST', 'Price {id} cannot be bought: {reason}.'],
  nothingHoldsCredits: [
    'BAD_REQUEST',
    'Product {id} gives credits, and customer {customerId} has no subscription that they could be added to.',
  ],
  subscriptionNotActivatable: ['BAD_REQUEST', 'Subscription {id} cannot be activated: {reason}.'],
  checkoutSessionNotFound: ['NOT_FOUND', 'No checkout session with id {id}.'],
  webhookNotFound: ['NOT_FOUND', 'No webhook with id {id}.'],
  webhookInactive: ['BAD_REQUEST', 'Webhook {id} is not active, so nothing is sent to it: set active to true first.'],
  tooManyWebhooks: ['CONFLICT', 'Pricing model {id} has {limit} webhooks already: delete one first.'],
  deliveryNotFound: ['NOT_FOUND', 'No webhook delivery with id {id}.'],
  replayTooLarge: ['BAD_REQUEST', 'More than {limit} events are meant: choose a shorter range, or fewer types.'],
  eventNotFound: ['NOT_FOUND', 'No event with id {id}.'],
} as const satisfies Record<string, readonly [ProblemCode, string]>;

export type ProblemName = keyof typeof registry;
/** One thing that is wrong with a request, and where: `path` are the keys that lead to the value. */
export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
}

type Details = Readonly<Record<string, string | number | bigint | boolean>>;

/** A refusal that the caller can act on. A bug is not a Problem but a failed assertion. */
export class Problem extends Error {
  readonly problem: ProblemName;
  readonly code: ProblemCode;
  readonly status: number;
  readonly issues: readonly Issue[];
  /** What the refusal is answered with beside its words. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    problem: ProblemName,
    details: Details = {},
    issues: readonly Issue[] = [],
    data: Readonly<Record<string, unknown>> = {},
  ) {
    const [code, template] = registry[problem];
    super(template.replace(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? '')));
    this.name = 'Problem';
    this.problem = problem;
    this.code = code;
    this.status = statusOfCode[code];
    this.issues = issues;
    this.data = data;
  }
}

/** A refusal because a value of the request is not acceptable: names the field and says what would be right. */
export function invalid(path: readonly (string | number)[], message: string): Problem {
  return new Problem('invalidRequest', { reason: `${path.join('.')}: ${message}` }, [
    { path, message, code: 'custom' },
  ]);
}

/** The status and code that a problem of this name is answered with. */
export function problemCode(problem: ProblemName): ProblemCode {
  return registry[problem][0];
}

/**
 * Database constraints whose violation is the caller's doing, and the refusal each stands for. A unique key closes the
 * race; this table gives it a name. Under row-level security PostgreSQL does not say which values met.
 */
export const problemOfConstraint: Readonly<Record<string, { problem: ProblemName; details: Details }>> = {
  products_active_slug_unique: { problem: 'slugTaken', details: { slug: 'asked for', record: 'product' } },
  prices_active_slug_unique: { problem: 'slugTaken', details: { slug: 'asked for', record: 'price' } },
  features_active_slug_unique: { problem: 'slugTaken', details: { slug: 'asked for', record: 'feature' } },
  resources_active_slug_unique: { problem: 'slugTaken', details: { slug: 'asked for', record: 'resource' } },
  usage_meters_slug_unique: { problem: 'slugTaken', details: { slug: 'asked for', record: 'usage meter' } },
  pricing_models_one_default: { problem: 'conflictingRow', details: { constraint: 'pricing_models_one_default' } },
  products_one_default: { problem: 'conflictingRow', details: { constraint: 'products_one_default' } },
  prices_one_default_per_product: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_one_default_per_product' },
  },
  prices_one_default_per_usage_meter: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_one_default_per_usage_meter' },
  },
  product_features_pair_unique: { problem: 'conflictingRow', details: { constraint: 'product_features_pair_unique' } },
  prices_currency_of_environment: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_currency_of_environment' },
  },
  discounts_code_unique: { problem: 'discountCodeTaken', details: { code: 'asked for' } },
  tax_rates_one_active: { problem: 'taxRateExists', details: {} },
  customers_external_id_unique: { problem: 'externalIdTaken', details: { externalId: 'asked for' } },
  subscription_item_features_pair_unique: { problem: 'itemFeatureExists', details: {} },
  subscription_adjustments_one_pending: {
    problem: 'conflictingRow',
    details: { constraint: 'subscription_adjustments_one_pending' },
  },
  subscriptions_one_current: { problem: 'currentSubscriptionExists', details: {} },
  payments_one_under_way_per_invoice: { problem: 'invoiceAlreadyBeingPaid', details: {} },
  purchases_one_per_session: { problem: 'conflictingRow', details: { constraint: 'purchases_one_per_session' } },
  invoices_one_per_period: { problem: 'periodAlreadyInvoiced', details: {} },
  subscriptions_one_trial_per_customer: {
    problem: 'conflictingRow',
    details: { constraint: 'subscriptions_one_trial_per_customer' },
  },
};
