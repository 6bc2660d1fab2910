import { z } from 'zod';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { getEmail, listEmails, resendEmail } from '../mail/actions.ts';
import { Email, EmailId, emailFilters } from '../mail/email.ts';

const tag = 'Emails';

const params = z.object({ id: EmailId });

export const emailRoutes = [
  route({
    method: 'GET',
    path: '/emails',
    cell: 'all',
    merged: 'asc',
    needs: 'emails:read',
    summary: 'List emails',
    description:
      'Returns the emails to customers, optionally of one customer, event, template or status. Settings decide whether ' +
      'events cause emails.',
    tag,
    query: pageQuery(emailFilters),
    returns: pageOf(Email),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listEmails(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/emails/{id}',
    cell: 'id',
    needs: 'emails:read',
    summary: 'Get an email',
    description: 'Returns one email to a customer.',
    tag,
    params,
    returns: z.object({ email: Email }),
    refuses: ['emailNotFound'],
    handle: async (work, input) => ({ email: await getEmail(work, input.params.id) }),
  }),
  route({
    method: 'POST',
    path: '/emails/{id}/resend',
    cell: 'id',
    needs: 'emails:write',
    summary: 'Resend an email',
    description:
      'Queues the same email again, to the present address of the customer and with the present texts. It is an email of ' +
      'its own, and names the first one in `resentFrom`.',
    tag,
    params,
    returns: z.object({ email: Email }),
    refuses: ['emailNotFound', 'emailStillQueued', 'mailNotConfigured'],
    handle: async (work, input, { services }) => ({
      email: await resendEmail(work, services, input.params.id),
    }),
  }),
];
