import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import type { Plan } from './catalogue.ts';
import type { Ask, Body } from './client.ts';
import type { BillingAnchor } from './oracle-intervals.ts';
import {
  type Books,
  type Customer,
  type Invoice,
  isCurrent,
  type Note,
  type Payment,
  type Redemption,
  type Subscription,
} from './oracle-records.ts';
import type { PaymentNetwork } from './payment-network.ts';
import type { Random } from './random.ts';
import type { Told } from './reality.ts';

/**
 * The expected outcome of a request:
 * - `done`: 200;
 * - `refused`: 4xx, and nothing has changed;
 * - `refused_late`: 4xx after an attempt at the network, so that a repeat tries again.
 */
export type Expected = 'done' | 'refused' | 'refused_late';

export type Form = Readonly<Record<string, string>>;

/** A visit of the portal: its cookie, and the token of its forms. */
export interface PortalVisit {
  readonly cookie: string;
  readonly formToken: string;
}

/** The hosted pages. */
export interface Pages {
  /** Opens the portal by its link. */
  enterPortal(link: string): Promise<PortalVisit>;
  /** Submits a form, and returns the status of the answer. */
  submit(path: string, form: Form, cookie?: string): Promise<number>;
}

/** A fully decided action, independent of the service's behavior. */
export interface Step {
  /** A description for failure reports. */
  readonly text: string;
  /** The affected customer, so that independent steps can run concurrently; null: everybody. */
  readonly customer: Customer | null;
  /** The request. Records are found by the oracle's names. */
  readonly ask: (records: Records, network: PaymentNetwork) => Promise<Ask>;
  /** Applies it to the books, and returns the expected outcome. Called before the request is sent. */
  readonly apply: () => Expected;
  /** Forms that follow the request, without any fault: the statuses of their answers, and those that they should have. */
  readonly visit?: (
    answer: Body,
    pages: Pages,
    records: Records,
  ) => Promise<{ readonly is: string; readonly should: string }>;
  /** Prepares the network before the request. */
  readonly prepare?: (network: PaymentNetwork) => void;
}

/** A narrower draw, as a plot needs it. An absent field leaves it free. */
export interface Wish {
  readonly isGood?: boolean;
  readonly isDiscounted?: boolean;
  readonly isNow?: boolean;
  /** A part of an amount, or all of it. */
  readonly isPart?: boolean;
  readonly isMuch?: boolean;
  /** Whether a pack, a limit or a use is of credits of a pool. */
  readonly isOfPool?: boolean;
  /** Whether the usage is of meters that are measured. */
  readonly isMeasured?: boolean;
  /** Whether the usage happened before the period. */
  readonly isLate?: boolean;
  /** Whether the plan comes beside others of its customer. */
  readonly isBeside?: boolean;
  readonly anchor?: BillingAnchor;
  readonly plan?: (plan: Plan, before: Plan | null) => boolean;
  readonly invoice?: (invoice: Invoice) => boolean;
}

/** The input for drawing a step. */
export interface Drawing {
  readonly random: Random;
  readonly books: Books;
  /** The customers to draw from. */
  readonly customers: readonly Customer[];
  readonly wish: Wish;
  /** A unique name. */
  readonly newName: (kind: string) => string;
}

/** Draws a step of a kind, or null if none is possible now. */
export type Draw = (drawing: Drawing) => Step | null;

type Among = Pick<Drawing, 'customers'>;

export function allSubscriptions({ customers }: Among): Subscription[] {
  return customers.flatMap(({ subscriptions }) => subscriptions);
}

export function currentSubscriptions(among: Among): Subscription[] {
  return allSubscriptions(among).filter(isCurrent);
}

/** The invoices that have a number. */
export function allInvoices({ customers }: Among): Invoice[] {
  return customers.flatMap(({ invoices }) => invoices.filter(({ hasNumber }) => hasNumber));
}

/** A subscription in a few words. */
export function nameOf(subscription: Subscription): string {
  const { customer, plan } = subscription;
  return `${customer.name}'s subscription ${customer.subscriptions.indexOf(subscription)} (${plan.slug})`;
}

