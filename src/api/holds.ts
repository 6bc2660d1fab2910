import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import { route } from '../http/route.ts';
import { countInput } from '../kernel/json.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getHold, listHolds, releaseHold, settleHold, takeHold } from '../usage/actions-holds.ts';
import { NewHold } from '../usage/new-hold.ts';
import { UsageBalance, UsageEvent } from '../usage/usage-event.ts';
import { HoldStatus, maxOpenHolds, UsageHold, UsageHoldId } from '../usage/usage-hold.ts';

const tag = 'Holds';

const params = z.object({ id: UsageHoldId });

const refusedUses = ['subscriptionNotFound', 'subscriptionTerminal', 'customerArchived', 'priceNotFound'] as const;

export const holdRoutes = [
  route({
    method: 'POST',
    path: '/holds',
    summary: 'Hold units for a job',
    description: `Sets units aside before a job that takes time, only if the balance covers them: of many who ask at once, as many succeed as it covers. Answers the hold and the balance that is left, or 402 with the balance, and then nothing is held. The balance stays lower until the hold is settled, released or expires, also into the next billing period. Credits that end meanwhile are gone: what counts is what can be used when the hold is settled. At most ${maxOpenHolds} of a subscription and usage meter are open at a time.`,
    tag,
    body: z.object({ hold: NewHold }),
    returns: z.object({ hold: UsageHold, usageBalance: UsageBalance }),
    refuses: [...refusedUses, 'usageMeterNotFound', 'insufficientBalance', 'tooManyHolds'],
    handle: (work, { body }) => takeHold(work, body.hold, catchUpAll),
  }),
  route({
    method: 'GET',
    path: '/holds/{id}',
    summary: 'Get a hold',
    tag,
    params,
    returns: z.object({ hold: UsageHold }),
    refuses: ['holdNotFound'],
    handle: async (work, { params: { id } }) => ({ hold: await getHold(work, id) }),
  }),
  route({
    method: 'GET',
    path: '/holds',
    summary: 'List the holds',
    tag,
    query: pageQuery({ subscriptionId: textFilter, usageMeterId: textFilter, status: HoldStatus.optional() }),
    returns: pageOf(UsageHold),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listHolds(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/holds/{id}/settle',
    summary: 'Settle a hold with what was used',
    description:
      "Releases the hold and records a usage event of the amount in one step; with 0, none. The event's transactionId is the id of the hold. The amount may be more than was held, and a hold that has expired is settled too: the use was real, only what was set aside for it was free again. A repeat with the same amount is answered as the first. Once the subscription has ended no use is recorded any more, and the hold can only be released.",
    tag,
    params,
    body: z.object({ amount: countInput(0).meta({ description: 'What was used: 0 or more.' }) }),
    returns: z.object({ hold: UsageHold, usageEvent: UsageEvent.nullable(), usageBalance: UsageBalance }),
    refuses: ['holdNotFound', 'holdSettled', 'holdReleased', 'holdTransactionTaken', ...refusedUses],
    handle: (work, { params: { id }, body }) => settleHold(work, id, body.amount, catchUpAll),
  }),
  route({
    method: 'POST',
    path: '/holds/{id}/release',
    summary: 'Release a hold of which nothing was used',
    description: 'A repeat is answered as the first. A hold that was released cannot be settled any more.',
    tag,
    params,
    returns: z.object({ hold: UsageHold, usageBalance: UsageBalance }),
    refuses: ['holdNotFound', 'holdSettled'],
    handle: (work, { params: { id } }) => releaseHold(work, id),
  }),
];
