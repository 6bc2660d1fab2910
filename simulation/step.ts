import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import type { Ask } from './client.ts';
import {
  type Books,
  type Customer,
  type Invoice,
  isCurrent,
  type Payment,
  type Subscription,
} from './oracle-records.ts';
import type { PaymentNetwork } from './payment-network.ts';
import type { Random } from './random.ts';
import type { Told } from './reality.ts';

/**
 * What is expected of a request. `done`: 200. `refused`: 4xx, and nothing has changed. `refused_late`: 4xx, after something
 * was tried at the network, so that sending it again tries again.
 */
export type Expected = 'done' | 'refused' | 'refused_late';

/** One thing that somebody does, decided in full: nothing about it depends on what the service does. */
export interface Step {
  /** What is done, for whoever reads of a failure. */
  readonly text: string;
  /** Whom it is about, so that two can be done at once that do not touch; null: everybody. */
  readonly customer: Customer | null;
  /** The request. Records are found by what the oracle calls them. */
  readonly ask: (records: Records, network: PaymentNetwork) => Promise<Ask>;
  /** Does it to the books, and says what the request is to be answered. Done before the request is sent. */
  readonly apply: () => Expected;
  /** What the network is told before. */
  readonly prepare?: (network: PaymentNetwork) => void;
}

/** What a step is drawn from. */
export interface Drawing {
  readonly random: Random;
  readonly books: Books;
  /** A name that nothing had before. */
  readonly newName: (kind: string) => string;
}

/** Draws a step of a kind, or null where nothing of the kind can be done now. */
export type Draw = (drawing: Drawing) => Step | null;

export function allSubscriptions({ customers }: Books): Subscription[] {
  return customers.flatMap(({ subscriptions }) => subscriptions);
}

export function currentSubscriptions(books: Books): Subscription[] {
  return allSubscriptions(books).filter(isCurrent);
}

export function allInvoices({ customers }: Books): Invoice[] {
  return customers.flatMap(({ invoices }) => invoices);
}

/** A subscription in a few words. */
export function nameOf(subscription: Subscription): string {
  const { customer, plan } = subscription;
  return `${customer.name}'s subscription ${customer.subscriptions.indexOf(subscription)} (${plan.slug})`;
}

/** The ids that records have in the service. `told` is what it had written down before the step. */
export class Records {
  readonly #owner: Database;
  readonly #told: readonly Told[];

  constructor(owner: Database, told: readonly Told[]) {
    this.#owner = owner;
    this.#told = told;
  }

  /** Of a record that no name leads to: the one that was told with this line, of several the one at this place by age. */
  told(name: string, line: Told['line'], place = 0): string {
    const text = JSON.stringify(line);
    const id = this.#told.filter((each) => each.name === name && JSON.stringify(each.line) === text)[place]?.id;
    if (id === undefined) throw new Error(`${name} has no ${text} at place ${place}`);
    return id;
  }

  async customer({ name }: Customer): Promise<string> {
    return this.#only(sql<{ id: string }>`select id from customers where external_id = ${name}`, 0);
  }

  async subscription(subscription: Subscription): Promise<string> {
    const { name, subscriptions } = subscription.customer;
    const rows = sql<{ id: string }>`
      select s.id from subscriptions s join customers c on c.environment_id = s.environment_id and c.id = s.customer_id
       where c.external_id = ${name} order by s.id`;
    return this.#only(rows, subscriptions.indexOf(subscription));
  }

  async invoice(invoice: Invoice): Promise<string> {
    const { name, invoices } = invoice.customer;
    const rows = sql<{ id: string }>`
      select i.id from invoices i join customers c on c.environment_id = i.environment_id and c.id = i.customer_id
       where c.external_id = ${name} order by length(i.invoice_number), i.invoice_number`;
    return this.#only(rows, invoices.indexOf(invoice));
  }

  async payment(invoice: Invoice, payment: Payment): Promise<string> {
    const invoiceId = await this.invoice(invoice);
    const rows = sql<{ id: string }>`select id from payments where invoice_id = ${invoiceId} order by id`;
    return this.#only(rows, invoice.payments.indexOf(payment));
  }

  async #only(query: ReturnType<typeof sql<{ id: string }>>, index: number): Promise<string> {
    const { rows } = await query.execute(this.#owner);
    const row = rows[index];
    if (row === undefined)
      throw new Error(`the service lacks a record that the oracle has (${index} of ${rows.length})`);
    return row.id;
  }
}
