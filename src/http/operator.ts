import { createHash, timingSafeEqual } from 'node:crypto';

/** The fewest characters of an operator's token: nobody guesses as many. */
export const shortestOperatorToken = 20;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Whether the header `Authorization: Bearer <token>` has the operator's token. Takes as long for each wrong one. */
export function isOperator(header: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  return timingSafeEqual(digest(given), digest(token));
}
