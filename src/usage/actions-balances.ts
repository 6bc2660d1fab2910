import assert from 'node:assert/strict';
import { LRUCache } from 'lru-cache';
import { findCustomerEvenArchived } from '../customers/store.ts';
import type { Database } from '../database/database.ts';
import type { KeyEntry, Work } from '../database/work.ts';
import type { BatchedOperation } from '../jobs/batcher.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { CreditPool } from '../pricing/credit-pool.ts';
import { listCreditPools } from '../pricing/store-credit-pools.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { isMeasured, type UsageMeter } from '../pricing/usage-meter.ts';
import type { UsageMeterBalance } from './ledger.ts';
import {
  type BalanceQuery,
  type CustomerBalances,
  listBalances,
  listBalancesAtOnce,
  listCustomerBalances,
  type SubscriptionBalances,
} from './store-balances.ts';
import {
  type CreditQuery,
  type CustomerCredits,
  countEntriesAfter,
  listCreditsAtOnce,
  listCustomerCredits,
  listPastCredits,
  readCredits,
} from './store-granted.ts';
import { type CreditBalance, toCreditBalance } from './usage-credit.ts';

/**
 * The balance of every usage meter available to the subscriptions: newest subscription first, then oldest meter first.
 */
export async function readBalances(work: Work, subscriptionIds: readonly string[]): Promise<UsageMeterBalance[]> {
  if (subscriptionIds.length === 0) return [];
  const rows = await listBalances(work, subscriptionIds);
  const meters = await ofCatalogs(rows, (ids) => listUsageMeters(work, ids), null);
  return withMeters(rows, meters).map(toUsageMeterBalance);
}

/** The remaining balance of a meter on an account. */
interface MeterBalance {
  readonly meter: UsageMeter;
  readonly subscriptionId: string;
  readonly availableBalance: bigint;
}

export function toUsageMeterBalance({ meter, ...rest }: MeterBalance): UsageMeterBalance {
  return { ...meter, ...rest };
}

// The few meters of a catalog are serialized again and again, so their JSON is cached.
const beginnings = new WeakMap<UsageMeter, string>();

// Each is read back, so the bound keeps an answer within a fraction of a second.
const maxEntriesReadBack = 100_000;

/**
 * The credits of a customer at a past instant on each usage meter that credits can be on, and in each credit pool, oldest
 * first. Archived customers are included, because history does not change.
 */
export async function readPastCredits(
  work: Work,
  { externalId, pricingModelId }: CreditQuery,
  asOf: Instant,
): Promise<CreditBalance[]> {
  if (asOf > work.now) throw invalid(['asOf'], 'must not be in the future: omit it for the current time');
  const customer = await findCustomerEvenArchived(work, externalId, pricingModelId);
  if (customer === null) throw new Problem('customerNotFound', { id: externalId });
  if ((await countEntriesAfter(work, customer.id, asOf, maxEntriesReadBack + 1)) > maxEntriesReadBack)
    throw invalid(['asOf'], `must be later: more than ${maxEntriesReadBack} entries came after it`);
  const credits = await listPastCredits(work, customer.id, asOf);
  const bySubject = new Map(credits.map((each) => [each.usageMeterId, each]));
  const subjects = await listCreditSubjects(work, [customer.pricingModelId]);
  return subjects.map((subject) => toCreditBalance(subject, bySubject.get(subject.id)));
}

/** A usage meter or credit pool, which credits can be on. A usage meter has no unit of its own. */
type CreditSubject = Pick<CreditPool, 'id' | 'slug' | 'pricingModelId'> & { readonly unit: string | null };

/** The meters that credits can be on before the pools, each oldest first. */
async function listCreditSubjects(work: Work, pricingModelIds: readonly string[]): Promise<CreditSubject[]> {
  const meters = await listUsageMeters(work, pricingModelIds);
  const pools = await listCreditPools(work, pricingModelIds);
  return [...meters.filter((meter) => !isMeasured(meter)).map((meter) => ({ ...meter, unit: null })), ...pools];
}

/** Reads of a batch of customers, each of whose rows has the parts of a catalog beside it. */
interface CatalogReading<Query, Row, Part, Answer> {
  readonly name: string;
  readonly list: (work: Work, queries: readonly Query[]) => Promise<Row[]>;
  /** The same in a statement that authenticates an API key. No rows where it may not read them. */
  readonly listAtOnce: (database: Database, entry: KeyEntry, queries: readonly Query[]) => Promise<Row[]>;
  readonly listParts: (work: Work, pricingModelIds: readonly string[]) => Promise<Part[]>;
  readonly answersOf: (
    queries: readonly Query[],
    rows: readonly Row[],
    partsOf: OfCatalog<Part>,
  ) => (Answer | Problem)[];
}

