import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { requireCustomerByExternalId } from './actions.ts';
import {
  type BalanceAdjustment,
  type BalanceEntrySource,
  type CustomerBalance,
  type CustomerBalanceEntry,
  decideApplied,
} from './customer-balance.ts';
import { lockCustomer } from './store.ts';
import type { BalanceEntryRow, CustomerBalanceRow } from './store-balances.ts';
import * as store from './store-balances.ts';

/** A balance after an entry. */
interface AdjustedBalance {
  readonly customerBalance: CustomerBalance;
  readonly customerBalanceEntry: CustomerBalanceEntry;
}

/** Adds to the balance of a customer by hand, or takes off it what is left at most. The first one makes the balance. */
export async function adjustBalance(
  work: Work,
  { customerExternalId, amount, description }: BalanceAdjustment,
  pricingModelId: string | undefined,
): Promise<AdjustedBalance> {
  const { currency } = await readSettings(work);
  refuseFineAmount(['adjustment', 'amount'], amount < 0n ? -amount : amount, currency);
  const found = await requireCustomerByExternalId(work, customerExternalId, pricingModelId);
  const customer = await lockCustomer(work, found.id);
  // It may have been archived or erased while this waited.
  if (customer === null || customer.archived) throw new Problem('customerNotFound', { id: customerExternalId });
  const ofCustomer = { customerId: customer.id, pricingModelId: customer.pricingModelId, currency };
  const balance = await lockOrMakeBalance(work, ofCustomer);
  const left = leftOf(balance);
  if (left + amount < 0n) throw invalid(['adjustment', 'amount'], `must take off at most ${left}, what is left`);
  const entry = entryOf(work, balance, { source: 'manual', amount, left, description: description ?? null });
  await store.bookEntries(work, [entry]);
  return { customerBalance: await getBalance(work, balance.id), customerBalanceEntry: renderEntry(work, entry) };
}

/** The balance of a customer in a currency, locked until the work ends. The first one is made. The caller has locked the customer. */
async function lockOrMakeBalance(
  work: Work,
  of: Pick<CustomerBalanceRow, 'customerId' | 'pricingModelId' | 'currency'>,
): Promise<CustomerBalanceRow> {
  const stamps = { createdAt: work.now, updatedAt: work.now };
  await store.insertBalance(work, {
    ...of,
    ...stamps,
    id: newId('customerBalance', of.customerId),
    credited: 0n,
    debited: 0n,
  });
  const balances = await store.lockBalances(work, [of.customerId]);
  const balance = balances.find(({ currency }) => currency === of.currency);
  assert(balance, 'a customer that was given a balance has one');
  return balance;
}

/** A credit note that goes to a balance. */
interface BalanceCredit extends Pick<CustomerBalanceRow, 'customerId' | 'pricingModelId' | 'currency'> {
  readonly id: string;
  readonly total: bigint;
}

/** Adds a credit note to the balance of its customer. A unique key refuses a second time. The caller has locked the customer. */
export async function creditToBalance(work: Work, note: BalanceCredit): Promise<void> {
  const { customerId, pricingModelId, currency } = note;
  const balance = await lockOrMakeBalance(work, { customerId, pricingModelId, currency });
  const entry = { source: 'credit_note', amount: note.total, left: leftOf(balance), creditNoteId: note.id } as const;
  await store.bookEntries(work, [entryOf(work, balance, entry)]);
}

/**
 * Takes a voided credit note off the balance of its customer. Returns what is left of the balance if that is less, and
 * changes nothing then. The caller has locked the customer.
 */
export async function takeOffBalance(work: Work, note: BalanceCredit): Promise<bigint | null> {
  const { customerId, pricingModelId, currency } = note;
  const balance = await lockOrMakeBalance(work, { customerId, pricingModelId, currency });
  const left = leftOf(balance);
  if (left < note.total) return left;
  const entry = { source: 'voided_credit_note', amount: -note.total, left, creditNoteId: note.id } as const;
  await store.bookEntries(work, [entryOf(work, balance, entry)]);
  return null;
}

function leftOf({ credited, debited }: CustomerBalanceRow): bigint {
  return credited - debited;
}

