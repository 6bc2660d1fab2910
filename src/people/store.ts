import { sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Role } from '../kernel/permission.ts';
import type { Invitation, Member, MembershipRow } from './person.ts';

// Requests of people who are not signed in have no environment, so most of this is on the worker's connection.

/**
 * The organizations in which a session counts, with their environments: test before live. A session of a provider counts in its
 * organization only. The worker's connection.
 */
export async function listMemberships(worker: Database, token: string): Promise<MembershipRow[]> {
  const { rows } = await sql<MembershipRow>`
    select o.id as organization_id, o.name as organization_name, m.role, e.id as environment_id, e.livemode
      from people_sessions s
      join people_memberships m on m.user_id = s.user_id
      join organizations o on o.id = m.organization_id
      join environments e on e.organization_id = o.id
     where s.token = ${token} and (s.sign_in_provider_id is null or o.id =
             (select p.organization_id from people_sign_in_providers p where p.id = s.sign_in_provider_id))
     order by o.id, e.livemode`.execute(worker);
  return rows;
}

export interface OpenInvitation {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly role: Role;
  /** Null in the link of the first start. */
  readonly email: string | null;
  readonly expiresAt: Instant;
}

/** The invitation of a link, if it can still be used. The worker's connection. */
export async function findInvitation(
  worker: Database,
  tokenHash: Buffer,
  now: Instant,
): Promise<OpenInvitation | null> {
  const { rows } = await sql<OpenInvitation>`
    select i.organization_id, o.name as organization_name, i.role, i.email, i.expires_at
      from people_invitations i join organizations o on o.id = i.organization_id
     where i.token_hash = ${tokenHash} and i.accepted_at is null and i.expires_at > ${now}
       and (i.email is not null or ${hasNoMembers(sql`i.organization_id`)})`.execute(worker);
  return rows[0] ?? null;
}

function hasNoMembers(organizationId: ReturnType<typeof sql>) {
  return sql`not exists (select from people_memberships m where m.organization_id = ${organizationId})`;
}

export async function findUserId(worker: Database, email: string): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`select id from people_users where email = ${email}`.execute(worker);
  return rows[0]?.id ?? null;
}

/**
 * Lets the invitations of an organization be made and used one after the other only, until the transaction ends. The lock is taken
 * before those of their rows, so that no deadlock is possible.
 */
export async function lockInvitations(db: Database, organizationId: string): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(current_schema() || ' invitations ' || ${organizationId}, 0))`.execute(
    db,
  );
}

/**
 * Marks an invitation as used by a person; false if it was used, has expired, or was the first link and there is somebody
 * now.
 */
export async function useInvitation(
  db: DatabaseTransaction,
  { tokenHash, userId, action }: { readonly tokenHash: Buffer; readonly userId: string; readonly action: string },
  now: Instant,
): Promise<boolean> {
  const { rows: found } = await sql<{ organizationId: string }>`
    select organization_id, set_config('tollkeeper.user_id', ${userId}, true), set_config('tollkeeper.action', ${action}, true)
      from people_invitations where token_hash = ${tokenHash}`.execute(db);
  const [invitation] = found;
  if (invitation === undefined) return false;
  await lockInvitations(db, invitation.organizationId);
  const { rows } = await sql<{ isMember: boolean }>`
    with used as (
      update people_invitations i set accepted_at = ${now}, accepted_by = ${userId}
       where i.token_hash = ${tokenHash} and i.accepted_at is null and i.expires_at > ${now}
         and (i.email is not null or ${hasNoMembers(sql`i.organization_id`)})
      returning i.organization_id, i.role)
    insert into people_memberships (organization_id, user_id, role, created_at, updated_at)
      select organization_id, ${userId}, role, ${now}, ${now} from one_row, used
    on conflict (organization_id, user_id) do nothing
    returning true as is_member`.execute(db);
  return rows.length > 0;
}

interface NewUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  /** Null for somebody who is signed in by a provider. */
  readonly passwordHash: string | null;
  readonly accountId: string;
}

/**
 * A person and their password if there is one, as the library keeps them; false if the address is known. Nobody has proven yet that it is
 * theirs.
 */
export async function insertUser(db: DatabaseTransaction, user: NewUser): Promise<boolean> {
  const { id, name, email, passwordHash, accountId } = user;
  const { rows } = await sql`
    insert into people_users (id, name, email) values (${id}, ${name}, ${email})
    on conflict (email) do nothing returning id`.execute(db);
  if (rows.length === 0) return false;
  if (passwordHash === null) return true;
  await sql`
    insert into people_accounts (id, account_id, provider_id, user_id, password)
    values (${accountId}, ${id}, 'credential', ${id}, ${passwordHash})`.execute(db);
  return true;
}

interface NewInvitation {
  readonly id: string;
  readonly organizationId: string;
  readonly role: Role;
  readonly email: string | null;
  readonly tokenHash: Buffer;
  readonly expiresAt: Instant;
}

/** Stores an invitation in place of an open one for the same address. */
export async function insertInvitation(db: Database, invitation: NewInvitation, now: Instant): Promise<void> {
  const { id, organizationId, role, email, tokenHash, expiresAt } = invitation;
  // Each of several at once takes the place of the one before.
  await lockInvitations(db, organizationId);
  await sql`
    delete from people_invitations
     where organization_id = ${organizationId} and email is not distinct from ${email} and accepted_at is null`.execute(
    db,
  );
  await sql`
    insert into people_invitations (id, organization_id, role, email, token_hash, expires_at, created_at)
    values (${id}, ${organizationId}, ${role}, ${email}, ${tokenHash}, ${expiresAt}, ${now})`.execute(db);
}

/** The first organization, if nobody belongs to any yet. Starts at the same time wait for each other. The worker's connection. */
export async function findUnownedOrganization(db: DatabaseTransaction): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from organizations order by created_at, id limit 1`.execute(db);
  const [first] = rows;
  if (first === undefined) return null;
  await lockInvitations(db, first.id);
  const { rows: somebody } = await sql`select from people_memberships limit 1`.execute(db);
  return somebody.length > 0 ? null : first.id;
}

