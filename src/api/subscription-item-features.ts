import { z } from 'zod';
import { createItemFeature, expireItemFeature, getItemFeature, updateItemFeature } from '../entitlements/actions.ts';
import {
  ExpiredItemFeature,
  ItemFeatureChange,
  NewItemFeature,
  SubscriptionItemFeature,
  SubscriptionItemFeatureId,
} from '../entitlements/subscription-item-feature.ts';
import { route } from '../http/route.ts';
import { TimestampInput } from '../kernel/json.ts';

const tag = 'Subscription item features';

const params = z.object({ id: SubscriptionItemFeatureId });

export const subscriptionItemFeatureRoutes = [
  route({
    method: 'POST',
    path: '/subscription-item-features',
    summary: 'Give a feature through a subscription item',
    description: 'What is left out is the own value of the feature.',
    tag,
    body: z.object({ subscriptionItemFeature: NewItemFeature }),
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'subscriptionItemNotFound',
      'subscriptionItemExpired',
      'subscriptionTerminal',
      'featureNotFound',
      'featureInactive',
      'usageMeterNotFound',
      'resourceNotFound',
      'productFeatureNotFound',
      'itemFeatureExists',
    ],
    handle: async (work, { body }) => ({
      subscriptionItemFeature: await createItemFeature(work, body.subscriptionItemFeature),
    }),
  }),
  route({
    method: 'GET',
    path: '/subscription-item-features/{id}',
    summary: 'Get a subscription item feature',
    tag,
    params,
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: ['subscriptionItemFeatureNotFound'],
    handle: async (work, { params: { id } }) => ({ subscriptionItemFeature: await getItemFeature(work, id) }),
  }),
  route({
    method: 'PUT',
    path: '/subscription-item-features/{id}',
    summary: 'Change a subscription item feature',
    description:
      'Only what is sent changes. Its type, feature and item are fixed. An expiredAt of null gives the feature back.',
    tag,
    params,
    body: z.object({ subscriptionItemFeature: ItemFeatureChange }),
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'subscriptionItemFeatureNotFound',
      'idMismatch',
      'usageMeterNotFound',
      'resourceNotFound',
      'productFeatureNotFound',
      'itemFeatureExists',
    ],
    handle: async (work, { params: { id }, body }) => ({
      subscriptionItemFeature: await updateItemFeature(work, id, body.subscriptionItemFeature),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscription-item-features/{id}/expire',
    summary: 'End a subscription item feature',
    description:
      'At expiredAt, or now. Claims and credits that it gave stay. The answer spells instants as ISO 8601 texts.',
    tag,
    params,
    body: z.object({ expiredAt: TimestampInput.optional() }),
    returns: z.object({ subscriptionItemFeature: ExpiredItemFeature }),
    refuses: ['subscriptionItemFeatureNotFound'],
    handle: async (work, { params: { id }, body }) => ({
      subscriptionItemFeature: await expireItemFeature(work, id, body.expiredAt),
    }),
  }),
];
