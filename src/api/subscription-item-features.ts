import { z } from 'zod';
import { createItemFeature, expireItemFeature, updateItemFeature } from '../billing/grant-by-hand.ts';
import { getItemFeature } from '../entitlements/actions.ts';
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
    cell: 'id',
    needs: 'subscription-item-features:write',
    summary: 'Add a feature to a subscription item',
    description:
      'Grants a feature through one item of a subscription. Fields that are left out are copied from the ' +
      'feature. If the item has the feature already, the request is refused with 409.',
    tag,
    body: z.object({ subscriptionItemFeature: NewItemFeature }),
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'tooManyRecords',
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
    cell: 'id',
    needs: 'subscription-item-features:read',
    summary: 'Get a subscription item feature',
    description: 'Returns one feature of a subscription item.',
    tag,
    params,
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: ['subscriptionItemFeatureNotFound'],
    handle: async (work, { params: { id } }) => ({ subscriptionItemFeature: await getItemFeature(work, id) }),
  }),
  route({
    method: 'PUT',
    path: '/subscription-item-features/{id}',
    cell: 'id',
    needs: 'subscription-item-features:write',
    summary: 'Update a subscription item feature',
    description:
      'Changes the fields that are sent; type, feature and item are fixed. An `expiredAt` of `null` restores a ' +
      'feature that has ended.',
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
    cell: 'id',
    needs: 'subscription-item-features:write',
    summary: 'End a subscription item feature',
    description:
      'Ends the feature now or at `expiredAt`. The claims and credits that it granted stay. Instants of the ' +
      'answer are ISO 8601 text.',
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
