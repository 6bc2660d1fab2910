import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint, getSessionFromCtx } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { z } from 'zod';
import { hashApiKey } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import { longestPassword, normalEmail, shortestPassword } from './person.ts';
import * as store from './store.ts';

const Token = z.string().min(1).max(200);
const Acceptance = z.object({
  token: Token,
  email: z.email().max(320).optional(),
  name: z.string().trim().min(1).max(255).optional(),
  password: z.string().min(shortestPassword).max(longestPassword).optional(),
});

// A person needs two or three requests. Links cannot be guessed, so this only bounds the work.
const linkRequests = { window: 60, max: 30 };

/** The routes for links to join: `GET /invitation` tells about one, and `POST /invitation/accept` uses it. */
export function invitationLinks(worker: Database) {
  return {
    id: 'invitation-links',
    rateLimit: [{ pathMatcher: (path: string) => path.startsWith('/invitation'), ...linkRequests }],
    endpoints: {
      getInvitation: createAuthEndpoint(
        '/invitation',
        { method: 'GET', query: z.object({ token: Token }) },
        async (context) => {
          const { organizationName: name, role, email, expiresAt } = await openInvitation(worker, context.query.token);
          const isKnown = email !== null && (await store.findUserId(worker, email)) !== null;
          return context.json({ invitation: { organization: { name }, role, email, expiresAt, isKnown } });
        },
      ),
      acceptInvitation: createAuthEndpoint(
        '/invitation/accept',
        { method: 'POST', body: Acceptance },
        async (context) => {
          const { body } = context;
          const email = await emailOf(worker, body);
          const session = await getSessionFromCtx(context);
          if ((await store.findUserId(worker, email)) !== null) {
            if (session?.user.email !== email) throw signInFirst(email);
            await join(worker, { token: body.token, userId: session.user.id });
            return context.json({ user: { id: session.user.id, email } });
          }
          const { name, password } = body;
          if (name === undefined || password === undefined)
            throw new APIError('BAD_REQUEST', { code: 'NAME_AND_PASSWORD_NEEDED', message: 'Send name and password.' });
          const passwordHash = await context.context.password.hash(password);
          const userId = newId('user');
          await join(worker, { token: body.token, userId, newUser: { name, email, passwordHash } });
          const user = await context.context.internalAdapter.findUserById(userId);
          const made = await context.context.internalAdapter.createSession(userId);
          if (user !== null) await setSessionCookie(context, { session: made, user });
          return context.json({ user: { id: userId, email } });
        },
      ),
    },
  } satisfies BetterAuthPlugin;
}

async function openInvitation(worker: Database, token: string): Promise<store.OpenInvitation> {
  const invitation = await store.findInvitation(worker, hashApiKey(token), Date.now());
  if (invitation === null) throw unusable();
  return invitation;
}

function unusable() {
  return new APIError('NOT_FOUND', {
    code: 'INVITATION_NOT_FOUND',
    message: 'This link was used, has expired or is incomplete. Ask for another.',
  });
}

function signInFirst(email: string) {
  return new APIError('UNAUTHORIZED', {
    code: 'SIGN_IN_FIRST',
    message: `${email} is known here. Sign in with it, and open the link again.`,
  });
}

/** The address that joins: that of the invitation, or the one that the holder of the first link gives. */
async function emailOf(worker: Database, body: z.output<typeof Acceptance>): Promise<string> {
  const { email = body.email } = { email: (await openInvitation(worker, body.token)).email ?? undefined };
  if (email === undefined) throw new APIError('BAD_REQUEST', { code: 'EMAIL_NEEDED', message: 'Send email.' });
  return normalEmail(email);
}

interface Joining {
  readonly token: string;
  readonly userId: string;
  readonly newUser?: { readonly name: string; readonly email: string; readonly passwordHash: string };
}

const action = 'POST /auth/invitation/accept';

/** Uses the link, once. A new person is made in the same transaction. */
async function join(worker: Database, { token, userId, newUser }: Joining): Promise<void> {
  await worker.transaction().execute(async (db) => {
    if (newUser !== undefined) {
      const isNew = await store.insertUser(db, { ...newUser, id: userId, accountId: newId('account') });
      if (!isNew) throw signInFirst(newUser.email);
    }
    if (!(await store.useInvitation(db, { tokenHash: hashApiKey(token), userId, action }, Date.now())))
      throw unusable();
  });
}
