import { attach, createCustomer } from './oracle-actions.ts';
import type { Draw } from './step.ts';

const mostCustomers = 8;
const goodTokens = ['pm_card_visa', 'pm_card_visa', 'pm_card_visa'];
const badTokens = [
  'pm_card_chargeCustomerFail',
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_authenticationRequired',
];
const refusedToken = 'pm_card_chargeDeclined';

/** Somebody new, who stands on the free plan from the first moment on. */
export const newCustomer: Draw = ({ books, newName }) => {
  if (books.customers.length >= mostCustomers) return null;
  const name = newName('customer');
  return {
    text: `creates ${name}`,
    customer: null,
    ask: async () => ({
      method: 'POST',
      path: '/customers',
      body: { customer: { externalId: name, email: `${name}@sim.test`, name } },
    }),
    apply: () => {
      createCustomer(books, name);
      return 'done';
    },
  };
};

/** A payment method: a good one, one that is never charged with success, or one that the network does not take at all. */
export const newMethod: Draw = ({ random, books }) => {
  const customer = random.pick(books.customers);
  if (customer === undefined || customer.methods.length >= 4) return null;
  const isRefused = random.chance(0.1);
  const isGood = random.chance(0.75);
  const token = isRefused ? refusedToken : (random.pick(isGood ? goodTokens : badTokens) ?? '');
  const isDefault = random.chance(0.5);
  return {
    text: `attaches ${token} to ${customer.name}${isDefault ? ' as its default' : ''}`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/payment-methods',
      body: { paymentMethod: { customerExternalId: customer.name, type: 'card', token, default: isDefault } },
    }),
    apply: () => {
      if (isRefused) return 'refused';
      attach(customer, { token, isGood }, isDefault);
      return 'done';
    },
  };
};

/** Money comes and goes outside of the service: nothing is asked of that but its name. */
export const changeOfFortune: Draw = ({ random, books }) => {
  const customer = random.pick(books.customers);
  if (customer === undefined) return null;
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
