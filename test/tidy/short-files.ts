/** Why a file of src/ is shorter than files are. The list may only shrink. */

export const shortFiles: Readonly<Record<string, string>> = {
  'src/database/api-key.ts': 'one function that many files use',
  'src/database/json-records.ts': 'one function that many files use',
  'src/database/new-id.ts': 'one function that many files use',
  'src/database/placed-migration.ts': 'one pure function with a test beside it',
  'src/database/prepared-statements.ts': 'the names of prepared statements, apart from the pool',
  'src/database/queue-connections.ts': 'one of the two files that override parts of the driver',
  'src/database/silent-connections.ts': 'one of the two files that override parts of the driver',
  'src/database/statistics.ts': 'one function that many files use',
  'src/database/tentative.ts': 'one function that many files use',
  'src/http/json-bigint.ts': 'has a global effect when it is imported',
  'src/http/key-use.ts': 'started and stopped with the server',
  'src/http/openapi-file.ts': 'the committed file, read once',
  'src/http/operator.ts': 'compares a secret',
  'src/http/version.ts': 'one function that many files use',
  'src/invoicing/actions-settings.ts': 'one verb of the API',
  'src/kernel/html.ts': 'one function that many files use',
  'src/kernel/record.ts': 'one function that many files use',
  'src/payments/processor-manual.ts': 'one processor',
  'src/rating/usage.ts': 'one sum',
  'src/webhooks/actions-events.ts': 'one record',
};
