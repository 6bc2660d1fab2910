import { z } from 'zod';
import { route } from '../http/route.ts';
import { createTaxRate, deleteTaxRate, getTaxRate, listTaxRates, updateTaxRate } from '../invoicing/actions-tax.ts';
import { TaxRate, TaxRateChange, TaxRateId, TaxRateInput } from '../invoicing/tax.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Tax rates';

const params = z.object({ id: TaxRateId });

const returns = z.object({ taxRate: TaxRate });

export const taxRateRoutes = [
  route({
    method: 'POST',
    path: '/tax-rates',
    cell: 'home',
    needs: 'tax-rates:money',
    summary: 'Create a tax rate',
    description:
      'Creates a tax rate for a country or one of its states, which takes precedence. It applies while the ' +
      'setting `taxProvider` is `rates`. A second active rate for the same place is refused with 409.',
    tag,
    body: z.object({ taxRate: TaxRateInput }),
    returns,
    refuses: ['taxRateExists', 'outsidePinnedPricingModel'],
    handle: async (work, { body }) => ({ taxRate: await createTaxRate(work, body.taxRate) }),
  }),
  route({
    method: 'GET',
    path: '/tax-rates',
    cell: 'home',
    needs: 'tax-rates:read',
    summary: 'List tax rates',
    description: 'Returns the tax rates of the environment.',
    tag,
    query: pageQuery({
      country: textFilter,
      state: textFilter,
      type: textFilter,
      active: booleanFilter,
      ...createdFilters,
    }),
    returns: pageOf(TaxRate),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listTaxRates(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/tax-rates/{id}',
    cell: 'home',
    needs: 'tax-rates:read',
    summary: 'Get a tax rate',
    description: 'Returns one tax rate with its place and percentage.',
    tag,
    params,
    returns,
    refuses: ['taxRateNotFound'],
    handle: async (work, input) => ({ taxRate: await getTaxRate(work, input.params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/tax-rates/{id}',
    cell: 'home',
    needs: 'tax-rates:money',
    summary: 'Update a tax rate',
    description: 'Changes the fields that are sent. Existing invoices keep the rate with which they were created.',
    tag,
    params,
    body: z.object({ taxRate: TaxRateChange }),
    returns,
    refuses: ['taxRateNotFound', 'idMismatch', 'taxRateExists', 'outsidePinnedPricingModel'],
    handle: async (work, input) => ({ taxRate: await updateTaxRate(work, input.params.id, input.body.taxRate) }),
  }),
  route({
    method: 'DELETE',
    path: '/tax-rates/{id}',
    cell: 'home',
    needs: 'tax-rates:money',
    summary: 'Delete a tax rate',
    description:
      'Deletes a tax rate and returns it as it was. Existing invoices keep the rate with which they were ' + 'created.',
    tag,
    params,
    returns,
    refuses: ['taxRateNotFound', 'outsidePinnedPricingModel'],
    handle: async (work, input) => ({ taxRate: await deleteTaxRate(work, input.params.id) }),
  }),
];
