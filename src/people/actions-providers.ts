import { X509Certificate } from 'node:crypto';
import type { z } from 'zod';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Outbound } from '../jobs/outbound.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid } from '../kernel/problem.ts';
import {
  addressesOf,
  certificateIssue,
  certificatesIn,
  type DomainRecord,
  type NewSignInProvider,
  type ProviderAddresses,
  SignInProvider,
  type StoredProvider,
  toPem,
} from './provider.ts';
import * as store from './store-providers.ts';

interface ProviderServices {
  readonly encryption: Encryption;
  readonly outbound: Outbound;
}

interface ProviderAnswer {
  readonly signInProvider: SignInProvider | null;
  /** The DNS record by which the domain is verified. */
  readonly domainRecord: z.infer<typeof DomainRecord> | null;
  readonly addresses: z.infer<typeof ProviderAddresses>;
}

/** The context of a sealed client secret: it is of no use to another organization. */
function secretContext(organizationId: string): string {
  return `client secret of ${organizationId}`;
}

const domainContext = 'sign-in domain';
const recordPrefix = 'tollkeeper-domain=';

function domainRecordOf(
  encryption: Encryption,
  { organizationId, domain }: Pick<StoredProvider, 'organizationId' | 'domain'>,
): z.infer<typeof DomainRecord> {
  const mac = encryption.mac(`${organizationId} ${domain}`, domainContext);
  return { name: `_tollkeeper.${domain}`, value: recordPrefix + mac };
}

/** Whether one of the texts is the record of the organization, under any of the keys. */
export function isDomainRecord(
  encryption: Encryption,
  { organizationId, domain }: Pick<StoredProvider, 'organizationId' | 'domain'>,
  texts: readonly string[],
): boolean {
  return texts.some(
    (text) =>
      text.startsWith(recordPrefix) &&
      encryption.isMac(`${organizationId} ${domain}`, domainContext, text.slice(recordPrefix.length)),
  );
}

function answerOf(work: Work, encryption: Encryption, provider: StoredProvider | null): ProviderAnswer {
  return {
    signInProvider: provider && SignInProvider.parse(provider),
    domainRecord: provider && domainRecordOf(encryption, provider),
    addresses: addressesOf(new URL(work.publicUrl).origin, work.organizationId),
  };
}

/** The provider of the organization, without its secret, and the addresses that it has to know. */
export async function getProvider(work: Work, { encryption }: ProviderServices): Promise<ProviderAnswer> {
  return answerOf(work, encryption, await store.findProviderOf(work));
}

/**
 * Registers the provider of the organization in place of another one. Any change ends the sessions of the provider, because it
 * may be somebody else's from now on; the same again changes nothing.
 */
export async function setProvider(
  work: Work,
  given: NewSignInProvider,
  services: ProviderServices,
  now: Instant,
): Promise<ProviderAnswer> {
  checkAddress(given, services.outbound);
  const current = await store.lockProvider(work);
  const secret = given.protocol === 'oidc' ? secretOf(given, current, services.encryption) : null;
  const wanted = {
    organizationId: work.organizationId,
    protocol: given.protocol,
    domain: given.domain,
    issuer: given.protocol === 'oidc' ? given.issuer : null,
    clientId: given.protocol === 'oidc' ? given.clientId : null,
    entityId: given.protocol === 'saml' ? given.entityId : null,
    entryPoint: given.protocol === 'saml' ? given.entryPoint : null,
    certificate: given.protocol === 'saml' ? given.certificate : null,
  };
  if (current !== null && secret === openSecret(current, services.encryption) && isSame(current, wanted))
    return answerOf(work, services.encryption, current);
  const stored = await store.saveProvider(work, {
    ...wanted,
    id: newId('signInProvider'),
    sealedClientSecret: secret && services.encryption.seal(secret, secretContext(work.organizationId)),
    createdAt: now,
  });
  return answerOf(work, services.encryption, stored);
}

function isSame(current: StoredProvider, wanted: Partial<StoredProvider>): boolean {
  const fields = Object.entries(wanted) as [keyof StoredProvider, unknown][];
  return fields.every(([field, value]) => current[field] === value);
}

/** Refuses an address that would never be asked, and a text that is no certificate. The browser goes to an entry point by itself. */
function checkAddress(given: NewSignInProvider, outbound: Outbound): void {
  const field = given.protocol === 'oidc' ? 'issuer' : 'entryPoint';
  const issue = outbound.fetchIssueOf(given.protocol === 'oidc' ? given.issuer : given.entryPoint);
  if (issue !== null) throw invalid(['signInProvider', field], issue);
  if (given.protocol === 'saml' && !certificatesIn(given.certificate).every(isCertificate))
    throw invalid(['signInProvider', 'certificate'], certificateIssue);
}

function isCertificate(base64: string): boolean {
  try {
    return new X509Certificate(toPem(base64)).publicKey.type === 'public';
  } catch {
    return false;
  }
}

/** The client secret: the one that is sent, or the stored one where the same client of the same issuer keeps it. */
function secretOf(
  given: Extract<NewSignInProvider, { protocol: 'oidc' }>,
  current: StoredProvider | null,
  encryption: Encryption,
): string {
  if (given.clientSecret !== undefined) return given.clientSecret;
  // Otherwise an owner who does not know the secret could have it sent to an issuer of theirs.
  const isKept = current !== null && current.issuer === given.issuer && current.clientId === given.clientId;
  const kept = isKept ? openSecret(current, encryption) : null;
  if (kept === null) throw invalid(['signInProvider', 'clientSecret'], 'is needed for a new issuer or client');
  return kept;
}

export function openSecret(
  { sealedClientSecret, organizationId }: StoredProvider,
  encryption: Encryption,
): string | null {
  return sealedClientSecret && encryption.open(sealedClientSecret, secretContext(organizationId));
}

/** Removes the provider. Its sessions end; members sign in by their password or a passkey. */
export async function removeProvider(work: Work, services: ProviderServices): Promise<ProviderAnswer> {
  await store.deleteProvider(work);
  return answerOf(work, services.encryption, null);
}
