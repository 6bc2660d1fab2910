import { createHash } from 'node:crypto';
import { passkey } from '@better-auth/passkey';
import { betterAuth } from 'better-auth';
import { APIError, createAuthMiddleware, isAPIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Outbound } from '../jobs/outbound.ts';
import { companySignIn } from './actions-company.ts';
import { invitationLinks } from './actions-links.ts';
import {
  addressHeader,
  longestPassword,
  type Me,
  normalEmail,
  shortestPassword,
  signInPath,
  toMemberships,
} from './person.ts';
import * as store from './store.ts';

export interface SignInOptions {
  /** The worker's connection: people belong to no environment. */
  readonly worker: Database;
  readonly encryption: Encryption;
  /** The way to the providers of organizations; they sign in nobody when absent. */
  readonly outbound?: Outbound | undefined;
  readonly log: (level: 'error' | 'info', message: string) => void;
}

/** A session, and the person whose it is. */
interface Session {
  readonly token: string;
  readonly user: Me['user'];
}

/** How people sign in and are recognized. `origin` is the address of the service for browsers, without a path. */
export interface SignIn {
  readonly handle: (origin: string, request: Request) => Promise<Response>;
  readonly sessionOf: (origin: string, cookie: string) => Promise<Session | null>;
  readonly me: (session: Session) => Promise<Me>;
  /** The token of a link that sets a new password, or null for an unknown address. For the operator only. */
  readonly resetToken: (origin: string, email: string) => Promise<string | null>;
}

// Without a public address every address that was asked is an origin of its own.
const mostOrigins = 10;

export function createSignIn(options: SignInOptions): SignIn {
  const byOrigin = new LRUCache<string, ReturnType<typeof createAuth>>({ max: mostOrigins });
  const authOf = (origin: string) => {
    const auth = byOrigin.get(origin) ?? createAuth(origin, options);
    byOrigin.set(origin, auth);
    return auth;
  };
  return {
    handle: (origin, request) => authOf(origin).handler(request),
    async sessionOf(origin, cookie) {
      const headers = new Headers({ cookie });
      // The library's own routes extend a session, because they can send its cookie again.
      const found = await authOf(origin).api.getSession({ headers, query: { disableRefresh: true } });
      if (found === null) return null;
      const { id, name, email } = found.user;
      return { token: found.session.token, user: { id, name, email } };
    },
    async resetToken(origin, email) {
      let made: string | null = null;
      const keep = (token: string) => {
        made = token;
      };
      await createAuth(origin, options, keep).api.requestPasswordReset({ body: { email } });
      return made;
    },
    async me({ user, token }) {
      return { user, memberships: toMemberships(await store.listMemberships(options.worker, token)) };
    },
  };
}

const daySeconds = 86_400;
// Signing in again every week is little work, and what is lost or left open ends.
const sessionSeconds = 7 * daySeconds;
const sessionOptions = {
  modelName: 'peopleSessions',
  expiresIn: sessionSeconds,
  updateAge: daySeconds,
  additionalFields: { signInProviderId: { type: 'string', required: false, input: false } },
} as const;
// Tries of one password in this time, from all addresses together.
const tries = { most: 10, windowMs: 15 * 60_000 };

