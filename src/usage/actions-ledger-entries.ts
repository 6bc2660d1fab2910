import { findCustomerEvenArchived } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idBeside } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { amountOf, subjectOf } from '../pricing/credit-pool.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { type LedgerBalance, type LedgerEntry, type LedgerQuery, readMove } from './ledger.ts';
import * as store from './store-ledger.ts';
import { countUnitsBefore } from './store-read.ts';

/** A query about a customer's ledger. */
interface LedgerRequest {
  readonly externalId: string;
  readonly pricingModelId: string | undefined;
  readonly subscriptionId: string | undefined;
  readonly usageMeterId: string | undefined;
  readonly usageMeterSlug: string | undefined;
  /** Not in the future; now when absent. */
  readonly asOf: Instant | undefined;
}

// The answer holds the balance of each: a few hundred kilobytes.
const maxAccounts = 1000;

/**
 * A page of the entries of a customer's accounts in order of booking, up to `asOf`, and the balance of each account at
 * that time. Subscriptions of any status count. Archived customers are included, because history does not change.
 */
export async function readLedger(work: Work, ask: LedgerRequest, request: PageRequest) {
  const query = await toQuery(work, ask);
  const accounts = await store.listAccountsAt(work, query, maxAccounts + 1);
  if (accounts.length > maxAccounts)
    throw invalid(['subscriptionId'], `is required, because the customer has more than ${maxAccounts} balances`);
  const accountIds = accounts.map((account) => account.id);
  const after = await findPosition(work, accountIds, request);
  const rows = await store.listEntries(work, accountIds, request, { asOf: query.asOf, after });
  const total = await store.countEntries(work, accountIds, query.asOf);
  const balances: LedgerBalance[] = accounts.map(({ subscriptionId, usageMeterId, availableBalance }) => ({
    subscriptionId,
    ...subjectOf(usageMeterId),
    availableBalance: amountOf(usageMeterId, availableBalance),
  }));
  return { ...page(request, await withApplications(work, rows), total), balances };
}

async function findPosition(
  work: Work,
  accountIds: readonly string[],
  { after: id, afterAt: createdAt }: PageRequest,
): Promise<store.EntryPosition | null> {
  if (id === null || createdAt === null) return null;
  const position = await store.findEntryPosition(work, accountIds, { id, createdAt });
  if (position === null) throw new Problem('invalidCursor');
  return position;
}

/** The entry in which a usage event was booked, and the grants that it used. The entry of a credit pool comes first. */
export async function readUsageEntry(work: Work, key: store.UsageBookingKey): Promise<LedgerEntry | null> {
  const chosen = await chooseEntry(work, key, await store.listBookedEntries(work, key));
  const row = chosen && (await store.findEntryAt(work, key.ledgerAccountId, chosen));
  const [entry] = await withApplications(work, row === null ? [] : [row]);
  return entry ?? null;
}

/**
 * The entry of an event among those of its booking and account. Events are booked in the order of their ids. Credits
 * of the meter cover the first units, and an entry of a pool begins with the event whose id it has.
 */
async function chooseEntry(
  work: Work,
  key: store.UsageBookingKey,
  entries: readonly store.BookedEntry[],
): Promise<store.BookedEntry | null> {
  const own = entries.filter(({ priceId }) => priceId === key.priceId);
  const begun = own.filter(({ id, isPooled }) => isPooled && id <= idBeside('ledgerEntry', key.id));
  const latest = begun.at(-1);
  const other = own.find(({ isPooled }) => !isPooled) ?? latest ?? own[0] ?? null;
  if (latest === undefined || own.length === 1) return other;
  const candidates = [...new Set([latest, begun.findLast(({ isAtPrice }) => isAtPrice) ?? latest])];
  const eventIdOf = ({ id }: store.BookedEntry) => id.slice(id.lastIndexOf('_') + 1);
  const before = await countUnitsBefore(work, key, [key.id, ...candidates.map(eventIdOf)]);
  const covered = entries.reduce((sum, entry) => sum + entry.covered, 0n);
  // Places in the line of all units of the account that credits of the meter leave uncovered.
  const placeOf = (id: string) => positive((before.get(id) ?? 0n) - covered);
  const isUncovered = (before.get(key.id) ?? 0n) + BigInt(key.amount) > covered;
  const isPaidBy = (entry: store.BookedEntry) => {
    // A pool that draws at the price has one entry, whatever other entries came in between.
    const between = entries.filter(({ id, isPooled }) => isPooled && id > entry.id && id <= latest.id);
    const ahead = placeOf(key.id) - between.reduce((sum, { amount }) => sum + amount, 0n);
    return isUncovered && ahead < placeOf(eventIdOf(entry)) + entry.amount;
  };
  return candidates.find(isPaidBy) ?? other;
}

function positive(units: bigint): bigint {
  return units > 0n ? units : 0n;
}

async function toQuery(work: Work, ask: LedgerRequest): Promise<LedgerQuery> {
  const { externalId, pricingModelId, subscriptionId = null, asOf = null } = ask;
  if (asOf !== null && asOf > work.now)
    throw invalid(['asOf'], 'must not be in the future: omit it for the current time');
  const customer = await findCustomerEvenArchived(work, externalId, pricingModelId);
  if (customer === null) throw new Problem('customerNotFound', { id: externalId });
  if (subscriptionId !== null) {
    const subscription = await findSubscription(work, subscriptionId);
    if (subscription?.customerId !== customer.id) throw new Problem('subscriptionNotFound', { id: subscriptionId });
  }
  const usageMeterId = await meterOf(work, ask, customer.pricingModelId);
  return { customerId: customer.id, subscriptionId, usageMeterId, asOf };
}

async function meterOf(work: Work, ask: LedgerRequest, pricingModelId: string): Promise<string | null> {
  const { usageMeterId, usageMeterSlug } = ask;
  const named = usageMeterId ?? usageMeterSlug;
  if (named === undefined) return null;
  if (usageMeterId !== undefined && usageMeterSlug !== undefined)
    throw invalid(['usageMeterSlug'], 'must be omitted when usageMeterId is given');
  const meters = await listUsageMeters(work, [pricingModelId]);
  const meter = meters.find(({ id, slug }) => (usageMeterId === undefined ? slug : id) === named);
  if (meter === undefined) throw new Problem('usageMeterNotFound', { id: named });
  return meter.id;
}

async function withApplications(work: Work, rows: readonly store.LedgerEntryRow[]): Promise<LedgerEntry[]> {
  const creditIds = new Set(rows.flatMap((row) => row.appliedCreditIds ?? []));
  const credits = creditIds.size === 0 ? [] : await store.listPayingCredits(work, [...creditIds]);
  return rows.map(({ debitSide, creditSide, appliedCreditIds, appliedAmounts, usageMeterId, creditPoolId, ...row }) => {
    const paid = new Map(appliedCreditIds?.map((id, index) => [id, appliedAmounts?.[index]]));
    const { type, amount } = readMove({ debitSide, creditSide, amount: row.amount });
    const subject = subjectOf(usageMeterId);
    return {
      ...row,
      ...subject,
      creditPoolId: subject.creditPoolId ?? creditPoolId,
      type,
      amount: amountOf(usageMeterId, amount),
      availableAfter: amountOf(usageMeterId, row.availableAfter),
      usageCreditApplications: credits.flatMap((credit) => {
        const amount = paid.get(credit.usageCreditId);
        return amount === undefined ? [] : [{ ...credit, amount: amountOf(usageMeterId, BigInt(amount)) }];
      }),
    };
  });
}
