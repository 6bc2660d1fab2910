import { type Catalog, find, type List, lists, type RecordOf, recordsIn, slugOf } from './draft.ts';

/**
 * A file as a draft of a catalog: an export, or the body of a setup. Records that the file lacks end. Usage meters, credit pools and
 * the default plan stay, because nothing can end them. The default flag stays as it is.
 */
export function readCatalog(text: string, base: Catalog): { readonly catalog: Catalog } | { readonly problem: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { problem: `It is no JSON: ${(error as Error).message}` };
  }
  const body = (parsed as { pricingModel?: unknown } | null)?.pricingModel ?? parsed;
  if (typeof body !== 'object' || body === null || !('name' in body) || typeof body.name !== 'string')
    return { problem: 'It is no export of a pricing model: it has no name.' };
  const given = body as Partial<Catalog> & { name: string };
  for (const list of lists) {
    if (given[list] !== undefined && !Array.isArray(given[list])) return { problem: `${list} has to be a list.` };
  }
  const read = { ...base, name: given.name };
  const filled = Object.fromEntries(
    lists.flatMap((list) => {
      const records = recordsOf(list, given, base);
      return list === 'creditPools' && records.length === 0 ? [] : [[list, records]];
    }),
  );
  return { catalog: { ...read, ...filled } };
}

function recordsOf<L extends List>(list: L, given: Partial<Catalog>, base: Catalog): RecordOf<L>[] {
  const records = (given[list] ?? []) as RecordOf<L>[];
  const read = records.map((record) => {
    const whole = completed(list, record);
    return list === 'products' ? (asDefaultOf(base, whole as RecordOf<'products'>) as RecordOf<L>) : whole;
  });
  const whole = { ...base, [list]: read } as Catalog;
  const missing = recordsIn(base, list).filter((record) => find(whole, list, slugOf(list, record)) === undefined);
  return [...(whole[list] as RecordOf<L>[]), ...missing.map((record) => ended(list, record))];
}

const fixedTerms = { isDefault: true, active: true, usageMeterId: null, usageEventsPerUnit: null, unitPrice: 0 };
const usageTerms = {
  type: 'usage',
  unitPrice: 0,
  usageEventsPerUnit: 1,
  trialPeriodDays: null,
  isDefault: false,
  active: true,
};

/** A record with the fields that an export always has, which a file written by hand may leave out. */
function completed<L extends List>(list: L, record: RecordOf<L>): RecordOf<L> {
  const filled = (defaults: object, given: object | undefined) => Object.assign({}, defaults, given);
  if (list === 'products') {
    const { product, price, features } = record as Partial<RecordOf<'products'>>;
    const interval = { intervalCount: 1, trialPeriodDays: null, overage: product?.default ? 'none' : 'bill' };
    const terms = price?.type === 'subscription' ? { ...fixedTerms, ...interval } : fixedTerms;
    const named = filled({ name: '', slug: '', default: false, active: true }, product);
    return { product: named, price: filled(terms, price), features: features ?? [] } as unknown as RecordOf<L>;
  }
  if (list === 'usageMeters') {
    const { usageMeter, prices = [] } = record as Partial<RecordOf<'usageMeters'>>;
    const meter = filled({ name: '', slug: '', aggregationType: 'sum' }, usageMeter);
    return { usageMeter: meter, prices: prices.map((price) => filled(usageTerms, price)) } as unknown as RecordOf<L>;
  }
  if (list === 'creditPools') {
    const rates = recordsOfRates((record as Partial<RecordOf<'creditPools'>>).rates);
    return filled({ name: '', slug: '', unit: 'credit' }, { ...record, rates }) as RecordOf<L>;
  }
  return filled({ ...(list === 'features' && { description: '' }), active: true }, record) as RecordOf<L>;
}

function recordsOfRates(rates: RecordOf<'creditPools'>['rates'] = []) {
  return rates.map(({ where, per = 1, ...rate }) => ({ ...rate, per, ...(where && { where }) }));
}

/** The default plan of a file under another slug is the one that is there: it keeps its slug and its price. */
function asDefaultOf(base: Catalog, record: RecordOf<'products'>): RecordOf<'products'> {
  const standing = base.products.find(({ product }) => product.default);
  if (!record.product.default || standing === undefined) return record;
  const { name, slug: _, ...texts } = record.product;
  const product = { ...standing.product, name, ...(texts.description && { description: texts.description }) };
  return { ...standing, product, features: record.features };
}

function ended<L extends List>(list: L, record: RecordOf<L>): RecordOf<L> {
  if (list === 'usageMeters' || list === 'creditPools') return record;
  if (list !== 'products') return { ...record, active: false };
  const each = record as RecordOf<'products'>;
  if (each.product.default) return record;
  return { ...each, product: { ...each.product, active: false } } as RecordOf<L>;
}
