import { z } from 'zod';
import { route } from '../http/route.ts';
import { changeRole, removeMember, requirePerson } from '../people/actions.ts';
import { Member, RoleName, UserId } from '../people/person.ts';
import { listMembers } from '../people/store.ts';

const tag = 'Members';

const params = z.object({ userId: UserId });

const returns = z.object({ member: Member });

export const memberRoutes = [
  route({
    method: 'GET',
    path: '/members',
    cell: 'home',
    needs: 'members:read',
    summary: 'List members',
    description: 'Returns the people of the organization with their roles.',
    tag,
    returns: z.object({ members: z.array(Member) }),
    refuses: ['personNeeded'],
    async handle(work) {
      requirePerson(work);
      return { members: await listMembers(work) };
    },
  }),
  route({
    method: 'PUT',
    path: '/members/{userId}',
    cell: 'home',
    needs: 'members:admin',
    summary: 'Change the role of a member',
    description: 'Takes effect with the next request of that person. An organization keeps an owner.',
    tag,
    params,
    body: z.object({ member: z.object({ role: RoleName }) }),
    returns,
    refuses: ['personNeeded', 'memberNotFound', 'lastOwner'],
    async handle(work, { params, body }) {
      requirePerson(work);
      return { member: await changeRole(work, params.userId, body.member.role, Date.now()) };
    },
  }),
  route({
    method: 'DELETE',
    path: '/members/{userId}',
    cell: 'home',
    needs: 'members:admin',
    summary: 'Remove a member',
    description: 'Ends a membership. An organization keeps an owner.',
    tag,
    params,
    returns,
    refuses: ['personNeeded', 'memberNotFound', 'lastOwner'],
    async handle(work, { params }) {
      requirePerson(work);
      return { member: await removeMember(work, params.userId) };
    },
  }),
];
