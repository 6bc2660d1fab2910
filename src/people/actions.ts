import { randomBytes } from 'node:crypto';
import { hashApiKey } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Role } from '../kernel/permission.ts';
import { Problem } from '../kernel/problem.ts';
import { firstLinkHours, type Invitation, invitationDays, type Member, type NewInvitation } from './person.ts';
import * as store from './store.ts';

// 24 bytes are 192 bits, which cannot be guessed.
const tokenBytes = 24;

interface LinkRequest {
  readonly organizationId: string;
  readonly role: Role;
  readonly email: string | null;
  readonly expiresAt: Instant;
}

/** Stores an invitation and returns the text of its link, which is available only here. */
export async function createInvitation(db: Database, request: LinkRequest, now: Instant) {
  const token = randomBytes(tokenBytes).toString('base64url');
  const id = newId('invitation');
  await store.insertInvitation(db, { ...request, id, tokenHash: hashApiKey(token) }, now);
  return { id, path: `/join/${token}` };
}

/**
 * A link that makes the first owner, or null if there is somebody already. The last one that was printed works. The worker's
 * connection.
 */
export async function createFirstLink(worker: Database, now: Instant): Promise<string | null> {
  return worker.transaction().execute(async (db) => {
    const organizationId = await store.findUnownedOrganization(db);
    if (organizationId === null) return null;
    const expiresAt = now + firstLinkHours * 3_600_000;
    const { path } = await createInvitation(db, { organizationId, role: 'owner', email: null, expiresAt }, now);
    return path;
  });
}

const dayMs = 86_400_000;

/** Refuses a key. It could make an owner, who may do more and lasts longer than the key. */
export function requirePerson({ userId }: Work): void {
  if (userId === null) throw new Problem('personNeeded');
}

export async function changeRole(work: Work, userId: string, role: Role, now: Instant): Promise<Member> {
  if (!(await store.updateRole(work, userId, role, now))) throw new Problem('memberNotFound', { id: userId });
  return getMember(work, userId);
}

async function getMember(work: Work, userId: string): Promise<Member> {
  const member = (await store.listMembers(work)).find((each) => each.userId === userId);
  if (member === undefined) throw new Problem('memberNotFound', { id: userId });
  return member;
}

/** Ends a membership. Requests of that person in this organization are refused from the next one on. */
export async function removeMember(work: Work, userId: string): Promise<Member> {
  const member = await getMember(work, userId);
  await store.deleteMember(work, userId);
  return member;
}

/** Invites somebody by a link, which takes the place of an open one for the same address. */
export async function invite(work: Work, { email, role }: NewInvitation, now: Instant) {
  // Waits for somebody who is joining with the previous link.
  await store.lockInvitations(work.db, work.organizationId);
  if ((await store.listMembers(work)).some((member) => member.email === email))
    throw new Problem('memberExists', { email });
  const expiresAt = now + invitationDays * dayMs;
  const { organizationId } = work;
  const { id, path } = await createInvitation(work.db, { organizationId, role, email, expiresAt }, now);
  const invitation: Invitation = { id, email, role, expiresAt, createdAt: now };
  return { invitation, url: work.publicUrl.replace(/\/+$/, '') + path };
}

export async function withdrawInvitation(work: Work, id: string): Promise<void> {
  if (!(await store.deleteInvitation(work, id))) throw new Problem('invitationNotFound', { id });
}
