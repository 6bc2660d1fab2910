import { z } from 'zod';
import { textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { checkEntitlements, readEntitlements } from './actions-entitlements.ts';
import { Entitlements } from './entitlement.ts';
import { EntitlementCheck, EntitlementCheckResult, maxChecksPerRequest } from './entitlement-check.ts';

const tag = 'Entitlements';

export const entitlementLookRoutes = [
  route({
    method: 'GET',
    path: '/customers/{externalId}/entitlements',
    summary: 'Get all that a customer may use',
    description:
      'The features, balances and resources of the current subscriptions in one answer, or of the one that ' +
      'subscriptionId names. What is paused, has ended or has not begun gives nothing.',
    tag,
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: z.object({ subscriptionId: textFilter, pricingModelId: textFilter }),
    returns: z.object({ entitlements: Entitlements }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'externalIdAmbiguous'],
    etag: true,
    handle: async (work, { params, query }) => ({
      entitlements: await readEntitlements(work, params.externalId, query),
    }),
  }),
  route({
    method: 'POST',
    path: '/entitlements/check',
    summary: 'Check what customers may use',
    description:
      'Answers each check, in order: a toggle is allowed when it is given, credits and places of a resource when enough ' +
      'are left in the current subscriptions that give the feature, together. An unknown customer or feature is an ' +
      'answer and no error. Nothing is stored or set aside: who must not be overtaken consumes, holds or claims.',
    tag,
    body: z.object({
      checks: z.array(EntitlementCheck).min(1).max(maxChecksPerRequest),
      pricingModelId: z
        .string()
        .min(1)
        .max(255)
        .nullable()
        .optional()
        .meta({ description: 'Whose customers are meant, where several pricing models have one of an external id.' }),
    }),
    returns: z.object({ results: z.array(EntitlementCheckResult) }),
    refuses: [],
    etag: true,
    handle: async (work, { body }) => ({
      results: await checkEntitlements(work, { ...body, pricingModelId: body.pricingModelId ?? undefined }),
    }),
  }),
];
