import { z } from 'zod';
import { makeOrganization } from '../billing/create-organization.ts';
import { route } from '../http/route.ts';
import { NewApiKeyAnswer, NewOrganization, Organization } from '../organizations/api-key.ts';
import { webhookServicesOf } from '../webhooks/actions.ts';

export const organizationRoutes = [
  route({
    method: 'POST',
    path: '/organizations',
    cell: 'home',
    needs: 'organizations:admin',
    summary: 'Create an organization',
    description:
      'Creates an organization with its test and live environment, each with a default pricing model. Returns a key of ' +
      'the test environment, and of the live one if a live key asks. Their tokens are never shown again. The new ' +
      'organization sees nothing of this one, and the other way round.',
    tag: 'Organizations',
    body: z.object({ organization: NewOrganization }),
    returns: z.object({ organization: Organization, apiKeys: z.array(NewApiKeyAnswer) }),
    refuses: ['outsidePinnedPricingModel', 'tooManyRecords'],
    handle: (work, { body }) => makeOrganization(work, body.organization, Date.now()),
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
];