/** Answers a batch by one statement. The usual way refuses a key, and reads parts that are not cached. */
function batchedReads<Query, Row extends CatalogOfRow, Part extends { readonly pricingModelId: string }, Answer>({
  name,
  list,
  listAtOnce,
  listParts,
  answersOf,
}: CatalogReading<Query, Row, Part, Answer>): BatchedOperation<Query, Answer, CatalogCache<Part>> {
  return {
    name,
    weigh: () => 1,
    maxBatchWeight: 200,
    maxQueuedWeight: 20_000,
    createCache: () => new LRUCache({ max: 2_000 }),
    answerAtOnce: async ({ database, entry, requests, cache }) => {
      const rows = await listAtOnce(database, entry, requests);
      const { found, missing } = findCached(rows, cache);
      return rows.length === 0 || missing.size > 0 ? null : answersOf(requests, rows, partsIn(found));
    },
    answer: async (work, queries, cache) => {
      const rows = await list(work, queries);
      return answersOf(queries, rows, await ofCatalogs(rows, (ids) => listParts(work, ids), cache));
    },
  };
}

/** Reads the present credits of customers. */
export const creditReads = batchedReads({
  name: 'credits',
  list: listCustomerCredits,
  listAtOnce: listCreditsAtOnce,
  listParts: listCreditSubjects,
  answersOf: creditsOf,
});

function creditsOf(
  queries: readonly CreditQuery[],
  rows: readonly CustomerCredits[],
  subjectsOf: OfCatalog<CreditSubject>,
): (CreditBalance[] | Problem)[] {
  const found = new Map(rows.map((row) => [row.position, row]));
  return queries.map(({ externalId }, index) => {
    const row = found.get(index + 1);
    if (row === undefined || row.pricingModelId === null) return new Problem('customerNotFound', { id: externalId });
    if (row.customers > 1) return new Problem('externalIdAmbiguous', { externalId });
    const credits = readCredits(row.credits);
    return subjectsOf(row).map((subject) => toCreditBalance(subject, credits.get(subject.id)));
  });
}

/** The JSON of `{ usageMeterBalances }`, ten times as fast as JSON.stringify with bigints. */
export function textOfBalances(balances: readonly MeterBalance[]): string {
  let text = '';
  for (const { meter, subscriptionId, availableBalance } of balances) {
    let beginning = beginnings.get(meter);
    if (beginning === undefined) {
      beginning = JSON.stringify(meter).slice(0, -1);
      beginnings.set(meter, beginning);
    }
    if (text !== '') text += ',';
    text += `${beginning},"subscriptionId":"${subscriptionId}","availableBalance":${availableBalance}}`;
  }
  return `{"usageMeterBalances":[${text}]}`;
}

/** The JSON of `{ creditBalances }`, several times as fast as JSON.stringify with bigints. */
export function textOfCredits(balances: readonly CreditBalance[]): string {
  let text = '';
  for (const { slug, kind, unit, availableBalance, granted, paid, held, expiringNext } of balances) {
    const next =
      expiringNext && `{"amount":${textOfAmount(expiringNext.amount)},"expiresAt":${expiringNext.expiresAt}}`;
    text +=
      `${text === '' ? '' : ','}{"slug":${JSON.stringify(slug)},"kind":"${kind}","unit":${JSON.stringify(unit)}` +
      `,"availableBalance":${textOfAmount(availableBalance)},"granted":${textOfAmount(granted)}` +
      `,"paid":${textOfAmount(paid)},"held":${textOfAmount(held)},"expiringNext":${next}}`;
  }
  return `{"creditBalances":[${text}]}`;
}

/** Units of a meter, or the text of an amount of a pool: digits, a point and a sign need no escape. */
function textOfAmount(amount: CreditBalance['granted']): string {
  return typeof amount === 'string' ? `"${amount}"` : `${amount}`;
}

/** Reads the balances of customers. */
export const balanceReads = batchedReads({
  name: 'balances',
  list: listCustomerBalances,
  listAtOnce: listBalancesAtOnce,
  listParts: listUsageMeters,
  answersOf: balancesOf,
});

