// Tests that cannot work with customers in several cells, by file and name, each with its reason. They run with `--cells`
// too, and one that passes is an error. Other files may have more, which nobody has looked at.

type Exceptions = Readonly<Record<string, string>>;

const otherService = 'it starts a process of its own, which knows the home cell only';
const ownParts = 'a bulk request is stored or refused as a whole in each cell by itself';
const manyValues = 'a summary by a property with more than 1,000 values in a cell is refused';
const ownSeries = 'a series of numbers of an environment is one of each cell';
const ownKeys = 'an Idempotency-Key is one of each cell';
const inOneCell = 'it acts on customers of several cells in one transaction';
const ownSender = 'each cell switches an endpoint off by itself';
const ownOrder = 'each cell does its due work in an order of its own';
const notYet = 'it needs a request that is refused with 501 over cells';
const ownPortions = 'a worker takes a portion of each cell';
const ownTransactions = 'a transactionId counts once in each cell';

const exceptions: Readonly<Record<string, Exceptions>> = {
  'test/stories/entitlements-check.test.ts': { 'two pairs and two hundred take one statement': inOneCell },
  'test/stories/entitlements-look.test.ts': { 'all of it is one statement': inOneCell },
  'test/stories/credits-of-customers.test.ts': {
    'a grant names one of a subscription and a customer, and a customer that exists': ownTransactions,
  },
  'test/stories/currencies.test.ts': { 'test/stories/currencies.test.ts on 4 cells': notYet },
  'test/stories/customers.test.ts': { 'a customer gets another external id, which must be free': notYet },
  'test/stories/discount-redemptions.test.ts': {
    'a discount ends by invoices paid: once after one, for two payments after two, forever never': inOneCell,
  },
  'test/races/races-events.test.ts': {
    '32 transactions that commit in any order, while a sender looks all the while: each event arrives, once':
      otherService,
  },
  'test/races/races-billing.test.ts': {
    'what one holds the other steps over, and does the rest': ownPortions,
  },
  'test/stories/usage-credits.test.ts': {
    'sent twenty times at once grants once; by two subscriptions at once, to one of them': ownTransactions,
  },
  'test/stories/invoices-one-off.test.ts': {
    'two customers share the series of the environment, which begins anew with the year of the seller': ownSeries,
    'a change in the middle of a year begins a series, and a change back continues the former one': ownSeries,
    'a number of another document is never given again: a series that credit notes used goes on': ownSeries,
    'forty who subscribe at once, some with a declined card, get numbers without a gap': ownSeries,
  },
  'test/stories/renewals-due.test.ts': {
    'the longest due comes first, and one period at a time': ownOrder,
  },
  'test/stories/rollover.test.ts': {
    'twenty renewals that roll over take as many statements as two': inOneCell,
  },
  'test/stories/settings.test.ts': {
    'the currency can change while everything costs nothing, and prices follow it': notYet,
    'a fixed discount keeps the currency that it is meant in; a percentage is the same in all': notYet,
    'prices made while the currency changes are all in the currency that the environment ends with': notYet,
    'a pricing model is not cloned into an environment of another currency': notYet,
  },
  'test/stories/stripe-charges.test.ts': {
    'dinars reach Stripe in fils, and every charge and refund is a whole ten of them': notYet,
  },
  'test/stories/stripe-events.test.ts': {
    'events are forgotten when nobody sends them again any more': inOneCell,
  },
  'test/stories/tax-rates.test.ts': {
    'all customers are quoted at once: by state, by country, or not at all': inOneCell,
  },
  'test/stories/webhook-sending.test.ts': {
    'an endpoint that has failed for five days is switched off; one that succeeds in between is not': ownSender,
  },
  'test/api/load-shedding.test.ts': {
    '60 connections that ask for pages of twelve links have two connections of the database, and are answered':
      otherService,
  },
  'test/api/operations.test.ts': {
    'a worker does what a commit asked for': otherService,
    'a sender delivers what a request caused': otherService,
  },
  'test/api/requests.test.ts': {
    'an Idempotency-Key belongs to one request for 24 hours': ownKeys,
  },
  'test/stories/usage-summary.test.ts': {
    'a summary by a property has it as text, with those that lack it together, and beyond a thousand values the others as one':
      manyValues,
  },
  'test/tenants/tenants-doors.test.ts': {
    'of many, one that belongs to another tenant lets none be taken, as JSON and as lines': ownParts,
  },
};

/** The exceptions of a test file, by the title of its report. */
export function exceptionsOf(title: string): Exceptions {
  const [file = '', cells] = title.split(/ on (?=\d+ cells$)/);
  return (cells !== undefined && exceptions[file]) || {};
}