/** Counts a try of a password of an address in a window; answers how many there were, in all processes together. */
export async function countTry(worker: Database, key: string, windowMs: number, now: Instant): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    insert into people_rate_limits as r (id, key, count, last_request) values (${key}, ${key}, 1, ${now})
    on conflict (key) do update set
      count = case when r.last_request <= ${now - windowMs} then 1 else r.count + 1 end,
      last_request = case when r.last_request <= ${now - windowMs} then ${now}::bigint else r.last_request end
    returning count`.execute(worker);
  return rows[0]?.count ?? 1;
}

export async function forgetTries(worker: Database, key: string): Promise<void> {
  await sql`delete from people_rate_limits where key = ${key}`.execute(worker);
}

/** The members of the organization of an environment, in the order in which they came: some hundreds at most. */
export async function listMembers(work: Work): Promise<Member[]> {
  const { rows } = await sql<Member>`
    select m.user_id, u.name, u.email, m.role, coalesce(u.two_factor_enabled, false) as two_factor_enabled, m.created_at
      from people_memberships m join people_users u on u.id = m.user_id
     where m.organization_id = ${work.organizationId} order by m.created_at, m.user_id`.execute(work.db);
  return rows;
}

/** Changes a role; false without such a member. A trigger refuses to leave the organization without an owner. */
export async function updateRole(work: Work, userId: string, role: Role, now: Instant): Promise<boolean> {
  const result = await sql`
    update people_memberships set role = ${role}, updated_at = ${now}
     where organization_id = ${work.organizationId} and user_id = ${userId}`.execute(work.db);
  return (result.numAffectedRows ?? 0n) > 0n;
}

/** Ends a membership; false without one. */
export async function deleteMember(work: Work, userId: string): Promise<boolean> {
  const result = await sql`
    delete from people_memberships
     where organization_id = ${work.organizationId} and user_id = ${userId}`.execute(work.db);
  return (result.numAffectedRows ?? 0n) > 0n;
}

/** The invitations that work, in the order in which they were made. */
export async function listInvitations(work: Work, now: Instant): Promise<Invitation[]> {
  const { rows } = await sql<Invitation>`
    select id, email, role, expires_at, created_at from people_invitations
     where organization_id = ${work.organizationId} and accepted_at is null and email is not null and expires_at > ${now}
     order by id`.execute(work.db);
  return rows;
}

export async function deleteInvitation(work: Work, id: string): Promise<boolean> {
  const result = await sql`
    delete from people_invitations
     where organization_id = ${work.organizationId} and id = ${id} and accepted_at is null`.execute(work.db);
  return (result.numAffectedRows ?? 0n) > 0n;
}

interface PersonRow {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly organizationId: string;
  readonly twoFactorEnabled: boolean;
}

/** The people of an organization, or of all. The worker's connection. */
export async function listPeople(worker: Database, organizationId: string | null): Promise<PersonRow[]> {
  const { rows } = await sql<PersonRow>`
    select u.email, u.name, m.role, m.organization_id, coalesce(u.two_factor_enabled, false) as two_factor_enabled
      from people_memberships m join people_users u on u.id = m.user_id
     where m.organization_id = coalesce(${organizationId}, m.organization_id)
     order by m.organization_id, u.email`.execute(worker);
  return rows;
}

/** Changes the role of an address; false without such a member. The worker's connection. */
export async function updateRoleOf(
  worker: Database,
  { organizationId, email, role }: { readonly organizationId: string; readonly email: string; readonly role: Role },
  now: Instant,
): Promise<boolean> {
  const result = await sql`
    update people_memberships m set role = ${role}, updated_at = ${now} from people_users u
     where u.id = m.user_id and u.email = ${email} and m.organization_id = ${organizationId}`.execute(worker);
  return (result.numAffectedRows ?? 0n) > 0n;
}

/** Ends memberships, all without an organization, and forgets a person who has none left. The worker's connection. */
export async function removePerson(worker: Database, email: string, organizationId: string | null): Promise<boolean> {
  return worker.transaction().execute(async (db) => {
    const userId = await findUserId(db, email);
    if (userId === null) return false;
    await sql`
      delete from people_memberships
       where user_id = ${userId} and organization_id = coalesce(${organizationId}, organization_id)`.execute(db);
    await sql`
      delete from people_users u
       where u.id = ${userId} and not exists (select from people_memberships m where m.user_id = u.id)`.execute(db);
    return true;
  });
}

/** Takes the second factor of a person away; false without such a person. The worker's connection. */
export async function disableCodes(worker: Database, email: string): Promise<boolean> {
  const result = await sql`
    with known as (update people_users set two_factor_enabled = false where email = ${email} returning id),
         gone as (delete from people_two_factors where user_id in (select id from known))
    select id from known`.execute(worker);
  return result.rows.length > 0;
}
