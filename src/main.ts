import './http/json-bigint.ts';
import process from 'node:process';
import { Command } from 'commander';
import { readConfig } from './config.ts';
import { version } from './http/version.ts';

// Loaded when a command runs, so that help and mistakes are answered at once.
const admin = () => import('./main-admin.ts');
const service = () => import('./main-serve.ts');
const listener = () => import('./main-listen.ts');
const backups = () => import('./main-backup.ts');

const config = () => readConfig(process.env);
const json = ['--json', 'print one line of JSON'] as const;

const program = new Command('tollkeeper')
  .description('Billing and entitlements, self-hosted.')
  .version(version)
  .showHelpAfterError();

program
  .command('serve')
  .description('serve the API and work the queue')
  .action(async () => (await service()).serve(config()));
program
  .command('work')
  .description('work the queue without serving')
  .action(async () => (await service()).work(config()));
program
  .command('migrate')
  .description('bring the database up to date')
  .option(...json)
  .action(async (options) => (await admin()).runMigrate(config(), options));

const organizations = program.command('organizations').description('make and list organizations');
organizations
  .command('create')
  .description('make an organization with a test and a live key')
  .requiredOption('--name <name>', 'its name')
  .option(...json)
  .action(async (options) => (await admin()).createOrganization(config(), options));
organizations
  .command('list')
  .description('list the organizations')
  .option(...json)
  .action(async (options) => (await admin()).showOrganizations(config(), options));

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
  .action(async (options) => (await admin()).createKey(config(), options));
keys
  .command('list')
  .description('list the keys, masked')
  .option('--organization <id>', 'of one organization only')
  .option(...json)
  .action(async (options) => (await admin()).showKeys(config(), options));
keys
  .command('rotate <id>')
  .description('make a key of the same scope and end the old one')
  .option(...json)
  .action(async (id, options) => (await admin()).rotateKey(config(), id, options));
keys
  .command('revoke <id>')
  .description('end a key at once')
  .option(...json)
  .action(async (id, options) => (await admin()).revokeKey(config(), id, options));

program
  .command('listen')
  .description('receive webhooks of a running service on this machine and print them, for development')
  .option('--port <number>', 'where to receive; any free port otherwise')
  .option('--url <url>', 'where the service is; on this machine at PORT otherwise')
  .option('--key <key>', 'an API key of test mode; TOLLKEEPER_TEST_KEY otherwise')
  .option('--types <types>', 'the types of events, divided by commas; all otherwise')
  .option('--pricing-model <id>', 'whose events; those of the key, or of the default one, otherwise')
  .option('--json', 'print each event as one line of JSON')
  .action(async (options) => (await listener()).listen(config(), options));
program
  .command('openapi')
  .description('print the OpenAPI document')
  .action(async () => (await admin()).printOpenApi());
program
  .command('check')
  .description('look for rows that break an invariant; exits with 1 when there are any')
  .option('--full', 'read everything, also what was found right before')
  .option(...json)
  .action(async (options) => {
    if (!(await (await admin()).check(config(), options))) process.exitCode = 1;
  });
program
  .command('backup <directory>')
  .description('copy the embedded database, beside a running service or without one')
  .option(...json)
  .action(async (directory, options) => (await backups()).backup(config(), directory, options));
program
  .command('restore <directory>')
  .description('make the data directory of a backup')
  .option('--wal <directory>', 'go on with the archived journal in it, to its end')
  .option('--until <date-time>', 'or to this instant, in ISO 8601 with its offset')
  .option(...json)
  .action(async (directory, options) => (await backups()).restore(config(), directory, options));

try {
  await program.parseAsync();
} catch (error) {
  // A command's error is for the person who typed it; where it came from is for whoever asks for it.
  console.error(process.env.LOG_LEVEL === 'debug' ? error : (error as Error).message);
  process.exitCode = 1;
}
