import { type Profile, SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import { certificatesIn, type Identity } from './provider.ts';

export interface SamlProvider {
  readonly entityId: string;
  readonly entryPoint: string;
  readonly certificate: string;
  readonly assertionConsumer: string;
  readonly audience: string;
}

// Clocks of two companies differ by seconds. An assertion is used at once.
const clockSkewMs = 60_000;
const longestAssertionMs = 10 * 60_000;
const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const emailNames = [
  'email',
  'mail',
  'emailaddress',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
];
const nameNames = [
  'displayName',
  'name',
  'urn:oid:2.16.840.1.113730.3.1.241',
  'http://schemas.microsoft.com/identity/claims/displayname',
];

function samlOf(provider: SamlProvider, requestId: string): SAML {
  const issuedAt = new Date().toISOString();
  return new SAML({
    entryPoint: provider.entryPoint,
    idpCert: certificatesIn(provider.certificate),
    issuer: provider.audience,
    audience: provider.audience,
    callbackUrl: provider.assertionConsumer,
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    acceptedClockSkewMs: clockSkewMs,
    maxAssertionAgeMs: longestAssertionMs,
    generateUniqueId: () => requestId,
    validateInResponseTo: ValidateInResponseTo.always,
    // The one request that an answer may be for. The database lets it be answered once.
    cacheProvider: {
      saveAsync: async (_key, value) => ({ value, createdAt: Date.now() }),
      getAsync: async (key) => (key === requestId ? issuedAt : null),
      removeAsync: async () => null,
    },
  });
}

export function startSaml(provider: SamlProvider, requestId: string, state: string): Promise<string> {
  return samlOf(provider, requestId).getAuthorizeUrlAsync(state, undefined, {});
}

/**
 * Takes the answer of the provider. Throws unless one assertion is signed by it, recent, and made for this request, this
 * organization and this address.
 */
export async function finishSaml(provider: SamlProvider, requestId: string, response: string): Promise<Identity> {
  // SHA-1 is not safe from forgery any more, and the library still takes it.
  if (/xmldsig#(?:rsa-|dsa-)?sha1/.test(Buffer.from(response, 'base64').toString('utf8')))
    throw new Error('the assertion is signed with SHA-1');
  const { profile } = await samlOf(provider, requestId).validatePostResponseAsync({ SAMLResponse: response });
  if (profile === null) throw new Error('there is no assertion');
  if (profile.issuer !== provider.entityId) throw new Error(`the assertion is of ${profile.issuer}`);
  if (profile.nameIDFormat === transient) throw new Error('the name of the person is another at each sign-in');
  assertConfirmed(profile, { InResponseTo: requestId, Recipient: provider.assertionConsumer });
  const email = textOf(profile, emailNames) ?? profile.nameID;
  return {
    subject: profile.nameID,
    email: /^[^\s@]+@[^\s@]+$/.test(email) ? email : null,
    name: textOf(profile, nameNames),
  };
}

/** The signed part names request and address too: the library reads them from the envelope, which need not be signed. */
function assertConfirmed(profile: Profile, wanted: Readonly<Record<'InResponseTo' | 'Recipient', string>>): void {
  const { Assertion: assertion } = (profile.getAssertion?.() ?? {}) as { Assertion?: Assertion };
  const confirmations = assertion?.Subject?.[0]?.SubjectConfirmation ?? [];
  const isConfirmed = confirmations.some(
    ({ $: { Method } = {}, SubjectConfirmationData: [{ $: data = {} } = {}] = [] }) => {
      const isRecent = Date.parse(data.NotOnOrAfter ?? '') > Date.now() - clockSkewMs;
      return Method === bearer && isRecent && Object.entries(wanted).every(([name, value]) => data[name] === value);
    },
  );
  if (!isConfirmed) throw new Error('the assertion was made for another request or address');
}

/** An element as the library's XML parser gives it. */
interface Element {
  readonly $?: Readonly<Record<string, string>>;
}

interface Assertion {
  readonly Subject?: readonly {
    readonly SubjectConfirmation?: readonly (Element & { readonly SubjectConfirmationData?: readonly Element[] })[];
  }[];
}

function textOf(profile: Profile, names: readonly string[]): string | null {
  const attributes = (profile.attributes ?? {}) as Readonly<Record<string, unknown>>;
  const found = names.map((name) => [attributes[name]].flat()[0]).find((value) => typeof value === 'string');
  return typeof found === 'string' ? found : null;
}
