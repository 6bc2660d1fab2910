import { createHash, randomBytes } from 'node:crypto';
import type { BetterAuthPlugin, GenericEndpointContext } from 'better-auth';
import { APIError, createAuthEndpoint, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { expireCookie, setSessionCookie } from 'better-auth/cookies';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Outbound } from '../jobs/outbound.ts';
import { rolesWith, sufficientFor } from '../kernel/permission.ts';
import { isDomainRecord, openSecret } from './actions-providers.ts';
import { normalEmail } from './person.ts';
import { addressesOf, type CompanyRefusal, decideSignIn, type Identity, type StoredProvider } from './provider.ts';
import * as store from './store.ts';
import * as providers from './store-providers.ts';

interface CompanyOptions {
  readonly worker: Database;
  readonly encryption: Encryption;
  readonly outbound: Outbound | undefined;
  readonly log: (level: 'error' | 'info', message: string) => void;
  readonly origin: string;
}

/** A sign-in in progress. It is stored under the hash of its state, and the state is in a cookie of the browser. */
interface Attempt {
  readonly providerId: string;
  readonly organizationId: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The result of a SAML sign-in, until the browser that began it takes it. */
interface Vouched extends Attempt {
  readonly state: string;
  readonly identity: Identity;
}

// Each start asks the provider, which costs us both something. A person needs a few.
const startRequests = { window: 60, max: 20 };
const attemptMs = 10 * 60_000;
const stateBytes = 24;
const action = 'sign-in by a provider';

const Start = z.union([z.object({ email: z.email().max(320) }), z.object({ organizationId: z.string().max(100) })]);

/**
 * The routes by which people sign in with the provider of their organization. A SAML answer is posted by the provider's page, and
 * such a request has no cookie. So it leads to `finish`, which compares the state with that of the browser.
 */
export function companySignIn(options: CompanyOptions) {
  return {
    id: 'company-sign-in',
    init: () => ({ context: { skipOriginCheck: ['/company-saml'] } }),
    rateLimit: [{ pathMatcher: (path: string) => path.startsWith('/company'), ...startRequests }],
    hooks: { before: [{ matcher: ({ path }) => !isOpenToProviders(path ?? ''), handler: refuseProviderSessions }] },
    endpoints: {
      startCompanySignIn: createAuthEndpoint('/company/start', { method: 'POST', body: Start }, async (context) =>
        context.json({ url: await start(options, context, context.body) }),
      ),
      finishOidcSignIn: createAuthEndpoint('/company/:organizationId/oidc', { method: 'GET' }, async (context) =>
        returning(options, context, async () => {
          const state = await stateOf(context);
          const attempt = await takeAttempt(context, state);
          const provider = await providerOf(options, context, attempt);
          const { search } = new URL(context.request?.url ?? options.origin);
          const { finishOidc } = await import('./actions-oidc.ts');
          const answer = { query: search, state, attempt };
          const identity = await finishOidc(oidcOf(options, provider), outboundOf(options), answer);
          await signIn(options, context, attempt, identity);
          return '/';
        }),
      ),
      takeSamlAnswer: createAuthEndpoint('/company-saml/:organizationId', samlAnswer, async (context) =>
        returning(options, context, async () => {
          const { SAMLResponse, RelayState: state } = context.body;
          const attempt = await takeAttempt(context, state);
          const provider = await providerOf(options, context, attempt);
          const { finishSaml } = await import('./actions-saml.ts');
          const identity = await finishSaml(samlOf(options, provider), attempt.nonce, SAMLResponse);
          const ticket = newState();
          await keep(context, `company-vouched ${hashOf(ticket)}`, { ...attempt, state, identity } satisfies Vouched);
          return `${context.context.baseURL}/company/${attempt.organizationId}/finish?ticket=${ticket}`;
        }),
      ),
      finishSamlSignIn: createAuthEndpoint(
        '/company/:organizationId/finish',
        { method: 'GET', query: z.object({ ticket: z.string().max(100) }) },
        async (context) =>
          returning(options, context, async () => {
            const vouched = await take<Vouched>(context, `company-vouched ${hashOf(context.query.ticket)}`);
            if (vouched.state !== (await stateOf(context))) throw new Refused('sign_in_expired');
            await providerOf(options, context, vouched);
            await signIn(options, context, vouched, vouched.identity);
            return '/';
          }),
      ),
      verifyCompanyDomain: createAuthEndpoint(
        '/company/verify-domain',
        { method: 'POST', body: z.object({ organizationId: z.string().max(100) }) },
        async (context) => context.json({ domainVerifiedAt: await verify(options, context, context.body) }),
      ),
    },
  } satisfies BetterAuthPlugin;
}

const samlAnswer = {
  method: 'POST' as const,
  body: z.object({ SAMLResponse: z.string().max(200_000), RelayState: z.string().max(100) }),
  metadata: { allowedMediaTypes: ['application/x-www-form-urlencoded'] },
};

/**
 * Whether a session that a provider has vouched for may be used for this path. It must not change how the person signs in:
 * with a passkey of their own the owner of the provider would come into other organizations.
 */
function isOpenToProviders(path: string): boolean {
  const open = ['/get-session', '/sign-out', '/sign-in/email', '/reset-password', '/invitation'];
  const signsIn = ['/passkey/generate-authenticate-options', '/passkey/verify-authentication'];
  return [...open, ...signsIn].includes(path) || path.startsWith('/company');
}

const refuseProviderSessions = createAuthMiddleware(async (context) => {
  const session = await getSessionFromCtx(context);
  if (session?.session.signInProviderId != null)
    throw new APIError('FORBIDDEN', {
      code: 'SIGNED_IN_BY_PROVIDER',
      message: 'The provider of your organization signed you in. Sign in with your password or passkey to do this.',
    });
});

/** Nobody is signed in. The page tells the reason. */
class Refused extends Error {
  readonly reason: CompanyRefusal;

