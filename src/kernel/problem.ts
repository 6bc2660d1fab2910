/** The wire codes and the HTTP status of each. */
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
  NOT_IMPLEMENTED: 501,
  SERVICE_UNAVAILABLE: 503,
} as const;
type ProblemCode = keyof typeof statusOfCode;

/**
 * Every refusal there is: its wire code, and a sentence whose {placeholders} the details fill. The name is part of the
 * API: see `reasonOf`.
 */
export const registry = {
  // The request itself
  invalidRequest: ['BAD_REQUEST', '{reason}'],
  invalidJson: ['BAD_REQUEST', 'Invalid JSON in request body: {reason}'],
  invalidCursor: ['BAD_REQUEST', 'Invalid cursor: use the currentCursor or nextCursor of a list response.'],
  unauthorized: ['UNAUTHORIZED', 'Send a valid API key: Authorization: Bearer <key>.'],
  permissionMissing: [
    'FORBIDDEN',
    'The permission {permission} is missing: use a key or a role that has it, or give it to this one.',
  ],
  operatorTokenWrong: ['UNAUTHORIZED', "Send the operator's token: Authorization: Bearer <TOLLKEEPER_OPERATOR_TOKEN>."],
  checkRunning: ['CONFLICT', 'A check of the data is already running. Request its result when it has finished.'],
  notCheckedYet: ['NOT_FOUND', 'The data has not been checked yet. Add ?fresh=true to run a check now.'],
  routeNotFound: ['NOT_FOUND', 'There is no {method} {path}.'],
  bodyTooLarge: ['PAYLOAD_TOO_LARGE', 'The request body is larger than {limit} bytes.'],
  headersTooLarge: ['HEADERS_TOO_LARGE', 'The headers of the request are larger than {limit} bytes.'],
  requestTimeout: ['TIMEOUT', 'The request did not arrive within {seconds} seconds.'],
  unsupportedMediaType: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  contentEncodingRefused: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding: {encoding}.'],
  idempotencyKeyReused: ['CONFLICT', 'The Idempotency-Key was already used for a different request. Use a new key.'],
  idempotencyKeyInUse: [
    'CONFLICT',
    'A request with this Idempotency-Key is still in progress. Try again when it has finished.',
  ],
  answerErased: [
    'CONFLICT',
    'The first request with this Idempotency-Key was carried out. Its answer was erased with the personal data in it.',
  ],
  idMismatch: ['BAD_REQUEST', 'The id in the body ({bodyId}) does not match the id in the path ({pathId}).'],
  conflictingRow: ['CONFLICT', 'A concurrent request has just created a conflicting record ({constraint}).'],
  outsidePinnedPricingModel: ['FORBIDDEN', 'The API key is pinned to one pricing model and cannot write outside it.'],
  tooBusy: ['TOO_MANY_REQUESTS', 'Too many requests are queued. Try again shortly.'],
  serviceUnavailable: ['SERVICE_UNAVAILABLE', 'The database is not responding. Try again shortly.'],
  rateLimited: [
    'TOO_MANY_REQUESTS',
    'This API key exceeded its limit of {limit} requests per second. Try again shortly.',
  ],
  tooManyWrongKeys: [
    'TOO_MANY_REQUESTS',
    'Too many requests from this address had no valid API key. Check the key and try again shortly.',
  ],
  tooManyReads: [
    'TOO_MANY_REQUESTS',
    'This address exceeded the limit of {limit} requests per second for documents that need no key. Try again shortly.',
  ],
  tooManyPages: [
    'TOO_MANY_REQUESTS',
    'Too many pages of this {of} were requested: the limit is {limit} per second. Try again shortly.',
  ],
  tooManyStreams: ['TOO_MANY_REQUESTS', 'The {of} has the maximum of {limit} open streams. Close one of them first.'],
  overloaded: ['SERVICE_UNAVAILABLE', 'The service is at capacity and did not process the request. Try again shortly.'],
  databaseTookTooLong: [
    'SERVICE_UNAVAILABLE',
    'The database did not finish in time because it is busy or another request is changing the same records. Nothing was stored. Try again shortly.',
  ],
  databaseFull: [
    'SERVICE_UNAVAILABLE',
    'The database is out of disk space. Nothing was stored. Try again when the operator has freed some space.',
  ],
  databaseReadOnly: [
    'SERVICE_UNAVAILABLE',
    'The database is currently read-only. Nothing was stored. Try again later.',
  ],
  databaseFailing: [
    'SERVICE_UNAVAILABLE',
    'The database is out of memory or its disk is failing. Nothing was stored. Try again later.',
  ],

  notOverCells: ['NOT_IMPLEMENTED', 'Not possible yet with customers in several cells. Nothing was changed.'],
  cellNotReady: ['SERVICE_UNAVAILABLE', 'The cell is not ready yet. Nothing was changed. Try again shortly.'],

  // Pages
  tooManyAttempts: [
    'TOO_MANY_REQUESTS',
    'There were too many failed attempts. Nothing was charged by this one. Try again in {seconds} seconds.',
  ],
  linkInvalid: ['NOT_FOUND', 'This link is invalid or incomplete. Please copy the whole link and try again.'],
  portalClosed: ['FORBIDDEN', 'Your access has ended, or now belongs to another customer. Please request a new link.'],
  notOfferedInPortal: [
    'CONFLICT',
    'The portal does not offer this for subscription {id}, because the seller decides about it. Change it over the API.',
  ],
  changeFromElsewhere: [
    'FORBIDDEN',
    'A change by somebody who is signed in must come from our own page, with the header X-Tollkeeper-Request: dashboard.',
  ],
  formFromElsewhere: ['FORBIDDEN', 'This form was not sent from our page. Please open the page and try again.'],

  // People
  signedOut: ['UNAUTHORIZED', 'Sign in first: this is about the person of a session, and takes no API key.'],
  personNeeded: ['FORBIDDEN', 'Only a person who is signed in may do this. An API key may not.'],
  memberNotFound: ['NOT_FOUND', 'The organization has no member with the user id {id}.'],
  memberExists: ['CONFLICT', '{email} is a member of the organization already. Change the role of the member.'],
  invitationNotFound: ['NOT_FOUND', 'There is no open invitation with id {id}.'],
  lastOwner: ['CONFLICT', 'This is the last owner. Make somebody else an owner first.'],

  // Organizations
  apiKeyNotFound: ['NOT_FOUND', 'No API key with id {id}.'],
  apiKeyEnded: ['CONFLICT', 'API key {id} was revoked or has expired: create another key.'],
  apiKeyOutlived: [
    'FORBIDDEN',
    'The API key that asks expires at {expiresAt}, so it cannot give a key a later expiry or none.',
  ],
  apiKeyReplaced: ['CONFLICT', 'API key {id} was rotated already: use {replacedById}, which took its place.'],
  currencyInUse: [
    'CONFLICT',
    'The currency must stay {currency}: prices, discounts, invoices, invoice items, balances, credit pools, limits or thresholds have amounts in it.',
  ],
  testClockInLiveMode: ['FORBIDDEN', 'Only the clock of test mode can be set: live mode uses real time.'],
  testClockBackwards: [
    'BAD_REQUEST',
    'The test clock is at {now} and cannot move back once there are subscriptions: send that instant or a later one.',
  ],
  testClockMoving: [
    'SERVICE_UNAVAILABLE',
    'The test clock is at {now} and still moving to {target}. Request {target} again to wait for it.',
  ],

  // Pricing
  pricingModelNotFound: ['NOT_FOUND', 'No pricing model with id {id}.'],
  defaultPricingModelNotFound: [
    'NOT_FOUND',
    'There is no default pricing model: send pricingModelId, or make a pricing model the default.',
  ],
  productNotFound: ['NOT_FOUND', 'No product with id {id}.'],
  priceNotFound: ['NOT_FOUND', 'No price with id or slug {id}.'],
  featureNotFound: ['NOT_FOUND', 'No feature with id or slug {id}.'],
  productFeatureNotFound: ['NOT_FOUND', 'No product feature with id {id}.'],
  usageMeterNotFound: ['NOT_FOUND', 'No usage meter with id or slug {id}.'],
  creditPoolNotFound: ['NOT_FOUND', 'No credit pool with id or slug {id}.'],
  resourceNotFound: ['NOT_FOUND', 'No resource with id or slug {id}.'],
  slugTaken: ['CONFLICT', 'The slug {slug} is already used by another {record} of the pricing model.'],
  discountNotFound: ['NOT_FOUND', 'No discount with id {id}.'],
  discountCodeTaken: ['CONFLICT', 'The code {code} is already used by another discount of the pricing model.'],
  discountAlreadyUsed: [
    'CONFLICT',
    'The customer has already used the code {code}, and a code counts once for each customer.',
  ],
  discountNotApplicable: ['CONFLICT', 'The code {code} cannot be redeemed, because it {reason}.'],
  subscriptionDiscountNotFound: ['NOT_FOUND', 'The subscription has no discount with id {id} on it.'],
  discountMaximumTooLow: [
    'CONFLICT',
    'maximumRedemptions must not be below the number of redemptions so far. Set active to false to end the discount.',
  ],
  otherCurrency: [
    'BAD_REQUEST',
    'The pricing model uses {currency} and the destination uses {otherCurrency}: set both to the same currency first.',
  ],
  otherPricingModel: ['BAD_REQUEST', 'The {record} {id} belongs to another pricing model.'],
  defaultProductNotCreatable: [
    'FORBIDDEN',
    'A pricing model is created with its default product and cannot have a second one: omit default, or send false.',
  ],
  defaultProductProtected: ['FORBIDDEN', 'Product {id} is the default plan, on which every customer starts: {rule}.'],
  defaultProductNotDeletable: [
    'CONFLICT',
    'Product {id} is the default plan, on which every customer starts. It goes only with its pricing model.',
  ],
  defaultPricingModelNotDeletable: [
    'CONFLICT',
    'Pricing model {id} is the default one: make another pricing model the default first.',
  ],
  pricingModelInUse: ['CONFLICT', 'Pricing model {id} cannot be deleted, because it is used by {uses}.'],
  productInUse: [
    'CONFLICT',
    'Product {id} cannot be deleted, because it is used by {uses}. To stop selling it, set active to false.',
  ],
  priceTypeFixed: [
    'FORBIDDEN',
    'Product {id} has prices of type {type}: create another product for a price of another type.',
  ],
  noChargePriceProtected: ['BAD_REQUEST', 'Price {id} is the no-charge price of its usage meter: {rule}.'],

  // Customers, subscriptions, entitlements
  customerNotFound: ['NOT_FOUND', 'Customer with id or external id {id} not found.'],
  customerArchived: ['BAD_REQUEST', 'Customer {id} is archived.'],
  customerSubscribed: [
    'CONFLICT',
    'Customer {id} cannot be erased while it is subscribed ({subscriptions}): cancel the subscriptions immediately first.',
  ],
  customerOwes: [
    'CONFLICT',
    'Customer {id} cannot be erased while it owes invoice {invoiceId}: let it be paid, void it or mark it uncollectible first. Archive the customer first if the invoice comes with the end of its plan.',
  ],
  customerBusy: [
    'CONFLICT',
    'Customer {id} cannot be erased while a {record} ({recordId}) is in progress: try again when that has finished.',
  ],
  pricingModelChanged: [
    'CONFLICT',
    'Pricing model {id} is no longer what `base` says: {changes}. Nothing was stored. Export it again, and make the change on that.',
  ],
  pricingModelNameAmbiguous: [
    'CONFLICT',
    'Several pricing models are named {name}: {ids}. Rename those that are not meant.',
  ],
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
  subscriptionBehind: [
    'CONFLICT',
    'Subscription {id} is just being renewed or ended, which takes up to a minute. Try again then.',
  ],
  subscriptionPaused: [
    'BAD_REQUEST',
    'Subscription {id} is paused: resume it first with POST /subscriptions/{id}/resume.',
  ],
  subscriptionNotPausable: ['BAD_REQUEST', 'Subscription {id} cannot be paused: {reason}.'],
  subscriptionItemExpired: ['BAD_REQUEST', 'Subscription item {id} has expired, so no feature can be added to it.'],
  featureInactive: ['BAD_REQUEST', 'Feature {id} is inactive.'],
  itemFeatureExists: [
    'CONFLICT',
    'The subscription item already has this feature with no end date: change or expire it.',
  ],
  creditsNotGrantable: [
    'BAD_REQUEST',
    'Feature {id} is of type {type} and grants no credits: omit grantCreditsImmediately, or send false.',
  ],
  resourceFeatureMissing: ['BAD_REQUEST', 'Subscription {id} has no active feature that grants the resource {slug}.'],
  resourceInactive: ['BAD_REQUEST', 'The resource {slug} is inactive and cannot be claimed.'],
  capacityExhausted: [
    'BAD_REQUEST',
    'No available capacity of {slug}: requested {requested}, available {available} (capacity {capacity}, claimed {claimed}).',
  ],
  tooManyClaims: ['BAD_REQUEST', '{requested} claims are too many for one request: send at most {limit}.'],
  claimsFull: ['BAD_REQUEST', 'A subscription holds at most {limit} claims of {slug}, and {claimed} are there.'],
  tooManyRecords: [
    'CONFLICT',
    'At most {limit} {records} of this kind are possible here, so that one answer or transaction can hold them.',
  ],
  tooFewClaims: [
    'BAD_REQUEST',
    'Only {available} claims of {slug} have no external id, so {requested} cannot be released.',
  ],
  resourceClaimNotFound: ['NOT_FOUND', 'No active claim of {slug} with id or external id {id}.'],
  priceNotSubscribable: [
    'BAD_REQUEST',
    'Price {id} is of type {type}: subscribe to a price of type subscription, or to the price of the default product.',
  ],
  priceInactive: ['BAD_REQUEST', 'Price {id} is no longer for sale: the price or its product is inactive.'],
  defaultPlanCannotBeCanceled: [
    'BAD_REQUEST',
    "Subscription {id} is the customer's default plan and cannot be canceled: subscribe to another plan, or archive the customer.",
  ],
  adjustmentScheduled: [
    'BAD_REQUEST',
    'A change of subscription {id} is already scheduled: cancel it first with POST /subscriptions/{id}/cancel-scheduled-adjustment.',
  ],
  trialEndFixed: ['CONFLICT', 'The trial of subscription {id} cannot get another end: {reason}.'],
  billingAnchorFixed: ['CONFLICT', 'The billingCycleAnchorDate of subscription {id} cannot change: {reason}.'],
  subscriptionNotAdjustable: ['BAD_REQUEST', 'Subscription {id} cannot be changed: {reason}.'],
  adjustmentAwaitsPayment: [
    'CONFLICT',
    'A change of subscription {id} is waiting for its payment (invoice {invoiceId}): request another change when that has finished.',
  ],
  adjustmentNeedsPeriod: [
    'NOT_FOUND',
    'Subscription {id} has no current billing period in which a change could be made.',
  ],
  activePriceNotFound: ['NOT_FOUND', 'No active price with id or slug {id} in the pricing model of the subscription.'],
  capacityBelowClaims: [
    'CONFLICT',
    'The change would reduce the capacity of {slug} to {capacity}, but {claimed} are claimed: release {excess} first.',
  ],
  adjustmentNotPaid: [
    'PAYMENT_REQUIRED',
    'Nothing was changed because the charge for the change failed. {code}: {reason} Use another payment method.',
  ],
  subscriptionNotPaid: [
    'PAYMENT_REQUIRED',
    'The first payment failed, so the customer keeps the plan it had. {code}: {reason} Use another payment method.',
  ],
  noAdjustmentScheduled: ['BAD_REQUEST', 'Subscription {id} has no scheduled change.'],
  subscriptionDoesNotRenew: [
    'BAD_REQUEST',
    'Subscription {id} does not renew, so it cannot be canceled at the end of a billing period: cancel it immediately.',
  ],
  currentBillingPeriodNotFound: [
    'NOT_FOUND',
    'Subscription {id} has no current billing period: cancel it immediately.',
  ],
  paymentMethodRequired: [
    'BAD_REQUEST',
    'Subscription {id} requires payment and the customer has no payment method: attach one to the customer first.',
  ],
  currentSubscriptionExists: [
    'CONFLICT',
    'The customer already has a current subscription: cancel or adjust it, or allow multiple subscriptions per customer.',
  ],
  nextSubscriptionTooEarly: [
    'CONFLICT',
    'Subscription {id} of the customer lasts until {endsAt}: send startDate {endsAt} or later to book the next one.',
  ],
  nextSubscriptionBooked: [
    'CONFLICT',
    'Subscription {id} is booked from {startDate}, and two subscriptions cannot overlap: cancel subscription {id} first.',
  ],

  // Usage, money, webhooks
  usageEventNotFound: ['NOT_FOUND', 'No usage event with id {id}.'],
  usageCreditNotFound: ['NOT_FOUND', 'No usage credit with id {id}.'],
  usageCreditSpent: ['BAD_REQUEST', 'Credit {id} has nothing left that could be taken back.'],
  usageCreditTooSmall: [
    'BAD_REQUEST',
    'Credit {id} has only {remaining} left, so {amount} cannot be taken back: send {remaining} or less.',
  ],
  usageCreditHeld: [
    'BAD_REQUEST',
    'Only {free} of credit {id} can be taken back now, not {amount}: open holds reserve the rest of the balance.',
  ],
  noCurrentSubscription: [
    'BAD_REQUEST',
    'Customer {id} has no current subscription to record usage on. Send a subscriptionId to use one that is not current: {others}.',
  ],
  noMeterMatches: [
    'BAD_REQUEST',
    'No usage meter counts the event {id}: none has this eventName and a `where` that the properties meet, or the value of each is 0.',
  ],
  severalCurrentSubscriptions: [
    'BAD_REQUEST',
    'Customer {id} has several current subscriptions that may have the usage meter: {subscriptions}. Send subscriptionId instead.',
  ],
  subscriptionUnpaid: [
    'PAYMENT_REQUIRED',
    'Subscription {id} has unpaid invoices: it can be used again when they are paid.',
  ],
  insufficientBalance: ['PAYMENT_REQUIRED', 'The balance of {balance}{pooled} does not cover {amount}.'],
  spendLimitReached: [
    'PAYMENT_REQUIRED',
    'The use does not fit into the spend limit of {name}: {remaining} of it remains. {resets}',
  ],
  holdNotFound: ['NOT_FOUND', 'No hold with id {id}.'],
  holdSettled: ['CONFLICT', 'Hold {id} was already settled with {amount}.'],
  holdReleased: ['CONFLICT', 'Hold {id} was already released: record the usage as a usage event.'],
  holdTransactionTaken: [
    'CONFLICT',
    'A usage event already uses the id of hold {id} as its transactionId: release the hold instead.',
  ],
  tooManyHolds: [
    'CONFLICT',
    'The subscription already has {limit} open holds on this usage meter: settle or release some first.',
  ],
  transactionIdTaken: [
    'CONFLICT',
    'Another subscription or customer has already recorded transaction {id} on this usage meter.',
  ],
  invoiceNotFound: ['NOT_FOUND', 'No invoice with id {id}.'],
  taxRateNotFound: ['NOT_FOUND', 'No tax rate with id {id}.'],
  taxRateExists: [
    'CONFLICT',
    'There is already an active tax rate for this country and state: change or deactivate it.',
  ],
  noUpcomingInvoice: ['BAD_REQUEST', 'Subscription {id} has no upcoming invoice: {reason}.'],
  invoiceLineItemNotFound: ['NOT_FOUND', 'No invoice line item with id {id}.'],
  paymentNotFound: ['NOT_FOUND', 'No payment with id {id}.'],
  processorNotConfigured: [
    'SERVICE_UNAVAILABLE',
    'The {processor} processor has no API keys: configure them and restart the service. Pending operations then continue.',
  ],
  processorUnavailable: [
    'SERVICE_UNAVAILABLE',
    'The {processor} processor is not responding ({reason}). The request is stored and will be retried automatically.',
  ],
  signatureInvalid: ['BAD_REQUEST', 'The signature of the event does not match the configured secret, or is too old.'],
  processorTakesNoPaymentMethods: [
    'BAD_REQUEST',
    'The {processor} processor of this mode stores no payment methods: test tokens only work in test mode, where no money moves.',
  ],
  paymentMethodInUse: [
    'CONFLICT',
    'Payment method {id} is charged for {subscriptions}. Change the payment method of each of these subscriptions first.',
  ],
  paymentMethodBeingCharged: [
    'CONFLICT',
    'Payment method {id} is being charged by payment {paymentId}: try again when that has finished.',
  ],
  paymentMethodNotFound: ['NOT_FOUND', 'No payment method with id {id}.'],
  invoiceItemNotFound: ['NOT_FOUND', 'No invoice item with id {id}.'],
  invoiceItemInvoiced: ['BAD_REQUEST', 'Invoice item {id} cannot be changed any more: it is on invoice {invoiceId}.'],
  draftOfPeriod: ['BAD_REQUEST', 'Invoice {id} is the draft of a billing period: {reason}.'],
  draftHasNoLines: ['BAD_REQUEST', 'Invoice {id} has no lines: add one before it is finalized.'],
  invoiceStatusForbids: ['BAD_REQUEST', 'Invoice {id} cannot be {trigger}: its status is {status}.'],
  invoiceIsPart: [
    'BAD_REQUEST',
    'Invoice {id} is part of the consolidated invoice {consolidatedInvoiceId}: name that one instead.',
  ],
  invoiceNotOpen: ['BAD_REQUEST', 'Only an open invoice can be paid; the status of invoice {id} is {status}.'],
  invoiceAlreadyBeingPaid: [
    'CONFLICT',
    'A payment of invoice {invoiceId} is in progress: try again when it has finished.',
  ],
  invoicePartlyPaid: [
    'BAD_REQUEST',
    '{amount} of invoice {id} has been paid and not refunded: refund it before voiding the invoice, or mark the invoice uncollectible.',
  ],
  customerBalanceNotFound: ['NOT_FOUND', 'No customer balance with id {id}.'],
  creditNoteNotFound: ['NOT_FOUND', 'No credit note with id {id}.'],
  creditNoteNotVoidable: ['BAD_REQUEST', 'Credit note {id} cannot be voided: {reason}.'],
  invoiceNotCreditable: ['BAD_REQUEST', 'Invoice {id} cannot be credited: {reason}.'],
  nothingOwed: ['BAD_REQUEST', 'Subscription {id} has no unpaid invoice for a billing period.'],
  subscriptionNotCharged: ['BAD_REQUEST', 'Subscription {id} is not charged: it was created with doNotCharge.'],
  paymentFailed: ['PAYMENT_REQUIRED', 'The charge failed. {code}: {reason} Use another payment method.'],
  invoiceTooLarge: ['BAD_REQUEST', 'An invoice total of {total} exceeds the limit of a single payment, {limit}.'],
  periodAlreadyInvoiced: [
    'CONFLICT',
    'Billing period {billingPeriodId} already has an invoice for this reason: {reason}.',
  ],
  paymentMethodDeclined: ['PAYMENT_REQUIRED', '{code}: {reason} Use another payment method.'],
  paymentAlreadyRefunded: ['BAD_REQUEST', 'Payment {id} has already been fully refunded.'],
  paymentNotRefundable: [
    'BAD_REQUEST',
    'Only a payment that has succeeded can be refunded; the status of payment {id} is {status}.',
  ],
  invoiceHasNoReceipt: ['BAD_REQUEST', 'No money has come for invoice {id}, so it has no receipt.'],
  paymentHasNoReceipt: [
    'BAD_REQUEST',
    'Only a payment whose money arrived has a receipt; the status of payment {id} is {status}.',
  ],
  refundInFlight: ['BAD_REQUEST', 'The remaining amount of payment {id} is already being refunded.'],
  refundFailed: ['BAD_REQUEST', 'The payment processor refused the refund: {reason}'],
  purchaseNotFound: ['NOT_FOUND', 'No purchase with id {id}.'],
  purchaseNotPaid: [
    'PAYMENT_REQUIRED',
    'The payment failed, so nothing was bought. {code}: {reason} Use another payment method.',
  ],
  priceNotSold: ['BAD_REQUEST', 'Price {id} cannot be purchased: {reason}.'],
  nothingHoldsCredits: [
    'BAD_REQUEST',
    'Product {id} grants credits, and customer {customerId} has no subscription to add them to.',
  ],
  subscriptionNotActivatable: ['BAD_REQUEST', 'Subscription {id} cannot be activated: {reason}.'],
  checkoutSessionNotFound: ['NOT_FOUND', 'No checkout session with id {id}.'],
  webhookNotFound: ['NOT_FOUND', 'No webhook with id {id}.'],
  webhookInactive: ['BAD_REQUEST', 'Webhook {id} is inactive, so nothing is sent to it: set active to true first.'],
  tooManyWebhooks: ['CONFLICT', 'Pricing model {id} already has {limit} webhooks: delete one first.'],
  deliveryNotFound: ['NOT_FOUND', 'No webhook delivery with id {id}.'],
  replayTooLarge: ['BAD_REQUEST', 'More than {limit} events match: choose a shorter range or fewer types.'],
  emailNotFound: ['NOT_FOUND', 'No email with id {id}.'],
  emailStillQueued: ['CONFLICT', 'Email {id} is queued: it is sent without a request.'],
  mailNotConfigured: [
    'BAD_REQUEST',
    'The service has no mail server: its operator sets TOLLKEEPER_SMTP_URL, and then emails can be sent.',
  ],
  eventNotFound: ['NOT_FOUND', 'No event with id {id}.'],
} as const satisfies Record<string, readonly [ProblemCode, string]>;

