// Tests that cannot work with customers in several cells, by file and name, each with its reason. They run with `--cells`
// too, and one that passes is an error. Other files may have more, which nobody has looked at.

type Exceptions = Readonly<Record<string, string>>;

const otherService = 'it starts a service of its own, which knows the home cell only';
const ownParts = 'a bulk request is stored or refused as a whole in each cell by itself';
const manyValues = 'a summary by a property with more than 1,000 values in a cell is refused';
const ownSeries = 'a series of numbers of an environment is one of each cell';
const laterJob = 'a job of the cell schedules the interval a moment later';
const notYet = 'it needs a request that is refused with 501 over cells';
const ownTransactions = 'a transactionId counts once in each cell';

const exceptions: Readonly<Record<string, Exceptions>> = {
  'test/stories/consume.test.ts': {
    'of 64 on a balance for 40, 40 succeed': otherService,
    'transactions that both are sent at once count once each': otherService,
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
  'test/stories/usage-summary.test.ts': {
    'a summary by a property has it as text, with those that lack it together, and beyond a thousand values the others as one':
      manyValues,
  },
  'test/stories/usage-rhythm.test.ts': {
    'a price with a new interval is billed by it on subscriptions that are there already': laterJob,
  },
  'test/tenants/tenants-routes.test.ts': {
    '/pricing-models': notYet,
    '/products': notYet,
    '/discounts': notYet,
    'every call is refused in the same words and changes nothing': notYet,
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
