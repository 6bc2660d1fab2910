import { z } from 'zod';
import { checkEntitlements } from '../entitlements/actions-entitlements.ts';
import { EntitlementCheck, EntitlementCheckResult, maxChecksPerRequest } from '../entitlements/entitlement-check.ts';
import { route } from '../http/route.ts';

const tag = 'Entitlements';

export const entitlementRoutes = [
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
