import { z } from 'zod';
import { TimestampQuery } from '../kernel/json.ts';
import { instantFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { readLedger } from './actions-ledger.ts';
import { LedgerBalance, LedgerEntry } from './ledger-entry.ts';

export const ledgerEntryRoutes = [
  route({
    method: 'GET',
    path: '/customers/{externalId}/ledger',
    summary: 'List the ledger entries of a customer',
    description:
      'What changed the balances of its subscriptions, in the order in which it was booked; of each use, which grants it drew from. `balances` are those of all the accounts that are asked about: now, or as of the past instant `asOf`, up to which entries are listed then.',
    tag: 'Customers',
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: pageQuery({
      subscriptionId: textFilter,
      usageMeterId: textFilter,
      usageMeterSlug: textFilter,
      pricingModelId: textFilter,
      asOf: instantFilter.meta({ description: 'A past instant: epoch milliseconds or an ISO 8601 date-time.' }),
    }),
    returns: pageOf(LedgerEntry).extend({ balances: z.array(LedgerBalance) }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'usageMeterNotFound', 'externalIdAmbiguous', 'invalidCursor'],
    handle: (work, { params: { externalId }, query }) => {
      const { pricingModelId, subscriptionId, usageMeterId, usageMeterSlug } = query;
      const asOf = query.asOf === undefined ? undefined : TimestampQuery.parse(query.asOf);
      const ask = { externalId, pricingModelId, subscriptionId, usageMeterId, usageMeterSlug, asOf };
      return readLedger(work, ask, pageRequest(query));
    },
  }),
];
