import { z } from 'zod';
import { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { route } from '../platform/route.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';
import { addFeature } from './add-feature.ts';

const AddFeature = z
  .object({
    featureId: z.string().min(1).max(255).nullable().optional(),
    featureSlug: z.string().min(1).max(255).nullable().optional(),
    grantCreditsImmediately: z
      .boolean()
      .optional()
      .meta({ description: 'Give the credits now, once for each billing period. Only for a usage_credit_grant.' }),
  })
  .refine(({ featureId, featureSlug }) => ((featureId ?? null) === null) !== ((featureSlug ?? null) === null), {
    message: 'give exactly one of featureId and featureSlug',
  })
  .meta({ id: 'AddFeature' });

export const featureRoutes = [
  route({
    method: 'POST',
    path: '/subscriptions/{id}/add-feature',
    summary: 'Add a feature to a subscription',
    description:
      'By hand, beside what its plan gives. Again: a toggle stays as it is, credits and capacity of a resource add up.',
    tag: 'Subscriptions',
    params: z.object({ id: SubscriptionId }),
    body: AddFeature,
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'featureNotFound',
      'featureInactive',
      'creditsNotGrantable',
    ],
    handle: async (work, { params: { id }, body }) => ({ subscriptionItemFeature: await addFeature(work, id, body) }),
  }),
];
