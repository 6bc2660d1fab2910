import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

// The operator needs these most when the service is at capacity.
const operatorPaths = new Set(['/health', '/ready', '/metrics', '/invariants']);

/** Whether the request is for health checks, monitoring or the operator, which are answered even at capacity. */
export function isForOperator({ routeOptions }: FastifyRequest): boolean {
  return operatorPaths.has(routeOptions.url ?? '');
}

/** The minimum length of the operator token, too long to guess. */
export const shortestOperatorToken = 20;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Whether the header `Authorization: Bearer <token>` has the operator token. Compares in constant time. */
export function isOperator(header: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  return timingSafeEqual(digest(given), digest(token));
}
