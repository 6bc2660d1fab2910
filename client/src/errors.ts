/** One problem with a request; `path` is the list of keys that lead to the value. */
export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
}

/** The response to a failed request. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; text where it is not JSON. */
  readonly body: unknown;
}

/** An error response of the service. */
export class TollkeeperError extends Error {
  override readonly name: string = 'TollkeeperError';
  /** The HTTP status; null without a response. */
  readonly status: number | null;
  /** For example `NOT_FOUND` or `CONFLICT`. */
  readonly code: string;
  /** The refusal itself, such as `capacity_exhausted`; null without a response of the service. */
  readonly reason: string | null;
  /** The individual problems with the request. */
  readonly issues: readonly Issue[];
  /** Identifies the request in the logs of the service; null without a response. */
  readonly requestId: string | null;
  /** The whole body of the response: some refusals have more fields, such as the insufficient balance. */
  readonly body: unknown;

  constructor(message: string, code: string, answer: FailedAnswer | null = null, options?: ErrorOptions) {
    super(message, options);
    const { issues, reason } = fieldsOf(answer?.body);
    this.code = code;
    this.reason = typeof reason === 'string' ? reason : null;
    this.status = answer?.status ?? null;
    this.issues = Array.isArray(issues) ? issues : [];
    this.requestId = answer?.headers.get('x-request-id') ?? null;
    this.body = answer?.body ?? null;
  }
}

/** 400: the request is invalid. */
export class InvalidRequestError extends TollkeeperError {
  override readonly name = 'InvalidRequestError';
}

/** 401: the key is not valid. */
export class UnauthorizedError extends TollkeeperError {
  override readonly name = 'UnauthorizedError';
}

/** 402: a charge failed, or a balance is insufficient. */
export class PaymentRequiredError extends TollkeeperError {
  override readonly name = 'PaymentRequiredError';
}

/** 404: there is no such record. */
export class NotFoundError extends TollkeeperError {
  override readonly name = 'NotFoundError';
}

/** 409: the request conflicts with another record or request. */
export class ConflictError extends TollkeeperError {
  override readonly name = 'ConflictError';
}

/** 429: too many requests. */
export class RateLimitedError extends TollkeeperError {
  override readonly name = 'RateLimitedError';
}

/** No response, or an incomplete one: it is unknown whether the request was processed. */
export class ConnectionError extends TollkeeperError {
  override readonly name: string = 'ConnectionError';

  constructor(message: string, options?: ErrorOptions & { code?: string }) {
    super(message, options?.code ?? 'CONNECTION', null, options);
  }
}

/** No response within the timeout. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';

  constructor(timeoutMs: number) {
    super(`There was no answer within ${timeoutMs} ms.`, { code: 'TIMEOUT' });
  }
}

const errorsOfStatus: Readonly<Record<number, typeof TollkeeperError>> = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  402: PaymentRequiredError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitedError,
};

/** The error class for a response. */
export function errorOf(answer: FailedAnswer): TollkeeperError {
  const { message, code } = fieldsOf(answer.body);
  const ErrorOfStatus = errorsOfStatus[answer.status] ?? TollkeeperError;
  const words = typeof message === 'string' ? message : `The service answered ${answer.status}.`;
  return new ErrorOfStatus(words, typeof code === 'string' ? code : 'UNKNOWN', answer);
}

function fieldsOf(body: unknown): { message?: unknown; code?: unknown; reason?: unknown; issues?: unknown } {
  return typeof body === 'object' && body !== null ? body : {};
}
