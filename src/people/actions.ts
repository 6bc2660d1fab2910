import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Role } from '../kernel/permission.ts';
import { Problem } from '../kernel/problem.ts';
import { createInvitation } from './actions-links.ts';
import { type Invitation, invitationDays, type Member, type NewInvitation } from './person.ts';
import * as store from './store.ts';

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
