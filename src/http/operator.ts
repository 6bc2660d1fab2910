import { createHash, timingSafeEqual } from 'node:crypto';

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