/** The ids of records in the service, whose records before the step are given. */
export class Records {
  readonly #owner: Database;
  readonly #told: readonly Told[];

  constructor(owner: Database, told: readonly Told[]) {
    this.#owner = owner;
    this.#told = told;
  }

  /** The id of a record without a name, by its line; of several, the one at this position by age. */
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

  /** A discount that is on a subscription before the step: the same one is on it once. */
  async redemption(subscription: Subscription, { discount: { code } }: Redemption): Promise<string> {
    const subscriptionId = await this.subscription(subscription);
    const rows = sql<{ id: string }>`
      select id from discount_redemptions
       where subscription_id = ${subscriptionId} and code = ${code} and removed_at is null`;
    return this.#only(rows, 0);
  }

  async invoice(invoice: Invoice): Promise<string> {
    const { name, invoices } = invoice.customer;
    const rows = sql<{ id: string }>`
      select i.id from invoices i join customers c on c.environment_id = i.environment_id and c.id = i.customer_id
       where c.external_id = ${name} and i.invoice_number is not null
       order by length(i.invoice_number), i.invoice_number`;
    return this.#only(rows, invoices.filter(({ hasNumber }) => hasNumber).indexOf(invoice));
  }

  /** A one-off draft of a customer, by its place before the step. Drafts have no number yet. */
  async draft({ name }: Customer, place: number): Promise<string> {
    const rows = sql<{ id: string }>`
      select i.id from invoices i join customers c on c.environment_id = i.environment_id and c.id = i.customer_id
       where c.external_id = ${name} and i.status = 'draft' and i.reason = 'one_off' order by i.id`;
    return this.#only(rows, place);
  }

  /** The draft of a renewal. */
  async reviewed(subscription: Subscription): Promise<string> {
    const id = await this.subscription(subscription);
    return this.#only(
      sql<{ id: string }>`select id from invoices where subscription_id = ${id} and status = 'draft'`,
      0,
    );
  }

  /** A pending item of a customer, by its place before the step. */
  async item({ name }: Customer, place: number): Promise<string> {
    const rows = sql<{ id: string }>`
      select t.id from invoice_items t join customers c on c.environment_id = t.environment_id and c.id = t.customer_id
       where c.external_id = ${name} and t.invoice_id is null order by t.id`;
    return this.#only(rows, place);
  }

  /** A line of an invoice: by its amount, discount and tax where nobody has written it, else by its place. */
  async line(invoice: Invoice, index: number, amounts: readonly [number, number, number]): Promise<string> {
    const id = await this.invoice(invoice);
    if (invoice.reason === 'one_off') return this.lineOf(id, index);
    const [amount, discount, tax] = amounts;
    const rows = sql<{ id: string }>`
      select id from invoice_line_items
       where invoice_id = ${id} and amount = ${amount} and discount_amount = ${discount} and tax_amount = ${tax}`;
    return this.#only(rows, 0);
  }

  lineOf(invoiceId: string, index: number): Promise<string> {
    const rows = sql<{ id: string }>`select id from invoice_line_items where invoice_id = ${invoiceId} order by id`;
    return this.#only(rows, index);
  }

  async note(invoice: Invoice, note: Note): Promise<string> {
    const invoiceId = await this.invoice(invoice);
    const rows = sql<{ id: string }>`select id from credit_notes where invoice_id = ${invoiceId} order by id`;
    return this.#only(rows, invoice.notes.indexOf(note));
  }

  /** The default payment method. */
  async method({ name }: Customer): Promise<string> {
    const rows = sql<{ id: string }>`
      select m.id from payment_methods m join customers c on c.environment_id = m.environment_id and c.id = m.customer_id
       where c.external_id = ${name} order by m.is_default desc, m.id limit 1`;
    return this.#only(rows, 0);
  }

  price(slug: string): Promise<string> {
    return this.#only(sql<{ id: string }>`select id from prices where slug = ${slug} and active order by id`, 0);
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