function entryOf(
  work: Work,
  { id: customerBalanceId, pricingModelId, customerId }: CustomerBalanceRow,
  {
    source,
    amount,
    left,
    invoiceId = null,
    creditNoteId = null,
    description = null,
  }: {
    readonly source: BalanceEntrySource;
    readonly amount: bigint;
    /** The balance before. */
    readonly left: bigint;
    readonly invoiceId?: string | null;
    readonly creditNoteId?: string | null;
    readonly description?: string | null;
  },
): BalanceEntryRow {
  const of = { pricingModelId, customerId, customerBalanceId };
  const id = newId('customerBalanceEntry', customerId);
  const sources = { invoiceId, creditNoteId, description };
  return { id, createdAt: instantOf(work, customerId), ...of, source, amount, balanceAfter: left + amount, ...sources };
}

/** An invoice that a balance may pay for. */
interface DueInvoice {
  readonly id: string;
  readonly customerId: string;
  readonly currency: string;
  readonly due: bigint;
}

/**
 * The amounts that balances pay of these new invoices, by invoice id, each customer's invoices in the order given. The
 * caller has locked the customers, stores the amounts on the invoices and then books the entries. One statement
 * where no customer has a balance.
 */
export async function applyBalances(
  work: Work,
  invoices: readonly DueInvoice[],
): Promise<{ readonly applied: ReadonlyMap<string, bigint>; readonly entries: readonly BalanceEntryRow[] }> {
  const owing = invoices.filter(({ due }) => due > 0n);
  if (owing.length === 0) return { applied: new Map(), entries: [] };
  const balances = await store.lockBalances(work, [...new Set(owing.map(({ customerId }) => customerId))]);
  const entries = balances.flatMap((balance) => {
    const mine = owing.filter(
      ({ customerId, currency }) => customerId === balance.customerId && currency === balance.currency,
    );
    const amounts = decideApplied(
      leftOf(balance),
      mine.map(({ due }) => due),
    );
    let left = leftOf(balance);
    return mine.flatMap(({ id: invoiceId }, index) => {
      const amount = -(amounts[index] ?? 0n);
      if (amount === 0n) return [];
      const entry = entryOf(work, balance, { source: 'invoice', amount, left, invoiceId });
      left += amount;
      return [entry];
    });
  });
  return { applied: new Map(entries.map(({ invoiceId, amount }) => [invoiceId ?? '', -amount])), entries };
}

/** The part of `due` that the balance of the customer would pay now. */
export async function previewApplied(
  work: Work,
  { customerId, currency, due }: Omit<DueInvoice, 'id'>,
): Promise<bigint> {
  const balance = await store.findBalanceIn(work, customerId, currency);
  return balance === null ? 0n : (decideApplied(leftOf(balance), [due])[0] ?? 0n);
}

/** Gives back what a balance paid for a voided invoice. The caller has locked the customer and the invoice. */
export async function returnToBalance(
  work: Work,
  invoice: { readonly id: string; readonly customerId: string; readonly currency: string },
  amount: bigint,
): Promise<void> {
  const balances = await store.lockBalances(work, [invoice.customerId]);
  const balance = balances.find(({ currency }) => currency === invoice.currency);
  assert(balance, 'the invoice was paid from a balance');
  const back = { source: 'voided_invoice', amount, left: leftOf(balance), invoiceId: invoice.id } as const;
  await store.bookEntries(work, [entryOf(work, balance, back)]);
}

export async function getBalance(work: Work, id: string): Promise<CustomerBalance> {
  const row = await store.findBalance(work, id);
  if (row === null) throw new Problem('customerBalanceNotFound', { id });
  return renderBalance(work, row);
}

export async function listBalances(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfBalances(work, request);
  const balances = rows.map((row) => renderBalance(work, row));
  return page(request, balances, total);
}

/** The entries of a balance in order. Refuses with `customerBalanceNotFound`. */
export async function listBalanceEntries(work: Work, id: string, request: PageRequest) {
  await getBalance(work, id);
  const filters = { ...request.filters, customerBalanceId: id };
  const { rows, total } = await store.pageOfEntries(work, { ...request, filters });
  const entries = rows.map((row) => renderEntry(work, row));
  return page(request, entries, total);
}

function renderBalance(work: Work, row: CustomerBalanceRow): CustomerBalance {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId, balance: leftOf(row) };
}

function renderEntry(work: Work, row: BalanceEntryRow): CustomerBalanceEntry {
  return { ...row, livemode: work.livemode };
}
