import { z } from 'zod';
import { route } from '../http/route.ts';
import { mailInvitation } from '../mail/actions-invitations.ts';
import { invite, requirePerson, withdrawInvitation } from '../people/actions.ts';
import { Invitation, InvitationId, NewInvitation } from '../people/person.ts';
import { listInvitations } from '../people/store.ts';
import { webhookServicesOf } from '../webhooks/actions.ts';

const tag = 'Invitations';

export const invitationRoutes = [
  route({
    method: 'GET',
    path: '/invitations',
    cell: 'home',
    needs: 'invitations:read',
    summary: 'List invitations',
    description: 'Returns the invitations that were neither used nor withdrawn and have not expired.',
    tag,
    returns: z.object({ invitations: z.array(Invitation) }),
    refuses: ['personNeeded'],
    async handle(work) {
      requirePerson(work);
      return { invitations: await listInvitations(work, Date.now()) };
    },
  }),
  route({
    method: 'POST',
    path: '/invitations',
    cell: 'home',
    needs: 'invitations:admin',
    summary: 'Invite somebody',
    description:
      'Returns a link to join with a role, which is never shown again. It works once, for seven days, and takes the place ' +
      'of an open one for the same address. It is sent by email too, if the service has a mail server.',
    tag,
    body: z.object({ invitation: NewInvitation }),
    returns: z.object({
      invitation: Invitation,
      url: z.string(),
      mailed: z.boolean().meta({ description: 'Whether the link is sent to the address by email.' }),
    }),
    refuses: ['personNeeded', 'memberExists', 'tooManyRecords'],
    async handle(work, { body }, { services }) {
      requirePerson(work);
      const invited = await invite(work, body.invitation, Date.now());
      return { ...invited, mailed: await mailInvitation(work, services, invited) };
    },
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
  route({
    method: 'DELETE',
    path: '/invitations/{id}',
    cell: 'home',
    needs: 'invitations:admin',
    summary: 'Withdraw an invitation',
    description: 'The link stops working.',
    tag,
    params: z.object({ id: InvitationId }),
    returns: z.object({ id: InvitationId }),
    refuses: ['personNeeded', 'invitationNotFound'],
    async handle(work, { params }) {
      requirePerson(work);
      await withdrawInvitation(work, params.id);
      return { id: params.id };
    },
  }),
];
