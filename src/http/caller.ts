import type { FastifyRequest } from 'fastify';
import { hashApiKey, keyHashOf } from '../database/api-key.ts';
import type { KeyEntry, PersonEntry, SessionEntry } from '../database/work.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { addressAsked, isFromOurPages } from './connections.ts';
import type { RateLimit } from './rate-limit.ts';

/** A key, or somebody who is signed in. */
export type CallerEntry = KeyEntry | SessionEntry;

/** A caller as another cell knows it: keys are copied to it, and sessions are not. */
export type EntryOfCell = CallerEntry | PersonEntry;

/** Reads the cookie of somebody who is signed in. */
export interface Sessions {
  /** The token of the session, or null without a valid cookie. */
  tokenOf(request: FastifyRequest): Promise<string | null>;
}

/** The parts of the context of the API that tell who calls. */
interface Callers {
  readonly sessions?: Sessions | null;
  readonly rateLimit?: RateLimit;
  readonly publicUrl?: string | null;
}

/** The caller of a request, who needs one of these permissions. Refuses one without a key and a session. */
export async function callerOf(
  context: Callers,
  request: FastifyRequest,
  sufficient: readonly string[] | null,
): Promise<CallerEntry> {
  if (isSignedIn(context, request)) return { ...(await sessionOf(context, request)), sufficient };
  return { apiKeyHash: request.caller?.apiKeyHash ?? hashOfKey(request), sufficient };
}

function hashOfKey(request: FastifyRequest): Buffer {
  const apiKeyHash = keyHashOf(request.headers.authorization);
  if (apiKeyHash === null) throw new Problem('unauthorized');
  return apiKeyHash;
}

/** Whether a request has a cookie in place of a key. The header tells in which environment, and no form of another page can send it. */
function isSignedIn({ sessions }: Callers, { headers }: FastifyRequest): boolean {
  return sessions != null && headers.authorization === undefined && headers['x-tollkeeper-environment'] !== undefined;
}

// An id of an environment is a number of the database.
const environmentPattern = /^[1-9]\d{0,14}$/;

async function sessionOf(context: Callers, request: FastifyRequest): Promise<Omit<SessionEntry, 'sufficient'>> {
  const { headers, method, ip } = request;
  const environment = String(headers['x-tollkeeper-environment']);
  if (!environmentPattern.test(environment))
    throw invalid(['X-Tollkeeper-Environment'], 'must be the id of an environment');
  if (method !== 'GET') {
    const isAsked = headers['x-tollkeeper-request'] === 'dashboard';
    if (!isAsked || !isFromOurPages(request, context.publicUrl ?? addressAsked(request)))
      throw new Problem('changeFromElsewhere');
  }
  const sessionToken = (await context.sessions?.tokenOf(request)) ?? null;
  if (sessionToken === null) throw new Problem('unauthorized');
  if (context.rateLimit) request.caller = context.rateLimit.admit(hashApiKey(sessionToken), ip);
  return { sessionToken, environmentId: Number(environment) };
}
