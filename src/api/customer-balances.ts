import { z } from 'zod';
import { adjustBalance, getBalance, listBalanceEntries, listBalances } from '../customers/actions-balances.ts';
import {
  BalanceAdjustment,
  CustomerBalance,
  CustomerBalanceEntry,
  CustomerBalanceId,
} from '../customers/customer-balance.ts';
import { route } from '../http/route.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Customer balances';

const params = z.object({ id: CustomerBalanceId });

export const customerBalanceRoutes = [
  route({
    method: 'POST',
    path: '/customer-balances/adjust',
    cell: 'customer',
    needs: 'customer-balances:money',
    summary: 'Adjust the balance of a customer',
    description:
      'Adds money to the balance of a customer, or takes some off it, in the currency of the environment. The balance ' +
      'pays for the next invoices of periods and usage, oldest first, and `balanceApplied` on them says how much. Send ' +
      'an `Idempotency-Key`, so that a repeat is not booked twice.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: z.object({ adjustment: BalanceAdjustment }),
    returns: z.object({ customerBalance: CustomerBalance, customerBalanceEntry: CustomerBalanceEntry }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: (work, { query, body }) => adjustBalance(work, body.adjustment, query.pricingModelId),
  }),
  route({
    method: 'GET',
    path: '/customer-balances',
    cell: 'all',
    merged: 'asc',
    needs: 'customer-balances:read',
    summary: 'List the balances of customers',
    description: 'Returns the balances in money, optionally of one customer: one for each currency.',
    tag,
    query: pageQuery({ ...customerFilters, ...createdFilters }),
    returns: pageOf(CustomerBalance),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listBalances(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/customer-balances/{id}',
    cell: 'id',
    needs: 'customer-balances:read',
    summary: 'Get the balance of a customer',
    description: 'Returns one balance and what was added and taken.',
    tag,
    params,
    returns: z.object({ customerBalance: CustomerBalance }),
    refuses: ['customerBalanceNotFound'],
    handle: async (work, input) => ({ customerBalance: await getBalance(work, input.params.id) }),
  }),
  route({
    method: 'GET',
    path: '/customer-balances/{id}/entries',
    cell: 'id',
    needs: 'customer-balances:read',
    summary: 'List the entries of a balance',
    description: 'Returns the entries of a balance in the order in which they were booked.',
    tag,
    params,
    query: pageQuery({ source: textFilter, invoiceId: textFilter, ...createdFilters }),
    returns: pageOf(CustomerBalanceEntry),
    refuses: ['customerBalanceNotFound', 'invalidCursor'],
    handle: (work, input) => listBalanceEntries(work, input.params.id, pageRequest(input.query)),
  }),
];