  constructor(reason: CompanyRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/** Leads the browser to the result of `act`, or to the sign-in page with the reason why there is none. */
async function returning(
  { origin, log }: CompanyOptions,
  context: GenericEndpointContext,
  act: () => Promise<string>,
): Promise<never> {
  const organizationId = String(context.params?.organizationId ?? '');
  const target = await act().catch((error: unknown) => {
    const reason: CompanyRefusal = error instanceof Refused ? error.reason : 'provider_failed';
    const told = error instanceof Refused ? reason : String(error instanceof Error ? (error.cause ?? error) : error);
    log('info', `the provider of ${organizationId.slice(0, 100)} signed nobody in: ${told.slice(0, 500)}`);
    const query = new URLSearchParams({ company: organizationId, error: reason });
    return `${origin}/sign-in?${query}`;
  });
  throw context.redirect(target.startsWith('/') ? origin + target : target);
}

function newState(): string {
  return randomBytes(stateBytes).toString('base64url');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function keep(context: GenericEndpointContext, identifier: string, value: object): Promise<void> {
  const expiresAt = new Date(Date.now() + attemptMs);
  await context.context.internalAdapter.createVerificationValue({
    identifier,
    value: JSON.stringify(value),
    expiresAt,
  });
}

/** Takes what was kept, once: of two answers for one sign-in the second finds nothing. */
async function take<Value>(context: GenericEndpointContext, identifier: string): Promise<Value> {
  const found = await context.context.internalAdapter.consumeVerificationValue(identifier);
  if (found === null) throw new Refused('sign_in_expired');
  return JSON.parse(found.value) as Value;
}

function takeAttempt(context: GenericEndpointContext, state: string): Promise<Attempt> {
  return take(context, `company-attempt ${hashOf(state)}`);
}

function cookieOf(context: GenericEndpointContext) {
  return context.context.createAuthCookie('company_state', { maxAge: attemptMs / 1000 });
}

/** The state of the sign-in that this browser has begun. */
async function stateOf(context: GenericEndpointContext): Promise<string> {
  const state = await context.getSignedCookie(cookieOf(context).name, context.context.secret);
  if (!state) throw new Refused('sign_in_expired');
  return state;
}

function outboundOf({ outbound }: CompanyOptions): Outbound {
  if (outbound === undefined) throw new Error('this process has no way to providers');
  return outbound;
}

/** The provider of a sign-in, if it is still the one with which it began and the one of the address. */
async function providerOf(
  { worker }: CompanyOptions,
  context: GenericEndpointContext,
  { providerId, organizationId }: Attempt,
): Promise<StoredProvider> {
  const provider = await providers.findProvider(worker, { organizationId });
  const isRight = provider?.id === providerId && context.params?.organizationId === organizationId;
  if (provider === null || !isRight) throw new Refused('sign_in_expired');
  return provider;
}

function oidcOf({ encryption, origin }: CompanyOptions, provider: StoredProvider) {
  const { issuer, clientId, organizationId } = provider;
  const clientSecret = openSecret(provider, encryption);
  if (issuer === null || clientId === null || clientSecret === null) throw new Refused('sign_in_expired');
  return { issuer, clientId, clientSecret, redirectUri: addressesOf(origin, organizationId).redirectUri };
}

function samlOf({ origin }: CompanyOptions, { entityId, entryPoint, certificate, organizationId }: StoredProvider) {
  if (entityId === null || entryPoint === null || certificate === null) throw new Refused('sign_in_expired');
  return { entityId, entryPoint, certificate, ...addressesOf(origin, organizationId) };
}

/** Begins a sign-in. Returns the address of the provider. */
async function start(
  options: CompanyOptions,
  context: GenericEndpointContext,
  given: z.output<typeof Start>,
): Promise<string> {
  const email = 'email' in given ? normalEmail(given.email) : null;
  const by = 'email' in given ? { domain: email?.split('@')[1] ?? '' } : { organizationId: given.organizationId };
  const provider = await providers.findProvider(options.worker, by);
  if (provider === null)
    throw new APIError('NOT_FOUND', {
      code: 'NO_PROVIDER',
      message: 'No organization signs in people with this address. Use the link of your organization, or a password.',
    });
  const state = newState();
  const { url, nonce, codeVerifier } = await begin(options, provider, state, email).catch((error: unknown) => {
    options.log('info', `the provider of ${provider.organizationId} cannot be asked: ${String(error)}`);
    throw new APIError('BAD_GATEWAY', {
      code: 'PROVIDER_FAILED',
      message: 'The sign-in of your organization does not answer as it should. Try again, or tell its owners.',
    });
  });
  const { id: providerId, organizationId } = provider;
  const attempt: Attempt = { providerId, organizationId, nonce, codeVerifier };
  await keep(context, `company-attempt ${hashOf(state)}`, attempt);
  const cookie = cookieOf(context);
  await context.setSignedCookie(cookie.name, state, context.context.secret, cookie.attributes);
  return url;
}

async function begin(options: CompanyOptions, provider: StoredProvider, state: string, email: string | null) {
  if (provider.protocol === 'saml') {
    const { startSaml } = await import('./actions-saml.ts');
    // An id of XML begins with a letter.
    const nonce = `_${randomBytes(stateBytes).toString('hex')}`;
    return { url: await startSaml(samlOf(options, provider), nonce, state), nonce, codeVerifier: '' };
  }
  const { startOidc } = await import('./actions-oidc.ts');
  const { url, attempt } = await startOidc(oidcOf(options, provider), outboundOf(options), state, email);
  return { url, ...attempt };
}

/** Signs in the person of the identity. The session counts in the organization of the provider only. */
async function signIn(
  { worker }: CompanyOptions,
  context: GenericEndpointContext,
  { providerId }: Attempt,
  identity: Identity,
): Promise<void> {
  const now = Date.now();
  const { subject } = identity;
  const email = identity.email === null ? null : normalEmail(identity.email);
  const userId = await worker.transaction().execute(async (db) => {
    const standing = await providers.findStanding(db, { providerId, subject, email }, now);
    if (standing === null) throw new Refused('sign_in_expired');
    const { invitationHash } = standing;
    const decision = decideSignIn({ ...identity, email }, { ...standing, isInvited: invitationHash !== null });
    if (decision.action === 'refuse') throw new Refused(decision.reason);
    if (decision.action === 'sign in') return decision.userId;
    const member = decision.action === 'link' ? decision.userId : newId('user');
    if (decision.action === 'join') {
      if (email === null || invitationHash === null) throw new Refused('not_a_member');
      const name = identity.name?.trim().slice(0, 255) || email;
      const person = { id: member, name, email, passwordHash: null, accountId: newId('account') };
      const joined =
        (await store.insertUser(db, person)) &&
        (await store.useInvitation(db, { tokenHash: invitationHash, userId: member, action }, now));
      if (!joined) throw new Refused('sign_in_expired');
    }
    await providers.linkSubject(db, { providerId, subject, userId: member }, now);
    return member;
  });
  const { internalAdapter } = context.context;
  const user = await internalAdapter.findUserById(userId);
  if (user === null) throw new Refused('not_a_member');
  const session = await internalAdapter.createSession(userId, false, { signInProviderId: providerId });
  expireCookie(context, cookieOf(context));
  await setSessionCookie(context, { session, user });
}

/** Looks for the DNS record of the organization. Returns the instant of the first time that it was found. */
async function verify(
  options: CompanyOptions,
  context: GenericEndpointContext,
  { organizationId }: { readonly organizationId: string },
): Promise<number> {
  const { worker, encryption } = options;
  const session = await getSessionFromCtx(context);
  const token = session?.session.token ?? '';
  const roles = rolesWith(sufficientFor('sign-in-provider:admin'));
  if (!(await providers.maySetUp(worker, { token, organizationId, roles })))
    throw new APIError('FORBIDDEN', {
      code: 'OWNER_NEEDED',
      message: 'Only an owner of the organization may do this.',
    });
  const provider = await providers.findProvider(worker, { organizationId });
  const texts =
    provider &&
    (await outboundOf(options)
      .textRecords(`_tollkeeper.${provider.domain}`)
      .catch(() => []));
  if (provider === null || texts === null || !isDomainRecord(encryption, provider, texts))
    throw new APIError('BAD_REQUEST', {
      code: 'RECORD_NOT_FOUND',
      message: `The DNS has no TXT record _tollkeeper.${provider?.domain ?? ''} with the value that is shown here. It can take an hour.`,
    });
  const now = Date.now();
  const userId = session?.user.id ?? '';
  const mark = { id: provider.id, domain: provider.domain, userId, action: 'POST /auth/company/verify-domain' };
  if (!(await providers.verifyDomain(worker, mark, now)))
    throw new APIError('CONFLICT', { code: 'PROVIDER_CHANGED', message: 'The provider has changed. Look again.' });
  return provider.domainVerifiedAt ?? now;
}
