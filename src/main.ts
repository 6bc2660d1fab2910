import './platform/json.ts';
import process from 'node:process';
import { Command } from 'commander';
import { InvalidConfig, readConfig } from './config.ts';
import { Problem } from './kernel/problem.ts';
import * as admin from './main-admin.ts';
import { serve, work } from './main-serve.ts';
import { UnusableServer } from './platform/migrate.ts';
import { version } from './platform/version.ts';

const config = () => readConfig(process.env);
const json = ['--json', 'print one line of JSON'] as const;

const program = new Command('tollkeeper')
  .description('Billing and entitlements, self-hosted.')
  .version(version)
  .showHelpAfterError();

program
  .command('serve')
  .description('serve the API and work the queue')
  .action(() => serve(config()));
program
  .command('work')
  .description('work the queue without serving')
  .action(() => work(config()));
program
  .command('migrate')
  .description('bring the database up to date')
  .option(...json)
  .action((options) => admin.runMigrate(config(), options));

const organizations = program.command('organizations').description('make and list organizations');
organizations
  .command('create')
  .description('make an organization with a test and a live key')
  .requiredOption('--name <name>', 'its name')
  .option(...json)
  .action((options) => admin.createOrganization(config(), options));
organizations
  .command('list')
  .description('list the organizations')
  .option(...json)
  .action((options) => admin.showOrganizations(config(), options));

const keys = program.command('keys').description('make, list and end API keys');
keys
  .command('create')
  .description('make a key; its text is shown this once')
  .option('--organization <id>', 'the organization, when there are several')
  .option('--live', 'a key of the live environment; of the test environment otherwise')
  .option('--name <name>', 'what it is for')
  .option('--pricing-model <id>', 'pin it to one pricing model')
  .option('--expires <date-time>', 'when it ends, in ISO 8601')
  .option(...json)
  .action((options) => admin.createKey(config(), options));
keys
  .command('list')
  .description('list the keys, masked')
  .option('--organization <id>', 'of one organization only')
  .option(...json)
  .action((options) => admin.showKeys(config(), options));
keys
  .command('rotate <id>')
  .description('make a key of the same scope and end the old one')
  .option(...json)
  .action((id, options) => admin.rotateKey(config(), id, options));
keys
  .command('revoke <id>')
  .description('end a key at once')
  .option(...json)
  .action((id, options) => admin.revokeKey(config(), id, options));

program
  .command('openapi')
  .description('print the OpenAPI document')
  .action(() => admin.printOpenApi());
program
  .command('check')
  .description('look for rows that break an invariant; exits with 1 when there are any')
  .option(...json)
  .action(async (options) => {
    if (!(await admin.check(config(), options))) process.exitCode = 1;
  });

try {
  await program.parseAsync();
} catch (error) {
  const expected = error instanceof InvalidConfig || error instanceof UnusableServer || error instanceof Problem;
  console.error(expected || process.env.LOG_LEVEL !== 'debug' ? (error as Error).message : error);
  process.exitCode = 1;
}
