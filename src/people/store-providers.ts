import { sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { StoredProvider } from './provider.ts';

const columns = sql`
  id, organization_id, protocol, domain, domain_verified_at, issuer, client_id, sealed_client_secret, entity_id, entry_point,
  certificate, created_at`;

/** The provider of the organization, locked until the work ends. */
export async function lockProvider(work: Work): Promise<StoredProvider | null> {
  const { rows } = await sql<StoredProvider>`
    select ${columns} from people_sign_in_providers where organization_id = ${work.organizationId} for update`.execute(
    work.db,
  );
  return rows[0] ?? null;
}

export async function findProviderOf(work: Work): Promise<StoredProvider | null> {
  return findProvider(work.db, { organizationId: work.organizationId });
}

/** The provider of an organization, or the one of a domain that was verified. */
export async function findProvider(
  db: Database,
  by: { readonly organizationId: string } | { readonly domain: string },
): Promise<StoredProvider | null> {
  const condition =
    'domain' in by
      ? sql`domain = ${by.domain} and domain_verified_at is not null`
      : sql`organization_id = ${by.organizationId}`;
  const { rows } = await sql<StoredProvider>`
    select ${columns} from people_sign_in_providers where ${condition}`.execute(db);
  return rows[0] ?? null;
}

/** Stores the provider in place of another one. A domain that stays is still verified. */
export async function saveProvider(
  work: Work,
  provider: Omit<StoredProvider, 'domainVerifiedAt'>,
): Promise<StoredProvider> {
  const { rows } = await sql<StoredProvider>`
    insert into people_sign_in_providers as p (id, organization_id, protocol, domain, issuer, client_id, sealed_client_secret,
                                               entity_id, entry_point, certificate, created_at)
    values (${provider.id}, ${provider.organizationId}, ${provider.protocol}, ${provider.domain}, ${provider.issuer},
            ${provider.clientId}, ${provider.sealedClientSecret}, ${provider.entityId}, ${provider.entryPoint},
            ${provider.certificate}, ${provider.createdAt})
    on conflict (organization_id) do update set
      id = excluded.id, protocol = excluded.protocol, domain = excluded.domain,
      domain_verified_at = case when p.domain = excluded.domain then p.domain_verified_at end,
      issuer = excluded.issuer, client_id = excluded.client_id, sealed_client_secret = excluded.sealed_client_secret,
      entity_id = excluded.entity_id, entry_point = excluded.entry_point, certificate = excluded.certificate,
      created_at = excluded.created_at
    returning ${columns}`.execute(work.db);
  const [stored] = rows;
  if (stored === undefined) throw new Error('the provider was stored');
  return stored;
}

/** Removes the provider, and ends the sessions that it has vouched for. */
export async function deleteProvider(work: Work): Promise<void> {
  await sql`delete from people_sign_in_providers where organization_id = ${work.organizationId}`.execute(work.db);
}

/**
 * Marks the domain of a provider as verified, and takes it from another organization that showed it before. False if the
 * provider has changed meanwhile.
 */
export async function verifyDomain(
  worker: Database,
  { id, domain, userId, action }: { id: string; domain: string; userId: string; action: string },
  now: Instant,
): Promise<boolean> {
  return worker.transaction().execute(async (db) => {
    await sql`
      select set_config('tollkeeper.user_id', ${userId}, true), set_config('tollkeeper.action', ${action}, true)`.execute(
      db,
    );
    await sql`
      update people_sign_in_providers set domain_verified_at = null
       where domain = ${domain} and domain_verified_at is not null and id <> ${id}`.execute(db);
    const result = await sql`
      update people_sign_in_providers set domain_verified_at = coalesce(domain_verified_at, ${now})
       where id = ${id} and domain = ${domain}`.execute(db);
    return (result.numAffectedRows ?? 0n) > 0n;
  });
}

/** Whether a session may change the provider of an organization: it counts there, with one of the roles. */
export async function maySetUp(
  worker: Database,
  { token, organizationId, roles }: { token: string; organizationId: string; roles: readonly string[] },
): Promise<boolean> {
  const { rows } = await sql`
    select from people_sessions s join people_memberships m on m.user_id = s.user_id
     where s.token = ${token} and m.organization_id = ${organizationId} and m.role = any (${roles})
       and (s.sign_in_provider_id is null or m.organization_id =
             (select p.organization_id from people_sign_in_providers p where p.id = s.sign_in_provider_id))`.execute(
    worker,
  );
  return rows.length > 0;
}

interface StandingRow {
  readonly linkedUserId: string | null;
  readonly knownUserId: string | null;
  readonly isMember: boolean;
  readonly hasOtherSubject: boolean;
  readonly invitationHash: Buffer | null;
}

/**
 * The standing of a person with a provider, which cannot change or be removed until the transaction ends. Null if it has been
 * since the sign-in began.
 */
export async function findStanding(
  db: DatabaseTransaction,
  { providerId, subject, email }: { providerId: string; subject: string; email: string | null },
  now: Instant,
): Promise<StandingRow | null> {
  const { rows: held } = await sql<{ organizationId: string }>`
    select organization_id from people_sign_in_providers where id = ${providerId} for key share`.execute(db);
  const [provider] = held;
  if (provider === undefined) return null;
  const { rows } = await sql<StandingRow>`
    select l.user_id as linked_user_id, u.id as known_user_id,
           exists (select from people_memberships m
                    where m.organization_id = ${provider.organizationId} and m.user_id = u.id) as is_member,
           exists (select from people_provider_subjects o
                    where o.provider_id = ${providerId} and o.user_id = u.id and o.subject <> ${subject}) as has_other_subject,
           (select i.token_hash from people_invitations i
             where i.organization_id = ${provider.organizationId} and i.email = ${email} and i.accepted_at is null
               and i.expires_at > ${now}) as invitation_hash
      from (select) one
      left join people_provider_subjects l on l.provider_id = ${providerId} and l.subject = ${subject}
      left join people_users u on u.email = ${email}`.execute(db);
  return rows[0] ?? null;
}

/** Notes the subject of a member. The database refuses somebody who is none. */
export async function linkSubject(
  db: DatabaseTransaction,
  { providerId, subject, userId }: { providerId: string; subject: string; userId: string },
  now: Instant,
): Promise<void> {
  await sql`
    insert into people_provider_subjects (provider_id, subject, organization_id, user_id, created_at)
      select id, ${subject}, organization_id, ${userId}, ${now} from people_sign_in_providers where id = ${providerId}
    on conflict (provider_id, subject) do nothing`.execute(db);
}

/** Deletes up to `limit` of each kind of record that nobody can use any more. Returns their number. */
export async function forgetSignIns(database: Database, before: Instant, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select forget_sign_ins(${before}::bigint, ${limit}::integer) as count`.execute(database);
  return rows[0]?.count ?? 0;
}
