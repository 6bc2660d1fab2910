/** The wire codes and the HTTP status each of them travels with. */
export const statusOfCode = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  SERVICE_UNAVAILABLE: 503,
} as const;
export type ProblemCode = keyof typeof statusOfCode;

/** Every refusal there is: its wire code, and a sentence whose {placeholders} the details fill. */
const registry = {
  // The request itself
  invalidRequest: ['BAD_REQUEST', '{reason}'],
  invalidJson: ['BAD_REQUEST', 'Invalid JSON in request body: {reason}'],
  invalidCursor: ['BAD_REQUEST', 'Invalid cursor: use a value that a list answered as currentCursor or nextCursor.'],
  unauthorized: ['UNAUTHORIZED', 'Send a valid API key: Authorization: Bearer <key>.'],
  routeNotFound: ['NOT_FOUND', 'There is no {method} {path}.'],
  bodyTooLarge: ['PAYLOAD_TOO_LARGE', 'The request body is larger than {limit} bytes.'],
  unsupportedMediaType: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
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
  serviceUnavailable: ['SERVICE_UNAVAILABLE', 'The database does not answer. Try again shortly.'],

  // Organizations
  apiKeyNotFound: ['NOT_FOUND', 'No API key with id {id}.'],

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
  currentSubscriptionExists: [
    'CONFLICT',
    'The customer already has a current subscription: cancel or adjust it, or allow several per customer.',
  ],

  // Usage, money, webhooks
  usageEventNotFound: ['NOT_FOUND', 'No usage event with id {id}.'],
  invoiceNotFound: ['NOT_FOUND', 'No invoice with id {id}.'],
  invoiceLineItemNotFound: ['NOT_FOUND', 'No invoice line item with id {id}.'],
  paymentNotFound: ['NOT_FOUND', 'No payment with id {id}.'],
  paymentMethodNotFound: ['NOT_FOUND', 'No payment method with id {id}.'],
  webhookNotFound: ['NOT_FOUND', 'No webhook with id {id}.'],
} as const satisfies Record<string, readonly [ProblemCode, string]>;

export type ProblemName = keyof typeof registry;
export const problemNames = Object.keys(registry) as ProblemName[];

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

  constructor(problem: ProblemName, details: Details = {}, issues: readonly Issue[] = []) {
    const [code, template] = registry[problem];
    super(template.replace(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? '')));
    this.name = 'Problem';
    this.problem = problem;
    this.code = code;
    this.status = statusOfCode[code];
    this.issues = issues;
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
 * Database constraints whose violation is the caller's doing, and the refusal each stands for. A unique key closes
 * the race; this table gives it a name. `{slug}` and the like are filled from the values PostgreSQL reports.
 */
export const problemOfConstraint: Readonly<Record<string, { problem: ProblemName; details: Details }>> = {
  products_active_slug_unique: { problem: 'slugTaken', details: { record: 'product' } },
  prices_active_slug_unique: { problem: 'slugTaken', details: { record: 'price' } },
  features_active_slug_unique: { problem: 'slugTaken', details: { record: 'feature' } },
  resources_active_slug_unique: { problem: 'slugTaken', details: { record: 'resource' } },
  usage_meters_slug_unique: { problem: 'slugTaken', details: { record: 'usage meter' } },
  customers_external_id_unique: { problem: 'externalIdTaken', details: {} },
  subscriptions_one_current: { problem: 'currentSubscriptionExists', details: {} },
};
