import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { samlCertificate } from './outbound-certificate.ts';

/** The TXT records that tests have set, by name. */
export const dnsTexts = new Map<string, string>();

/** Services that may reach this machine, and read the TXT records of the test. */
export function reachingServices(): WebhookServices {
  const lookupText = async (name: string) => {
    const text = dnsTexts.get(name);
    // A long record comes in parts.
    return text === undefined ? [] : [['v=spf1 -all'], [text.slice(0, 20), text.slice(20)]];
  };
  const outbound = createOutbound({ allow: loopback, allowInTestMode: [], lookupText });
  return { encryption: createEncryption([Buffer.alloc(keyBytes, 1)]), outbound };
}

/** The claims of somebody at the provider. */
interface Claims {
  readonly email: string;
  readonly email_verified: boolean;
  readonly name?: string;
}

export const clientSecret = 'the secret of the client, at the provider';

/** Starts a provider for OpenID Connect. It signs in everybody who is in `people`, by the name under which they are. */
export async function startOidcProvider(redirectUris: readonly string[]) {
  const people = new Map<string, Claims>();
  // The package has no types.
  const { default: Provider } = (await import('oidc-provider' as string)) as {
    default: new (
      issuer: string,
      configuration: object,
    ) => {
      callback(): RequestListener;
      Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): unknown };
    };
  };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'tollkeeper', client_secret: clientSecret, redirect_uris: redirectUris }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['of a test'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people.get(id) }),
    }),
    // Nobody is asked whether the service may know who they are.
    async loadExistingGrant(context: { oidc: { client: { clientId: string }; session: { accountId: string } } }) {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  server.on('request', provider.callback());
  return { issuer, people };
}

interface SamlIdp {
  parseLoginRequest(sp: object, binding: string, request: object): Promise<{ extract: SamlRequest }>;
  createLoginResponse(
    sp: object,
    request: object,
    binding: string,
    user: object,
    fill: (template: string) => { id: string; context: string },
  ): Promise<{ context: string }>;
}

interface SamlRequest {
  readonly issuer: string;
  readonly request: { readonly id: string };
}

/** The package's own types bring those of browsers, which differ from Node's. */
interface Samlify {
  setSchemaValidator(validator: { validate: (xml: string) => Promise<string> }): void;
  IdentityProvider(settings: object): SamlIdp;
  ServiceProvider(settings: object): object;
  readonly SamlLib: {
    readonly defaultLoginResponseTemplate: { readonly context: string };
    replaceTagsByValue(template: string, tags: Readonly<Record<string, string>>): string;
  };
}

const entityId = 'https://idp.example.test/saml';
const entryPoint = 'https://idp.example.test/sign-in';

/** A provider for SAML as an owner registers it. */
export const samlProvider = { protocol: 'saml', entityId, entryPoint, certificate: samlCertificate.cert } as const;

interface SamlAnswer {
  readonly subject: string;
  readonly email: string;
  /** Values in the answer that differ from the right ones. */
  readonly wrong?: Readonly<Record<string, string>>;
  readonly algorithm?: string;
}

const sha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** The answer of a provider for SAML to the request in `url`: the fields of the form that its page posts. */
export async function answerSaml(
  url: string,
  { audience, assertionConsumer }: { readonly audience: string; readonly assertionConsumer: string },
  { subject, email, wrong = {}, algorithm = sha256 }: SamlAnswer,
): Promise<{ SAMLResponse: string; RelayState: string }> {
  const { default: samlify } = (await import('samlify' as string)) as { default: Samlify };
  samlify.setSchemaValidator({ validate: async () => 'it is not about the schema' });
  const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST';
  const redirect = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
  const idp = samlify.IdentityProvider({
    entityID: entityId,
    privateKey: samlCertificate.key,
    signingCert: samlCertificate.cert,
    singleSignOnService: [{ Binding: redirect, Location: entryPoint }],
    requestSignatureAlgorithm: algorithm,
    loginResponseTemplate: {
      context: samlify.SamlLib.defaultLoginResponseTemplate.context,
      attributes: [
        {
          name: 'email',
          valueTag: 'email',
          nameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic',
          valueXsiType: 'xs:string',
        },
      ],
    },
  });
  const sp = samlify.ServiceProvider({
    entityID: audience,
    assertionConsumerService: [{ Binding: post, Location: assertionConsumer }],
    wantAssertionsSigned: true,
  });
  const { searchParams } = new URL(url);
  assert.equal(url.startsWith(`${entryPoint}?`), true);
  const query = Object.fromEntries(searchParams);
  const { extract } = await idp.parseLoginRequest(sp, 'redirect', { query });
  assert.equal(extract.issuer, audience);
  const now = Date.now();
  const soon = new Date(now + 300_000).toISOString();
  const tags = {
    ID: `_response${now}`,
    AssertionID: `_assertion${now}`,
    Issuer: entityId,
    Destination: assertionConsumer,
    Audience: audience,
    SubjectRecipient: assertionConsumer,
    IssueInstant: new Date(now).toISOString(),
    ConditionsNotBefore: new Date(now).toISOString(),
    ConditionsNotOnOrAfter: soon,
    SubjectConfirmationDataNotOnOrAfter: soon,
    InResponseTo: extract.request.id,
    StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success',
    NameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    NameID: subject,
    AuthnStatement: '',
    attrEmail: email,
    ...wrong,
  };
  const { context } = await idp.createLoginResponse(sp, { extract }, 'post', { email }, (template: string) => ({
    id: tags.ID,
    context: samlify.SamlLib.replaceTagsByValue(template, tags),
  }));
  return { SAMLResponse: context, RelayState: searchParams.get('RelayState') ?? '' };
}