function balancesOf(
  queries: readonly BalanceQuery[],
  rows: readonly CustomerBalances[],
  meters: OfCatalog<UsageMeter>,
): (MeterBalance[] | Problem)[] {
  const answers: CustomerBalances[][] = queries.map(() => []);
  for (const row of rows) answers[row.position - 1]?.push(row);
  return queries.map((query, index) => answerOf(query, answers[index] ?? [], meters));
}

function isOfSubscription(row: CustomerBalances): row is CustomerBalances & SubscriptionBalances {
  return row.subscriptionId !== null;
}

function answerOf(
  { externalId, subscriptionId }: BalanceQuery,
  rows: readonly CustomerBalances[],
  meters: OfCatalog<UsageMeter>,
): MeterBalance[] | Problem {
  const customers = rows[0]?.customers ?? 0;
  if (customers === 0) return new Problem('customerNotFound', { id: externalId });
  if (customers > 1) return new Problem('externalIdAmbiguous', { externalId });
  const found = rows.filter(isOfSubscription);
  if (found.length > 1) found.sort((one, other) => (one.subscriptionId < other.subscriptionId ? 1 : -1));
  if (subscriptionId !== undefined && found.length === 0)
    return new Problem('subscriptionNotFound', { id: subscriptionId });
  return withMeters(found, meters);
}

/** The pricing model of a row, and the version of its catalog. Null: the row is of no customer or subscription. */
interface CatalogOfRow {
  readonly pricingModelId: string | null;
  readonly catalogVersion: number | null;
}

/** The usage meters, or what else a catalog has, of a row's pricing model, in order of creation. */
type OfCatalog<Part> = (row: CatalogOfRow) => readonly Part[];

interface KnownParts<Part> {
  readonly catalogVersion: number;
  readonly parts: readonly Part[];
}

/**
 * Parts of catalogs by pricing model. The version is read in the transaction that asks, and changes in the commit that
 * changes a part, so a cached list is never out of date.
 */
type CatalogCache<Part> = LRUCache<string, KnownParts<Part>>;

/** The catalogs of rows that are cached at their version, and the versions of the others. */
function findCached<Part extends object>(rows: readonly CatalogOfRow[], cache: CatalogCache<Part> | null) {
  const found = new Map<string, KnownParts<Part>>();
  const missing = new Map<string, number>();
  for (const { pricingModelId, catalogVersion } of rows) {
    if (pricingModelId === null || catalogVersion === null || found.has(pricingModelId)) continue;
    const cached = cache?.get(pricingModelId);
    if (cached?.catalogVersion === catalogVersion) found.set(pricingModelId, cached);
    else missing.set(pricingModelId, catalogVersion);
  }
  return { found, missing };
}

async function ofCatalogs<Part extends { readonly pricingModelId: string }>(
  rows: readonly CatalogOfRow[],
  list: (pricingModelIds: readonly string[]) => Promise<Part[]>,
  cache: CatalogCache<Part> | null,
): Promise<OfCatalog<Part>> {
  const { found, missing } = findCached(rows, cache);
  if (missing.size > 0) {
    const listed = Map.groupBy(await list([...missing.keys()]), ({ pricingModelId }) => pricingModelId);
    for (const [pricingModelId, catalogVersion] of missing) {
      const read = { catalogVersion, parts: listed.get(pricingModelId) ?? [] };
      found.set(pricingModelId, read);
      cache?.set(pricingModelId, read);
    }
  }
  return partsIn(found);
}

function partsIn<Part>(found: ReadonlyMap<string, KnownParts<Part>>): OfCatalog<Part> {
  return ({ pricingModelId }) => {
    const parts = found.get(pricingModelId ?? '')?.parts;
    assert(parts !== undefined, 'the catalog of each row was looked for');
    return parts;
  };
}

/** One row per meter of each subscription, even before its account is opened. */
function withMeters(rows: readonly SubscriptionBalances[], meters: OfCatalog<UsageMeter>): MeterBalance[] {
  const balances: MeterBalance[] = [];
  for (const row of rows) {
    const { subscriptionId } = row;
    const counted = row.balances?.split(' ') ?? [];
    for (const meter of meters(row)) {
      const at = counted.indexOf(meter.id);
      const balance = at < 0 ? undefined : counted[at + 1];
      balances.push({ meter, subscriptionId, availableBalance: balance === undefined ? 0n : BigInt(balance) });
    }
  }
  return balances;
}
