import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { signInPath } from './person.ts';

const SignInProviderId = idSchema('signInProvider');

const Domain = z
  .string()
  .max(253)
  .transform((text) => text.trim().toLowerCase())
  .refine((text) => /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(text), {
    error: 'must be a domain, such as example.com',
  });
const Url = z.string().max(textLimits.url);
const longestCertificates = 16_384;
// The one in use, and the next ones.
const mostCertificates = 4;
export const certificateIssue = `must be one to ${mostCertificates} X.509 certificates as PEM`;

/** Certificates as PEM, one after the other. Providers show them with and without the lines around. */
const Certificates = z
  .string()
  .max(longestCertificates)
  .transform((text, context) => {
    const found = certificatesIn(text);
    if (found.length === 0 || found.length > mostCertificates)
      context.addIssue({ code: 'custom', message: certificateIssue });
    return found.map(toPem).join('\n');
  });

/** The base64 of each certificate in a text. */
export function certificatesIn(text: string): string[] {
  const blocks = [...text.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g)];
  const bodies = blocks.length > 0 ? blocks.map(([, body = '']) => body) : [text];
  return bodies.map((body) => body.replaceAll(/\s/g, '')).filter((body) => /^[A-Za-z0-9+/]+=*$/.test(body));
}

export function toPem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'].join('\n');
}

/** A provider as an owner registers it. */
export const NewSignInProvider = z.discriminatedUnion('protocol', [
  z.object({
    protocol: z.literal('oidc'),
    domain: Domain,
    issuer: Url,
    clientId: z.string().min(1).max(255),
    /** May be absent when issuer and client stay. */
    clientSecret: z.string().min(1).max(1024).optional(),
  }),
  z.object({
    protocol: z.literal('saml'),
    domain: Domain,
    entityId: z.string().min(1).max(textLimits.url),
    entryPoint: Url,
    certificate: Certificates,
  }),
]);
export type NewSignInProvider = z.output<typeof NewSignInProvider>;

/** The provider by which an organization signs in its members. */
export const SignInProvider = z.object({
  id: SignInProviderId,
  protocol: z.enum(['oidc', 'saml']),
  domain: z.string(),
  domainVerifiedAt: Timestamp.nullable(),
  issuer: z.string().nullable(),
  clientId: z.string().nullable(),
  entityId: z.string().nullable(),
  entryPoint: z.string().nullable(),
  certificate: z.string().nullable(),
  createdAt: Timestamp,
});
export type SignInProvider = z.infer<typeof SignInProvider>;

export interface StoredProvider extends SignInProvider {
  readonly organizationId: string;
  readonly sealedClientSecret: string | null;
}

/** The addresses of an organization: three for its provider, and the one at which its members begin. */
export const ProviderAddresses = z.object({
  redirectUri: z.string(),
  assertionConsumer: z.string(),
  audience: z.string(),
  signIn: z.string(),
});

/** Each organization has its own, so that an answer for one is never one for another. */
export function addressesOf(origin: string, organizationId: string): z.infer<typeof ProviderAddresses> {
  return {
    redirectUri: `${origin}${signInPath}/company/${organizationId}/oidc`,
    assertionConsumer: `${origin}${signInPath}/company-saml/${organizationId}`,
    audience: `${origin}${signInPath}/company/${organizationId}`,
    signIn: `${origin}/sign-in?company=${organizationId}`,
  };
}

/** The DNS record by which an organization shows that a domain is its own. */
export const DomainRecord = z.object({ name: z.string(), value: z.string() });

/** A person, as a provider vouches for them. */
export interface Identity {
  /** The name by which the provider knows the person, for good. */
  readonly subject: string;
  /** Null when the provider has not verified that the address is theirs. */
  readonly email: string | null;
  readonly name: string | null;
}

/** A reason for which nobody is signed in, as the address of the page has it. */
export type CompanyRefusal =
  | 'provider_failed'
  | 'sign_in_expired'
  | 'email_not_verified'
  | 'not_a_member'
  | 'accept_the_invitation_first'
  | 'known_by_another_name';

interface Standing {
  /** The person who was signed in under this subject before. */
  readonly linkedUserId: string | null;
  readonly knownUserId: string | null;
  readonly isMember: boolean;
  /** Whether the provider knows the person with this address by another subject. */
  readonly hasOtherSubject: boolean;
  readonly isInvited: boolean;
}

type Decision =
  | { readonly action: 'sign in'; readonly userId: string }
  | { readonly action: 'link'; readonly userId: string }
  | { readonly action: 'join' }
  | { readonly action: 'refuse'; readonly reason: CompanyRefusal };

/**
 * Decides who is signed in: a member of the organization of the provider, or somebody new with an invitation of it.
 * Somebody who is known elsewhere joins by themselves, so that no owner can take another organization's people in.
 */
export function decideSignIn({ email }: Identity, standing: Standing): Decision {
  if (standing.linkedUserId !== null) return { action: 'sign in', userId: standing.linkedUserId };
  if (email === null) return { action: 'refuse', reason: 'email_not_verified' };
  if (standing.knownUserId !== null && standing.isMember)
    return standing.hasOtherSubject
      ? { action: 'refuse', reason: 'known_by_another_name' }
      : { action: 'link', userId: standing.knownUserId };
  if (!standing.isInvited) return { action: 'refuse', reason: 'not_a_member' };
  return standing.knownUserId === null
    ? { action: 'join' }
    : { action: 'refuse', reason: 'accept_the_invitation_first' };
}
