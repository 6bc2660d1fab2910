import { listCustomersById } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { Settings } from '../organizations/setting.ts';
import type { TaxQuote } from './invoice.ts';
import * as store from './store-tax-rates.ts';
import {
  decideTax,
  decideTaxRateChange,
  type TaxRate,
  type TaxRateChange,
  type TaxRateInput,
  type TaxRateRow,
  taxPlace,
} from './tax.ts';

/** Says what tax customers owe on an invoice of now. Who owes none is not in the answer. Waits for nothing outside. */
export interface TaxProvider {
  quote(work: Work, customerIds: readonly string[]): Promise<Map<string, TaxQuote>>;
}

const providers: Readonly<Record<Settings['taxProvider'], TaxProvider>> = {
  none: { quote: async () => new Map() },
  rates: { quote: quoteByRates },
};

/**
 * The tax that each of the customers owes on an invoice of now, by the tax provider that the environment's settings
 * name. A customer that owes none, because it is exempt or because nothing is known of its place, is not in the answer.
 * Two statements at the most, however many customers.
 */
export async function quoteTaxes(
  work: Work,
  { taxProvider }: Pick<Settings, 'taxProvider'>,
  customerIds: readonly string[],
): Promise<Map<string, TaxQuote>> {
  if (customerIds.length === 0) return new Map();
  return providers[taxProvider].quote(work, customerIds);
}

/** By the environment's own table of rates, and the place of each customer's billing address. */
async function quoteByRates(work: Work, customerIds: readonly string[]): Promise<Map<string, TaxQuote>> {
  const customers = await listCustomersById(work, customerIds);
  const places = customers.flatMap((customer) => {
    const place = taxPlace(customer);
    return place === null ? [] : [{ customerId: customer.id, ...place }];
  });
  const countries = [...new Set(places.map(({ country }) => country))];
  if (countries.length === 0) return new Map();
  const states = [...new Set(places.flatMap(({ state }) => state ?? []))];
  const rates = await store.listActiveRates(work, countries, states);
  return new Map(
    places.flatMap(({ customerId, ...place }): [string, TaxQuote][] => {
      const quote = decideTax(place, rates);
      return quote === null ? [] : [[customerId, quote]];
    }),
  );
}

function render(work: Work, row: TaxRateRow): TaxRate {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/** Taxes are the environment's, not a pricing model's. */
function refusePinnedKey(work: Work): void {
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
}

/** Makes a tax rate. Refuses with `taxRateExists` a second active one for one place. */
export async function createTaxRate(work: Work, { state, name, ...asked }: TaxRateInput): Promise<TaxRate> {
  refusePinnedKey(work);
  const row: TaxRateRow = {
    id: newId('taxRate'),
    createdAt: work.now,
    updatedAt: work.now,
    ...asked,
    state: state ?? null,
    name: name ?? null,
  };
  await store.insertTaxRate(work, row);
  return render(work, row);
}

export async function getTaxRate(work: Work, id: string): Promise<TaxRate> {
  const row = await store.findTaxRate(work, id);
  if (row === null) throw new Problem('taxRateNotFound', { id });
  return render(work, row);
}

/** The environment's tax rates, active or not. */
export async function listTaxRates(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfTaxRates(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

/** Changes a tax rate for the invoices to come. Refuses with `taxRateExists` a second active one for one place. */
export async function updateTaxRate(work: Work, id: string, change: TaxRateChange): Promise<TaxRate> {
  refusePinnedKey(work);
  if (change.id !== undefined && change.id !== id) throw new Problem('idMismatch', { bodyId: change.id, pathId: id });
  const current = await store.lockTaxRate(work, id);
  if (current === null) throw new Problem('taxRateNotFound', { id });
  const row = { ...decideTaxRateChange(current, change), updatedAt: work.now };
  await store.saveTaxRate(work, row);
  return render(work, row);
}

/** Deletes a tax rate, and answers it as it was. */
export async function deleteTaxRate(work: Work, id: string): Promise<TaxRate> {
  refusePinnedKey(work);
  const row = await store.deleteTaxRate(work, id);
  if (row === null) throw new Problem('taxRateNotFound', { id });
  return render(work, row);
}
