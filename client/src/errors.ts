/** One thing that is wrong with a request, and where: `path` are the keys that lead to the value. */
export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
}

/** What was answered to a request that failed. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; text where it is not JSON. */
  readonly body: unknown;
}

/** The service refused a request, or failed at it. */
export class TollkeeperError extends Error {
  override readonly name: string = 'TollkeeperError';
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Such as `NOT_FOUND` or `CONFLICT`. */
  readonly code: string;
  /** What is wrong with the request, one by one. */
  readonly issues: readonly Issue[];
  /** Names the request in the logs of the service; null when there was no answer. */
  readonly requestId: string | null;
  /** The whole body of the answer: some refusals tell more, such as the balance that did not suffice. */
  readonly body: unknown;

  constructor(message: string, code: string, answer: FailedAnswer | null = null, options?: ErrorOptions) {
    super(message, options);
    const { issues } = fieldsOf(answer?.body);
    this.code = code;
    this.status = answer?.status ?? null;
    this.issues = Array.isArray(issues) ? issues : [];
    this.requestId = answer?.headers.get('x-request-id') ?? null;
    this.body = answer?.body ?? null;
  }
}

/** 400: the request says something that cannot be done. */
export class InvalidRequestError extends TollkeeperError {
  override readonly name = 'InvalidRequestError';
}

/** 401: the key is not valid. */
export class UnauthorizedError extends TollkeeperError {
  override readonly name = 'UnauthorizedError';
}

/** 402: a charge failed, or a balance does not suffice. */
export class PaymentRequiredError extends TollkeeperError {
  override readonly name = 'PaymentRequiredError';
}

/** 404: there is no such record. */
export class NotFoundError extends TollkeeperError {
  override readonly name = 'NotFoundError';
}

/** 409: another record, or another request, stands in the way. */
export class ConflictError extends TollkeeperError {
  override readonly name = 'ConflictError';
}

/** 429: too much is asked for at once. */
export class RateLimitedError extends TollkeeperError {
  override readonly name = 'RateLimitedError';
}

/** There was no answer, or one that broke off: whether the request was carried out is not known. */
export class ConnectionError extends TollkeeperError {
  override readonly name: string = 'ConnectionError';

  constructor(message: string, options?: ErrorOptions & { code?: string }) {
    super(message, options?.code ?? 'CONNECTION', null, options);
  }
}

/** There was no answer in time. */
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

/** The error that an answer stands for. */
export function errorOf(answer: FailedAnswer): TollkeeperError {
  const { message, code } = fieldsOf(answer.body);
  const ErrorOfStatus = errorsOfStatus[answer.status] ?? TollkeeperError;
  const words = typeof message === 'string' ? message : `The service answered ${answer.status}.`;
  return new ErrorOfStatus(words, typeof code === 'string' ? code : 'UNKNOWN', answer);
}

function fieldsOf(body: unknown): { message?: unknown; code?: unknown; issues?: unknown } {
  return typeof body === 'object' && body !== null ? body : {};
}
