import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import { checkEntitlements } from '../entitlements/actions-entitlements.ts';
import { EntitlementCheck, EntitlementCheckResult, maxChecksPerRequest } from '../entitlements/entitlement-check.ts';
import { route } from '../http/route.ts';

const tag = 'Entitlements';

export const entitlementRoutes = [
  route({
    method: 'POST',
    path: '/entitlements/check',
    cell: 'customer',
    needs: 'entitlements:read',
    summary: 'Check what customers may use',
    description:
      'Answers each check, in the order sent. A toggle is allowed if the customer has it; credits and places ' +
      'are allowed if enough are left. An unknown customer or feature is an answer and no error. Nothing is ' +
      'reserved: to reserve, consume, hold or claim. A renewal or an end that is due is done first.',
    tag,
    body: z.object({
      checks: z.array(EntitlementCheck).min(1).max(maxChecksPerRequest),
      pricingModelId: z.string().min(1).max(255).nullable().optional().meta({
        description:
          'The pricing model of the customers, required only if several have a customer with the same external id.',
      }),
    }),
    returns: z.object({ results: z.array(EntitlementCheckResult) }),
    refuses: [],
    etag: true,
    divided: {
      field: 'checks',
      answers: 'results',
      answersOf: ({ results }) => results.map((result) => [result]),
      stores: false,
    },
    handle: async (work, { body: { checks, pricingModelId }, places }) => ({
      results: await checkEntitlements(
        work,
        { checks, pricingModelId: pricingModelId ?? undefined, places },
        catchUpAll,
      ),
    }),
  }),
];