export type ProblemName = keyof typeof registry;
/** One problem with a request; `path` is the list of keys that lead to the value. */
export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
}

export type Details = Readonly<Record<string, string | number | bigint | boolean>>;

/** A refusal that the caller can act on. A bug is not a Problem but a failed assertion. */
export class Problem extends Error {
  readonly problem: ProblemName;
  readonly code: ProblemCode;
  readonly reason: string;
  readonly status: number;
  readonly issues: readonly Issue[];
  /** Additional fields of the error body. */
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
    this.reason = reasonOf(problem);
    this.status = statusOfCode[code];
    this.issues = issues;
    this.data = data;
  }
}

/** A refusal of a value in the request: names the field and states what is valid. */
export function invalid(path: readonly (string | number)[], message: string): Problem {
  return new Problem('invalidRequest', { reason: `${path.join('.')}: ${message}` }, [
    { path, message, code: 'custom' },
  ]);
}

/** A refusal of one part of the request: an existing problem that also names the part. */
export function refusal(
  problem: ProblemName,
  path: readonly (string | number)[],
  id: string,
  details: Readonly<Record<string, string>> = {},
): Problem {
  const named = { ...details, id: `${id} (${path.join('.')})` };
  const { message } = new Problem(problem, named);
  return new Problem(problem, named, [{ path, message, code: 'custom' }]);
}

/** The refusal of a key that has none of the permissions that suffice: it names the narrowest, which comes first. */
export function permissionMissing([permission = '']: readonly string[]): Problem {
  return new Problem('permissionMissing', { permission }, [], { permission });
}

/** The stable name of a problem for programs: `capacityExhausted` -> `capacity_exhausted`. */
export function reasonOf(problem: ProblemName): string {
  return problem.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The wire code of a problem. */
export function problemCode(problem: ProblemName): ProblemCode {
  return registry[problem][0];
}
