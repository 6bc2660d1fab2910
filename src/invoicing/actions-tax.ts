import type { CustomerRow } from '../customers/customer.ts';
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

/**
 * Determines the tax of customers on a current invoice. Customers without tax are missing in the result. Makes no
 * external calls.
 */
interface TaxProvider {
  quote(work: Work, customerIds: readonly string[], known: readonly CustomerRow[]): Promise<Map<string, TaxQuote>>;
}

const providers: Readonly<Record<Settings['taxProvider'], TaxProvider>> = {
  none: { quote: async () => new Map() },
  rates: { quote: quoteByRates },
};

/**
 * The tax of each customer on a current invoice, from the tax provider in the settings. Customers without tax, because
 * they are exempt or their address is unknown, are missing in the result. At most two statements for any number of
 * customers. Customers in `known` count as they are there: a quote knows an address that is not stored yet.
 */
export async function quoteTaxes(
  work: Work,
  { taxProvider }: Pick<Settings, 'taxProvider'>,
  customerIds: readonly string[],
  known: readonly CustomerRow[] = [],
): Promise<Map<string, TaxQuote>> {
  if (customerIds.length === 0) return new Map();
  return providers[taxProvider].quote(work, customerIds, known);
}

/** By the environment's own tax rates and each customer's billing address. */
async function quoteByRates(
  work: Work,
  customerIds: readonly string[],
  known: readonly CustomerRow[],
): Promise<Map<string, TaxQuote>> {
  const given = new Set(known.map(({ id }) => id));
  const others = customerIds.filter((id) => !given.has(id));
  const customers = [...known, ...(others.length === 0 ? [] : await listCustomersById(work, others))];
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

/** Tax rates belong to the environment, not to a pricing model. */
function refusePinnedKey(work: Work): void {
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
}

/** Creates a tax rate. Refuses with `taxRateExists` a second active one for the same place. */
export async function createTaxRate(work: Work, { state, name, ...requested }: TaxRateInput): Promise<TaxRate> {
  refusePinnedKey(work);
  const row: TaxRateRow = {
    id: newId('taxRate'),
    createdAt: work.now,
    updatedAt: work.now,
    ...requested,
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

/** Lists tax rates, inactive ones included. */
export async function listTaxRates(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfTaxRates(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

/** Changes a tax rate for future invoices. Refuses with `taxRateExists` a second active one for the same place. */
export async function updateTaxRate(work: Work, id: string, change: TaxRateChange): Promise<TaxRate> {
  refusePinnedKey(work);
  if (change.id !== undefined && change.id !== id) throw new Problem('idMismatch', { bodyId: change.id, pathId: id });
  const current = await store.lockTaxRate(work, id);
  if (current === null) throw new Problem('taxRateNotFound', { id });
  const row = { ...decideTaxRateChange(current, change), updatedAt: work.now };
  await store.saveTaxRate(work, row);
  return render(work, row);
}

/** Deletes a tax rate and returns its last values. */
export async function deleteTaxRate(work: Work, id: string): Promise<TaxRate> {
  refusePinnedKey(work);
  const row = await store.deleteTaxRate(work, id);
  if (row === null) throw new Problem('taxRateNotFound', { id });
  return render(work, row);
}
