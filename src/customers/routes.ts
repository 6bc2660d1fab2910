import { z } from 'zod';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { listCustomers, renderCustomer, requireCustomerByExternalId, updateCustomer } from './actions.ts';
import { Customer, CustomerChange, ExternalId } from './customer.ts';

const tag = 'Customers';

/** How a path names a customer: by the caller's own id, and by the pricing model where several have that id. */
const externalIdParams = z.object({ externalId: ExternalId });
const pricingModelQuery = z.object({
  pricingModelId: textFilter.meta({ description: 'Needed only when several pricing models have this external id.' }),
});

export const customerRoutes = [
  route({
    method: 'GET',
    path: '/customers',
    summary: 'List the customers',
    tag,
    query: pageQuery({
      email: textFilter,
      externalId: textFilter,
      pricingModelId: textFilter,
      archived: booleanFilter,
    }),
    returns: pageOf(Customer),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCustomers(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}',
    summary: 'Get a customer by its external id',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query }) => ({
      customer: renderCustomer(work, await requireCustomerByExternalId(work, params.externalId, query.pricingModelId)),
    }),
  }),
  route({
    method: 'PUT',
    path: '/customers/{externalId}',
    summary: 'Update a customer',
    description: 'Fields that are absent stay as they are. The external id does not change.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    body: z.object({ customer: CustomerChange }),
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query, body }) => ({
      customer: renderCustomer(
        work,
        await updateCustomer(work, params.externalId, query.pricingModelId, body.customer),
      ),
    }),
  }),
];
