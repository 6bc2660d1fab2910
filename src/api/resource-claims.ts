import { z } from 'zod';
import { claimResource, getUsage, listClaims, listUsages, releaseResource } from '../entitlements/actions-claims.ts';
import {
  ClaimsQuery,
  ClaimsToRelease,
  NewClaims,
  OneResource,
  ResourceClaim,
  ResourceUsage,
  SeveralResources,
  TemporaryClaims,
} from '../entitlements/resource-claim.ts';
import { route } from '../http/route.ts';
import { largeLimits } from '../kernel/json-weight.ts';
import { longPageFields } from '../kernel/pagination.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';

const tag = 'Resource claims';

const params = z.object({ subscriptionId: SubscriptionId });

const UsageWithClaims = z.object({
  usage: ResourceUsage,
  claims: z.array(ResourceClaim).meta({ description: 'The oldest active claims, at most 1,000 in the answer.' }),
  hasMore: z.boolean().meta({ description: 'Whether there are more claims, which the list of claims has.' }),
});

export const resourceClaimRoutes = [
  route({
    method: 'POST',
    path: '/resource-claims/{subscriptionId}/claim',
    cell: 'id',
    needs: 'resource-claims:write',
    summary: 'Claim units of a resource',
    description:
      'Claims units by number or by name, all of them or none. Beyond the capacity of the subscription the ' +
      'request is refused with 400. A name that is already claimed is returned unchanged, even at full ' +
      'capacity. While a cancellation or a lower capacity is scheduled, affected new claims end with it.',
    tag,
    params,
    body: NewClaims,
    bodyLimits: largeLimits,
    returns: z.object({
      claims: z.array(ResourceClaim),
      usage: ResourceUsage,
      temporaryClaims: TemporaryClaims.nullable().meta({ description: 'The claims that end by themselves.' }),
    }),
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionPaused',
      'subscriptionUnpaid',
      'resourceNotFound',
      'resourceFeatureMissing',
      'resourceInactive',
      'capacityExhausted',
      'tooManyClaims',
      'claimsFull',
    ],
    handle: (work, { params: { subscriptionId }, body }) => claimResource(work, subscriptionId, body),
  }),
  route({
    method: 'GET',
    path: '/resource-claims/{subscriptionId}/claims',
    cell: 'id',
    needs: 'resource-claims:read',
    summary: 'List the claims of a subscription',
    description:
      'Returns the active claims of a subscription, optionally of one resource, oldest first. The first page holds ' +
      'up to 1,000.',
    tag,
    params,
    query: ClaimsQuery,
    returns: z.object({ claims: z.array(ResourceClaim), ...longPageFields }),
    refuses: ['subscriptionNotFound', 'resourceNotFound', 'invalidCursor'],
    handle: (work, { params: { subscriptionId }, query }) => listClaims(work, subscriptionId, query),
  }),
  route({
    method: 'POST',
    path: '/resource-claims/{subscriptionId}/release',
    cell: 'id',
    needs: 'resource-claims:write',
    summary: 'Release claims of a resource',
    description:
      'Releases claims by id, name or number, all of them or none. A number takes the oldest unnamed claims. If ' +
      'too few are unnamed, the request is refused with 400.',
    tag,
    params,
    body: ClaimsToRelease,
    bodyLimits: largeLimits,
    returns: z.object({ releasedClaims: z.array(ResourceClaim), usage: ResourceUsage }),
    refuses: ['subscriptionNotFound', 'resourceNotFound', 'resourceClaimNotFound', 'tooFewClaims', 'tooManyClaims'],
    handle: (work, { params: { subscriptionId }, body }) => releaseResource(work, subscriptionId, body),
  }),
  route({
    method: 'GET',
    path: '/resource-claims/{subscriptionId}/usage',
    cell: 'id',
    needs: 'resource-claims:read',
    summary: 'Get the usage of a resource',
    description: 'Returns the capacity, the claims and the free units of one resource of a subscription.',
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
    cell: 'id',
    needs: 'resource-claims:read',
    summary: 'List the usage of resources',
    description:
      'Returns the capacity and claims of each resource that a feature of the subscription is or was about. ' +
      'Slugs narrow the list, or else ids.',
    tag,
    params,
    query: SeveralResources,
    returns: z.array(UsageWithClaims),
    refuses: ['subscriptionNotFound'],
    handle: (work, { params: { subscriptionId }, query }) => listUsages(work, subscriptionId, query),
  }),
];
