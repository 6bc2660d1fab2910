import { z } from 'zod';
import { route } from '../http/route.ts';
import { createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createCreditPool, getCreditPool, listCreditPools, updateCreditPool } from '../pricing/actions-credit-pools.ts';
import { CreditPool, CreditPoolChange, CreditPoolId, CreditPoolInput } from '../pricing/credit-pool.ts';

const tag = 'Credit pools';
const returns = z.object({ creditPool: CreditPool });

export const creditPoolRoutes = [
  route({
    method: 'POST',
    path: '/credit-pools',
    cell: 'home',
    needs: 'credit-pools:catalog',
    summary: 'Create a credit pool',
    description:
      'Creates a pool of credits that the usage of several meters draws from. Usage is paid for by the credits of its ' +
      'meter first, then by the pool that has the rate that its properties match best. What neither covers is overage.',
    tag,
    body: z.object({ creditPool: CreditPoolInput }),
    returns,
    refuses: [
      'tooManyRecords',
      'pricingModelNotFound',
      'defaultPricingModelNotFound',
      'slugTaken',
      'usageMeterNotFound',
    ],
    handle: async (work, { body }) => ({ creditPool: await createCreditPool(work, body.creditPool) }),
  }),
  route({
    method: 'GET',
    path: '/credit-pools',
    cell: 'home',
    needs: 'credit-pools:read',
    summary: 'List credit pools',
    description: 'Returns the credit pools of the environment, or of one pricing model, with their rates.',
    tag,
    query: pageQuery({ pricingModelId: textFilter, slug: textFilter, ...createdFilters }),
    returns: pageOf(CreditPool),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCreditPools(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/credit-pools/{id}',
    cell: 'home',
    needs: 'credit-pools:read',
    summary: 'Get a credit pool',
    description: 'Returns one credit pool with its rates.',
    tag,
    params: z.object({ id: CreditPoolId }),
    returns,
    refuses: ['creditPoolNotFound'],
    handle: async (work, { params }) => ({ creditPool: await getCreditPool(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/credit-pools/{id}',
    cell: 'home',
    needs: 'credit-pools:catalog',
    summary: 'Update a credit pool',
    description:
      'Changes the fields that are sent. `rates` take the place of all rates, for usage from now on: what was drawn ' +
      'before keeps the rate that it was drawn at. The unit cannot change.',
    tag,
    params: z.object({ id: CreditPoolId }),
    body: z.object({ creditPool: CreditPoolChange }),
    returns,
    refuses: ['tooManyRecords', 'creditPoolNotFound', 'idMismatch', 'slugTaken', 'usageMeterNotFound'],
    handle: async (work, { params, body }) => ({
      creditPool: await updateCreditPool(work, params.id, body.creditPool),
    }),
  }),
];
