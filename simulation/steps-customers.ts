import { places } from './catalogue.ts';
import { attach, createCustomer, eraseCustomer, isErasable } from './oracle-actions.ts';
import { byProgram, endAttempt, takeAttempt } from './oracle-attempts.ts';
import type { Customer } from './oracle-records.ts';
import type { Random } from './random.ts';
import type { Draw } from './step.ts';

const mostCustomers = 8;
const mostInAll = 30;
const goodTokens = ['pm_card_visa', 'pm_card_visa', 'pm_card_visa'];
const badTokens = [
  'pm_card_chargeCustomerFail',
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_authenticationRequired',
];
const slowToken = 'pm_usBankAccount_success';
const refusedToken = 'pm_card_chargeDeclined';

/** A new customer, on the free plan from the start. */
export const newCustomer: Draw = ({ random, books, customers, newName }) => {
  // Customers of plots come beside these.
  if (customers.length >= mostCustomers || books.customers.length >= mostInAll) return null;
  const name = newName('customer');
  const taxedBy = drawTaxation(random);
  return {
    text: `creates ${name} ${taxationText(taxedBy)}`,
    customer: null,
    ask: async () => ({
      method: 'POST',
      path: '/customers',
      body: { customer: { externalId: name, email: `${name}@sim.test`, name, ...taxationBody(taxedBy) } },
    }),
    apply: () => {
      createCustomer(books, name, taxedBy);
      return 'done';
    },
  };
};

type Taxation = Pick<Customer, 'place' | 'isExempt'>;

function drawTaxation(random: Random): Taxation {
  const place = random.chance(0.7) ? (random.pick(places) ?? null) : null;
  return { place, isExempt: random.chance(0.1) };
}

function taxationText({ place, isExempt }: Taxation): string {
  const where = place === null ? 'of nowhere' : `of ${place.country} ${place.state ?? ''}`.trim();
  return isExempt ? `${where}, exempt` : where;
}

function taxationBody({ place, isExempt }: Taxation) {
  return { billingAddress: place === null ? null : { address: place }, taxExempt: isExempt };
}

/** A new address or tax exemption: existing invoices stay. */
export const changeOfAddress: Draw = ({ random, books }) => {
  const customer = random.pick(books.customers);
  if (customer === undefined) return null;
  const taxedBy = drawTaxation(random);
  return {
    text: `${customer.name} is ${taxationText(taxedBy)} now`,
    customer,
    ask: async () => ({
      method: 'PUT',
      path: `/customers/${customer.name}`,
      body: { customer: taxationBody(taxedBy) },
    }),
    apply: () => {
      Object.assign(customer, taxedBy);
      return 'done';
    },
  };
};

/** The erasure of a customer's personal data: refused while it has a paid plan, debts, or money on its way. */
export const eraseOne: Draw = ({ random, books }) => {
  const known = books.customers.filter(({ invoices }) => invoices.length > 0);
  const customer = random.pick(random.chance(0.8) ? known.filter(isErasable) : known);
  if (customer === undefined) return null;
  return {
    text: `erases ${customer.name}`,
    customer,
    ask: async () => ({ method: 'POST', path: `/customers/${customer.name}/erase`, body: {} }),
    apply: () => {
      if (!isErasable(customer)) return 'refused';
      eraseCustomer(books, customer);
      return 'done';
    },
  };
};

/** A payment method: a good one, one whose charges fail, or one that the network does not know. */
export const newMethod: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined || customer.methods.length >= 4) return null;
  const isWished = wish.isGood !== undefined;
  const isRefused = !isWished && random.chance(0.1);
  const isGood = wish.isGood ?? random.chance(0.75);
  const takesDays = isGood && !isWished && random.chance(0.3);
  const kept = takesDays ? slowToken : (random.pick(isGood ? goodTokens : badTokens) ?? '');
  const token = isRefused ? refusedToken : kept;
  const isDefault = isWished || random.chance(0.5);
  return {
    text: `attaches ${token} to ${customer.name}${isDefault ? ' as its default' : ''}`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/payment-methods',
      body: { paymentMethod: { customerExternalId: customer.name, token, default: isDefault } },
    }),
    apply: () => {
      const attempt = byProgram(customer);
      if (!takeAttempt(books, attempt)) return 'refused';
      if (isRefused) return 'refused_late';
      endAttempt(books, attempt, 'passed');
      attach(customer, { token, isGood, takesDays }, isDefault);
      return 'done';
    },
  };
};

/** Money comes and goes outside the service: the request only reads the customer. */
export const changeOfFortune: Draw = ({ random, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined || wish.isGood === !customer.isBroke) return null;
  const isBroke = !customer.isBroke;
  return {
    text: `${customer.name} ${isBroke ? 'has no money any more' : 'has money again'}`,
    customer,
    prepare: ({ broke }) => void (isBroke ? broke.add(customer.name) : broke.delete(customer.name)),
    ask: async () => ({ method: 'GET', path: `/customers/${customer.name}` }),
    apply: () => {
      customer.isBroke = isBroke;
      return 'done';
    },
  };
};
