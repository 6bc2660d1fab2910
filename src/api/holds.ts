import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import { route } from '../http/route.ts';
import { countInput } from '../kernel/json.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getHold, listHolds, releaseHold, settleHold, takeHold } from '../usage/actions-holds.ts';
import { UsageBalance, UsageEvent } from '../usage/usage-event.ts';
import { HoldStatus, maxOpenHolds, NewHold, UsageHold, UsageHoldId } from '../usage/usage-hold.ts';

const tag = 'Holds';

const params = z.object({ id: UsageHoldId });

const refusedUses = ['subscriptionNotFound', 'subscriptionTerminal', 'customerArchived', 'priceNotFound'] as const;

export const holdRoutes = [
  route({
    method: 'POST',
    path: '/holds',
    cell: 'customer',
    needs: 'holds:write',
    summary: 'Hold units',
    description:
      'Reserves units before a long job if the balance covers them, exactly under any number of parallel ' +
      'requests. Otherwise the answer is 402 with the balance. The balance stays lower until the hold is ' +
      'settled, released or expires, also in later billing periods. Credits that expire meanwhile are not kept. ' +
      `A subscription has at most ${maxOpenHolds} open holds on a meter.`,
    tag,
    body: z.object({ hold: NewHold }),
    returns: z.object({ hold: UsageHold, usageBalance: UsageBalance }),
    refuses: [
      ...refusedUses,
      'customerNotFound',
      'noCurrentSubscription',
      'severalCurrentSubscriptions',
      'usageMeterNotFound',
      'subscriptionUnpaid',
      'insufficientBalance',
      'spendLimitReached',
      'tooManyHolds',
    ],
    handle: (work, { body }) => takeHold(work, body.hold, catchUpAll),
  }),
  route({
    method: 'GET',
    path: '/holds/{id}',
    cell: 'id',
    needs: 'holds:read',
    summary: 'Get a hold',
    description: 'Returns one hold with its amount, expiry and status.',
    tag,
    params,
    returns: z.object({ hold: UsageHold }),
    refuses: ['holdNotFound'],
    handle: async (work, { params: { id } }) => ({ hold: await getHold(work, id) }),
  }),
  route({
    method: 'GET',
    path: '/holds',
    cell: 'all',
    merged: 'asc',
    needs: 'holds:read',
    summary: 'List holds',
    description: 'Returns the holds of the environment, optionally of one subscription, usage meter or status.',
    tag,
    query: pageQuery({
      ...customerFilters,
      subscriptionId: textFilter,
      usageMeterId: textFilter,
      status: HoldStatus.optional(),
      ...createdFilters,
    }),
    returns: pageOf(UsageHold),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listHolds(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/holds/{id}/settle',
    cell: 'id',
    needs: 'holds:write',
    summary: 'Settle a hold',
    description:
      'Releases the hold and records the units used, with the id of the hold as `transactionId`. An amount of 0 ' +
      'records nothing. The amount may exceed the hold, and an expired hold can still be settled. A repeat with ' +
      'the same amount is answered as the first; another amount is refused with 409. Once the subscription has ' +
      'ended, a hold can only be released.',
    tag,
    params,
    body: z.object({ amount: countInput(0).meta({ description: 'The number of units used, 0 or more.' }) }),
    returns: z.object({ hold: UsageHold, usageEvent: UsageEvent.nullable(), usageBalance: UsageBalance }),
    refuses: ['holdNotFound', 'holdSettled', 'holdReleased', 'holdTransactionTaken', ...refusedUses],
    handle: (work, { params: { id }, body }) => settleHold(work, id, body.amount, catchUpAll),
  }),
  route({
    method: 'POST',
    path: '/holds/{id}/release',
    cell: 'id',
    needs: 'holds:write',
    summary: 'Release a hold',
    description:
      'Frees the held units without recording any use. A repeat is answered as the first. A released hold ' +
      'cannot be settled later.',
    tag,
    params,
    returns: z.object({ hold: UsageHold, usageBalance: UsageBalance }),
    refuses: ['holdNotFound', 'holdSettled'],
    handle: (work, { params: { id } }) => releaseHold(work, id),
  }),
];
