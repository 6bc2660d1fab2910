import { freePlan, type Pack, pack } from './catalogue.ts';
import { issue, leaveUnmade, order } from './oracle-billing.ts';
import { carryOut } from './oracle-collecting.ts';
import type { Books, Customer, Line, Method } from './oracle-records.ts';
import { subscriptionWith } from './oracle-subscription.ts';

/** Purchases of packs. */

export function linesOfPacks(of: Pack, quantity: number, isTopUp = false): readonly Line[] {
  return [{ kind: 'pack', amount: of.unitPrice * quantity, pack: of, isTopUp }];
}

/** How packs are sold. */
interface Sale {
  readonly quantity: number;
  /** Null: within net terms. */
  readonly method: Method | null;
  readonly of?: Pack;
  readonly isTopUp?: boolean;
}

/** Returns the status of the invoice. */
export function sellPacks(books: Books, customer: Customer, { quantity, method, of = pack, isTopUp = false }: Sale) {
  const account = subscriptionWith(books, { customer, plan: freePlan });
  const lines = linesOfPacks(of, quantity, isTopUp);
  const invoice = issue(books, account, { reason: 'purchase', at: books.now, period: null, lines });
  if (invoice !== null && method !== null) order(books, invoice, method);
  carryOut(books);
  return leaveUnmade(invoice) ? 'void' : (invoice?.status ?? 'paid');
}
