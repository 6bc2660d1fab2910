import { z } from 'zod';
import { claimResource, getUsage, listClaims, listUsages, releaseResource } from '../entitlements/actions-claims.ts';
import {
  ClaimsToRelease,
  NewClaims,
  OneResource,
  ResourceClaim,
  ResourceUsage,
  SeveralResources,
  TemporaryClaims,
} from '../entitlements/resource-claim.ts';
import { route } from '../http/route.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';

const tag = 'Resource claims';

const params = z.object({ subscriptionId: SubscriptionId });

const UsageWithClaims = z.object({ usage: ResourceUsage, claims: z.array(ResourceClaim) });

export const resourceClaimRoutes = [
  route({
    method: 'POST',
    path: '/resource-claims/{subscriptionId}/claim',
    summary: 'Claim a resource',
    description:
      'All or nothing. A name (externalId) that is held already is answered unchanged, at full capacity too. While the ' +
      'subscription is to be canceled, new claims end with it (expiredAt). While a change to a lower capacity is ' +
      'scheduled, new claims that will not fit end with the change.',
    tag,
    params,
    body: NewClaims,
    returns: z.object({
      claims: z.array(ResourceClaim),
      usage: ResourceUsage,
      temporaryClaims: TemporaryClaims.nullable().meta({ description: 'Those of the claims that end by themselves.' }),
    }),
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionPaused',
      'resourceNotFound',
      'resourceFeatureMissing',
      'resourceInactive',
      'capacityExceeded',
      'tooManyClaims',
    ],
    handle: (work, { params: { subscriptionId }, body }) => claimResource(work, subscriptionId, body),
  }),
  route({
    method: 'GET',
    path: '/resource-claims/{subscriptionId}/claims',
    summary: 'List the active claims of a subscription',
    tag,
    params,
    query: z.object({ resourceSlug: z.string().max(255).optional() }),
    returns: z.object({ claims: z.array(ResourceClaim) }),
    refuses: ['subscriptionNotFound', 'resourceNotFound'],
    handle: async (work, { params: { subscriptionId }, query }) => ({
      claims: await listClaims(work, subscriptionId, query.resourceSlug),
    }),
  }),
  route({
    method: 'POST',
    path: '/resource-claims/{subscriptionId}/release',
    summary: 'Release claims of a resource',
    description: 'All or nothing. A quantity takes the oldest claims without a name.',
    tag,
    params,
    body: ClaimsToRelease,
    returns: z.object({ releasedClaims: z.array(ResourceClaim), usage: ResourceUsage }),
    refuses: ['subscriptionNotFound', 'resourceNotFound', 'resourceClaimNotFound', 'tooFewClaims', 'tooManyClaims'],
    handle: (work, { params: { subscriptionId }, body }) => releaseResource(work, subscriptionId, body),
  }),
  route({
    method: 'GET',
    path: '/resource-claims/{subscriptionId}/usage',
    summary: 'Get the usage of one resource',
    tag,
    params,
    query: OneResource,
    returns: UsageWithClaims,
    refuses: ['subscriptionNotFound', 'resourceNotFound'],
    handle: (work, { params: { subscriptionId }, query }) => getUsage(work, subscriptionId, query),
  }),
  route({
    method: 'GET',
    path: '/resource-claims/{subscriptionId}/usages',
    summary: 'List the usage of the resources of a subscription',
    description:
      'Of every resource that a feature of the subscription is or was about; narrowed by slugs, else by ids.',
    tag,
    params,
    query: SeveralResources,
    returns: z.array(UsageWithClaims),
    refuses: ['subscriptionNotFound'],
    handle: (work, { params: { subscriptionId }, query }) => listUsages(work, subscriptionId, query),
  }),
];
