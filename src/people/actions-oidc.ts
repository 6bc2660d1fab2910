import * as client from 'openid-client';
import type { Outbound } from '../jobs/outbound.ts';
import type { Identity } from './provider.ts';

export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

/** The secrets of one sign-in, which its answer has to match. */
export interface OidcAttempt {
  readonly nonce: string;
  readonly codeVerifier: string;
}

const timeoutSeconds = 10;

/** Every request goes the way of webhooks: it reaches no internal network, and has limits of time and size. */
function guarded(outbound: Outbound): client.CustomFetch {
  return async (url, { method, headers, body }) => {
    const sent = { url, method, headers, ...(body == null ? {} : { body: String(body) }) };
    const { statusCode, headers: answered, body: text } = await outbound.fetch(sent);
    const known = Object.entries(answered).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(', ')] as [string, string]],
    );
    return new Response(text.byteLength === 0 ? null : new Uint8Array(text), { status: statusCode, headers: known });
  };
}

/** Reads what the provider says of itself, at each sign-in: nothing of it is kept. */
async function configure(provider: OidcProvider, outbound: Outbound): Promise<client.Configuration> {
  const { issuer, clientId, clientSecret } = provider;
  const isPlain = issuer.startsWith('http:');
  const found = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
    timeout: timeoutSeconds,
    [client.customFetch]: guarded(outbound),
    // The guard has decided that this one is on this machine.
    ...(isPlain && { execute: [client.allowInsecureRequests] }),
  });
  const server = found.serverMetadata();
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authenticate = methods.includes('client_secret_basic') ? client.ClientSecretBasic : client.ClientSecretPost;
  const config = new client.Configuration(server, clientId, clientSecret, authenticate(clientSecret));
  config[client.customFetch] = guarded(outbound);
  config.timeout = timeoutSeconds;
  if (isPlain) client.allowInsecureRequests(config);
  // Verifies the signature of the token, not only that it came from the token endpoint.
  client.enableNonRepudiationChecks(config);
  return config;
}

export async function startOidc(provider: OidcProvider, outbound: Outbound, state: string, email: string | null) {
  const config = await configure(provider, outbound);
  const attempt: OidcAttempt = { nonce: client.randomNonce(), codeVerifier: client.randomPKCECodeVerifier() };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: provider.redirectUri,
    scope: 'openid email profile',
    state,
    nonce: attempt.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(attempt.codeVerifier),
    code_challenge_method: 'S256',
    ...(email !== null && { login_hint: email }),
  });
  return { url: url.href, attempt };
}

/** Takes the answer of the provider. Throws unless state, nonce, code verifier, issuer, audience and signature are right. */
export async function finishOidc(
  provider: OidcProvider,
  outbound: Outbound,
  { query, state, attempt }: { readonly query: string; readonly state: string; readonly attempt: OidcAttempt },
): Promise<Identity> {
  const config = await configure(provider, outbound);
  const tokens = await client.authorizationCodeGrant(config, new URL(provider.redirectUri + query), {
    expectedState: state,
    expectedNonce: attempt.nonce,
    pkceCodeVerifier: attempt.codeVerifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new Error('the provider sent no id token');
  const hasEmail = typeof claims.email === 'string' && claims.email_verified !== undefined;
  const asks = !hasEmail && config.serverMetadata().userinfo_endpoint !== undefined;
  const said = asks ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : claims;
  const { email, email_verified: isVerified, name } = said;
  return {
    subject: claims.sub,
    // Some providers write the claim as a text.
    email: typeof email === 'string' && (isVerified === true || String(isVerified) === 'true') ? email : null,
    name: typeof name === 'string' ? name : null,
  };
}
