import { z } from 'zod';
import { route } from '../http/route.ts';
import { createTaxRate, deleteTaxRate, getTaxRate, listTaxRates, updateTaxRate } from '../invoicing/actions-tax.ts';
import { TaxRate, TaxRateChange, TaxRateId, TaxRateInput } from '../invoicing/tax.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Tax rates';

const params = z.object({ id: TaxRateId });

const returns = z.object({ taxRate: TaxRate });

export const taxRateRoutes = [
  route({
    method: 'POST',
    path: '/tax-rates',
    summary: 'Create a tax rate',
    description:
      'Counts where the settings say taxProvider "rates". The rate of a state goes before that of its country.',
    tag,
    body: z.object({ taxRate: TaxRateInput }),
    returns,
    refuses: ['taxRateExists', 'outsidePinnedPricingModel'],
    handle: async (work, { body }) => ({ taxRate: await createTaxRate(work, body.taxRate) }),
  }),
  route({
    method: 'GET',
    path: '/tax-rates',
    summary: 'List the tax rates',
    tag,
    query: pageQuery({ country: textFilter, state: textFilter, type: textFilter, active: booleanFilter }),
    returns: pageOf(TaxRate),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listTaxRates(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/tax-rates/{id}',
    summary: 'Get a tax rate',
    tag,
    params,
    returns,
    refuses: ['taxRateNotFound'],
    handle: async (work, input) => ({ taxRate: await getTaxRate(work, input.params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/tax-rates/{id}',
    summary: 'Update a tax rate',
    description: 'Fields that are absent stay as they are. Invoices keep the rate that they were made with.',
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
    summary: 'Delete a tax rate',
    description: 'Invoices keep the rate that they were made with. Answers the tax rate as it was.',
    tag,
    params,
    returns,
    refuses: ['taxRateNotFound', 'outsidePinnedPricingModel'],
    handle: async (work, input) => ({ taxRate: await deleteTaxRate(work, input.params.id) }),
  }),
];