/** `onReset` takes the token of a new password. Without it nobody can ask for one. */
function createAuth(
  origin: string,
  { worker, encryption, outbound, log }: SignInOptions,
  onReset: ((token: string) => void) | null = null,
) {
  return betterAuth({
    appName: 'Tollkeeper',
    baseURL: origin,
    basePath: signInPath,
    trustedOrigins: [origin],
    secrets: encryption
      .secretsFor('sign-in')
      .map(({ keyId, secret }) => ({ version: versionOf(keyId), value: secret })),
    database: { db: worker, type: 'postgres', transaction: true },
    user: { modelName: 'peopleUsers' },
    session: sessionOptions,
    account: { modelName: 'peopleAccounts', encryptOAuthTokens: true },
    verification: { modelName: 'peopleVerifications' },
    emailAndPassword: {
      enabled: true,
      // People come by invitation.
      disableSignUp: true,
      minPasswordLength: shortestPassword,
      maxPasswordLength: longestPassword,
      revokeSessionsOnPasswordReset: true,
      ...(onReset && { sendResetPassword: async ({ token }) => onReset(token) }),
    },
    rateLimit: { enabled: true, storage: 'database', modelName: 'peopleRateLimits' },
    plugins: [
      invitationLinks(worker),
      companySignIn({ worker, encryption, outbound, log, origin }),
      twoFactor({ issuer: 'Tollkeeper', schema: { twoFactor: { modelName: 'peopleTwoFactors' } } }),
      passkey({
        rpID: new URL(origin).hostname,
        rpName: 'Tollkeeper',
        origin,
        // It takes the place of a password and a code, so the device asks who is there.
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        authentication: {
          async afterVerification({ verification }) {
            if (!verification.authenticationInfo.userVerified) throw notVerified();
          },
        },
        schema: { passkey: { modelName: 'peoplePasskeys' } },
      }),
    ],
    hooks: { before: checkRequest(worker), after: forgetTries(worker) },
    advanced: {
      cookiePrefix: 'tollkeeper',
      useSecureCookies: origin.startsWith('https:'),
      // The library would leave these out in its own test mode.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      ipAddress: { ipAddressHeaders: [addressHeader] },
      database: {
        generateId: ({ model }) => (model === 'user' || model === 'peopleUsers' ? newId('user') : newId('session')),
      },
    },
    telemetry: { enabled: false },
    // The library calls a wrong password an error. Faults of our own come by the other way.
    logger: { level: 'warn', log: (_level, message) => log('info', message) },
    onAPIError: {
      onError(error) {
        if (!isAPIError(error)) log('error', error instanceof Error ? String(error.stack) : String(error));
      },
    },
  });
}

/** A number for a key that stays the same when keys are rotated: the library names the secret by it. */
function versionOf(keyId: string): number {
  return Number.parseInt(keyId.slice(0, 8), 16);
}

function notVerified() {
  return new APIError('UNAUTHORIZED', {
    code: 'USER_NOT_VERIFIED',
    message: 'The passkey did not ask who is there. Use one with a PIN, a fingerprint or a face.',
  });
}

const passwordPath = '/sign-in/email';

/** The key under which tries are counted. A hash, because anybody may send any text. */
function tryKey(body: unknown): string | null {
  const email = (body as { email?: unknown } | undefined)?.email;
  if (typeof email !== 'string') return null;
  return `password ${createHash('sha256').update(normalEmail(email)).digest('hex')}`;
}

/** The part of their own record that people change, as the database stores it. */
const Profile = z.object({ name: z.string().trim().min(1).max(255).optional(), image: z.string().max(2048).nullish() });

/**
 * Limits the tries of one password, because many addresses together are not limited by their own. Refuses a name that cannot be
 * stored: the library takes any.
 */
function checkRequest(worker: Database) {
  return createAuthMiddleware(async (context) => {
    if (context.path === '/update-user' && !Profile.safeParse(context.body ?? {}).success)
      throw new APIError('BAD_REQUEST', {
        code: 'INVALID_NAME',
        message: 'A name has 1 to 255 characters, and the address of an image at most 2048.',
      });
    const key = context.path === passwordPath ? tryKey(context.body) : null;
    if (key === null) return;
    if ((await store.countTry(worker, key, tries.windowMs, Date.now())) > tries.most)
      throw new APIError('TOO_MANY_REQUESTS', {
        code: 'TOO_MANY_TRIES',
        message: 'There were too many tries with this address. Try again in 15 minutes, or sign in with a passkey.',
      });
  });
}

/** The right password ends the count. */
function forgetTries(worker: Database) {
  return createAuthMiddleware(async (context) => {
    const key = context.path === passwordPath ? tryKey(context.body) : null;
    if (key !== null && context.context.newSession) await store.forgetTries(worker, key);
  });
}
