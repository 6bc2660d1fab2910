// Tests that cannot work with customers in several cells, by file and name, each with its reason. They run with `--cells`
// too, and one that passes is an error. Other files may have more, which nobody has looked at.

type Exceptions = Readonly<Record<string, string>>;

const otherService = 'it starts a service of its own, which knows the home cell only';
const ownTransactions = 'a transactionId counts once in each cell';

const exceptions: Readonly<Record<string, Exceptions>> = {
  'test/stories/consume.test.ts': {
    'of 64 on a balance for 40, 40 succeed': otherService,
    'transactions that both are sent at once count once each': otherService,
  },
  'test/stories/usage-credits.test.ts': {
    'sent twenty times at once grants once; by two subscriptions at once, to one of them': ownTransactions,
  },
};

/** The exceptions of a test file, by the title of its report. */
export function exceptionsOf(title: string): Exceptions {
  const [file = '', cells] = title.split(/ on (?=\d+ cells$)/);
  return (cells !== undefined && exceptions[file]) || {};
}
