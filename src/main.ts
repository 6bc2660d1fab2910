import './http/json-bigint.ts';
import process from 'node:process';
import { Command } from 'commander';
import { type Config, readConfig } from './config.ts';
import { version } from './http/version.ts';

// Loaded when a command runs, so that help, usage errors and wrong settings respond immediately.
const admin = () => import('./main-admin.ts');
const checking = () => import('./main-check.ts');
const service = () => import('./main-serve.ts');
const listener = () => import('./main-listen.ts');
const inbox = () => import('./main-inbox.ts');
const pricing = () => import('./main-pricing.ts');
const backups = () => import('./main-backup.ts');
const archives = () => import('./main-archives.ts');
const people = () => import('./main-people.ts');
const placing = () => import('./main-placing.ts');
const cells = () => import('./main-cells.ts');
const moves = () => import('./main-moves.ts');

const config = () => readConfig(process.env);
const withSettings = (act: (settings: Config) => Promise<void>) => () => act(config());
const json = ['--json', 'print one line of JSON'] as const;

const program = new Command('tollkeeper')
  .description('Billing and entitlements, self-hosted.')
  .version(version)
  .showHelpAfterError();

program
  .command('serve')
  .description('serve the API and run jobs')
  .action(withSettings(async (settings) => (await service()).serve(settings)));
program
  .command('work')
  .description('run jobs without serving the API')
  .action(withSettings(async (settings) => (await service()).work(settings)));
program
  .command('migrate')
  .description('migrate the database to the latest version')
  .option(...json)
  .action(async (options) => (await admin()).runMigrate(config(), options));

const organizations = program.command('organizations').description('create and list organizations');
organizations
  .command('create')
  .description('create an organization with a test key and a live key')
  .requiredOption('--name <name>', 'its name')
  .option(...json)
  .action(async (options) => (await admin()).createOrganization(config(), options));
organizations
  .command('rename <id>')
  .description('give an organization another name')
  .requiredOption('--name <name>', 'the new name')
  .option(...json)
  .action(async (id, options) => (await admin()).renameOrganization(config(), id, options));
organizations
  .command('list')
  .description('list the organizations')
  .option(...json)
  .action(async (options) => (await admin()).showOrganizations(config(), options));

const keys = program.command('keys').description('create, list, rotate and revoke API keys');
keys
  .command('create')
  .description('create a key, which is shown only this once')
  .option('--organization <id>', 'the organization, if there are several')
  .option('--live', 'create a live mode key instead of a test mode key')
  .option('--name <name>', 'the name of the key')
  .option('--pricing-model <id>', 'pin it to one pricing model')
  .option(
    '--permissions <permissions>',
    'what it may do, separated by commas, such as read,usage-events:write (default: everything)',
  )
  .option('--expires <date-time>', 'when the key expires, in ISO 8601')
  .option(...json)
  .action(async (options) => (await admin()).createKey(config(), options));
keys
  .command('list')
  .description('list the keys, masked, and what they may do')
  .option('--organization <id>', 'only keys of this organization')
  .option(...json)
  .action(async (options) => (await admin()).showKeys(config(), options));
keys
  .command('rotate <id>')
  .description('replace a key with a new one of the same scope and permissions')
  .option('--overlap <seconds>', 'how long the old key stays valid, at most 30 days (default: not at all)')
  .option(...json)
  .action(async (id, options) => (await admin()).rotateKey(config(), id, options));
keys
  .command('revoke <id>')
  .description('revoke a key immediately')
  .option(...json)
  .action(async (id, options) => (await admin()).revokeKey(config(), id, options));

const ofOrganization = ['--organization <id>', 'the organization, if there are several'] as const;
const users = program.command('users').description('manage the people who sign in, for a locked-out operator');
users
  .command('list')
  .description('list the people, with their roles')
  .option('--organization <id>', 'only people of this organization')
  .option(...json)
  .action(async (options) => (await people()).showPeople(config(), options));
users
  .command('invite <email>')
  .description('print a link to join, which works once and for seven days')
  .requiredOption('--role <role>', 'owner, billing, support, developer or viewer')
  .option(...ofOrganization)
  .option(...json)
  .action(async (email, options) => (await people()).invitePerson(config(), email, options));
users
  .command('role <email> <role>')
  .description('give a member another role')
  .option(...ofOrganization)
  .option(...json)
  .action(async (email, role, options) => (await people()).setRole(config(), email, role, options));
users
  .command('reset-link <email>')
  .description('print a link that sets a new password, which works once and for an hour')
  .option(...json)
  .action(async (email, options) => (await people()).printResetLink(config(), email, options));
users
  .command('remove <email>')
  .description('end the membership of somebody, everywhere or in one organization')
  .option('--organization <id>', 'only in this organization')
  .option(...json)
  .action(async (email, options) => (await people()).removePerson(config(), email, options));
users
  .command('disable-totp <email>')
  .description('let somebody who has lost the authenticator sign in without a code')
  .option(...json)
  .action(async (email, options) => (await people()).disableCodes(config(), email, options));

program
  .command('pricing')
  .description('keep pricing models in files')
  .command('apply <file>')
  .description('create or update a pricing model of a running service, by its name; safe to repeat')
  .option('--dry-run', 'print the differences and change nothing')
  .option('--url <url>', 'the address of the service (default: TOLLKEEPER_URL, or this machine at PORT)')
  .option('--key <key>', 'an API key (default: TOLLKEEPER_KEY, or TOLLKEEPER_TEST_KEY)')
  .option(...json)
  .action(async (file, options) => (await pricing()).applyPricing(config(), file, options));

program
  .command('listen')
  .description('receive webhooks of a running service on this machine and print them, for development')
  .option('--port <number>', 'the port to receive on (default: any free port)')
  .option('--url <url>', 'the address of the service (default: TOLLKEEPER_URL, or this machine at PORT)')
  .option('--key <key>', 'a test mode API key (default: TOLLKEEPER_KEY, or TOLLKEEPER_TEST_KEY)')
  .option('--types <types>', 'event types, separated by commas (default: all)')
  .option('--pricing-model <id>', 'the pricing model to listen to (default: that of the key, or the default one)')
  .option('--mail', 'receive the emails of the service in place of its webhooks, without a key')
  .option('--json', 'print each event or email as one line of JSON')
  .action(async ({ mail, ...options }) =>
    mail ? (await inbox()).openInbox(options) : (await listener()).listen(config(), options),
  );
program
  .command('openapi')
  .description('print the OpenAPI document')
  .action(async () => (await admin()).printOpenApi());
program
  .command('check')
  .description('find rows that break an invariant; exits with 1 if there are any')
  .option('--full', 'check all data, including data that passed an earlier check')
  .option(...json)
  .action(async (options) => {
    if (!(await (await checking()).check(config(), options))) process.exitCode = 1;
  });
program
  .command('check-config')
  .description('check the settings, and warn of what is probably missing')
  .option(...json)
  .action(async (options) => (await admin()).checkConfig(config(), options));
const cell = program
  .command('cells')
  .description('add, list and fill cells, which are further schemas of the installation');
cell
  .command('add <name>')
  .description('create the schema of this name as a cell and migrate it; safe to repeat')
  .option('--url <url>', 'another server and database, without user and password (default: those of the home cell)')
  .option(...json)
  .action(async (name, options) => (await cells()).addCell(config(), name, options));
cell
  .command('list')
  .description('list the cells')
  .option(...json)
  .action(async (options) => (await cells()).showCells(config(), options));
cell
  .command('assign <name>')
  .description('let a cell have new customers: it gets slots that have none yet; safe to repeat')
  .requiredOption('--slots <number>', 'the slots that it has afterwards; all cells together have 3843')
  .option(...json)
  .action(async (name, options) => (await cells()).assignSlots(config(), name, options));
cell
  .command('move <from> <to>')
  .description('move customers from one cell to another, slot by slot, while the service runs; safe to repeat')
  .requiredOption('--slots <number>', 'the slots that <to> has afterwards; all cells together have 3843')
  .option(...json)
  .action(async (from, to, options) => (await moves()).moveSlots(config(), from, to, options));
cell
  .command('drain <name>')
  .description('move all customers of a cell to the others that have slots, and the home cell; safe to repeat')
  .option(...json)
  .action(async (name, options) => (await moves()).drainCell(config(), name, options));
cell
  .command('remove <name>')
  .description('take a cell without slots and customers out of the list; its schema stays')
  .option(...json)
  .action(async (name, options) => (await moves()).removeCell(config(), name, options));
cell
  .command('place <name>')
  .description('bring the schema of this name to a node of its Citus cluster, or move it to another; safe to repeat')
  .option('--node <host:port>', 'the node, as the cluster names it (default: the one that has it, or any)')
  .option(...json)
  .action(async (name, options) => (await placing()).placeCell(config(), name, options));
const archived = program.command('archives').description('list and restore archives of usage events');
archived
  .command('list')
  .description('list the archives with their files')
  .option('--cell <name>', 'of this cell, in place of the home cell')
  .option(...json)
  .action(async (options) => (await archives()).showArchives(config(), options));
archived
  .command('restore <number>')
  .description('bring the events of an archive back, until it is released')
  .option('--cell <name>', 'of this cell, in place of the home cell')
  .option(...json)
  .action(async (number, options) => (await archives()).restore(config(), number, options));
archived
  .command('release <number>')
  .description('drop the events of a restored archive again')
  .option('--cell <name>', 'of this cell, in place of the home cell')
  .option(...json)
  .action(async (number, options) => (await archives()).release(config(), number, options));
program
  .command('backup <directory>')
  .description('back up the embedded database, with or without a running service')
  .option(...json)
  .action(async (directory, options) => (await backups()).backup(config(), directory, options));
program
  .command('restore <directory>')
  .description('create a data directory from a backup')
  .option('--wal <directory>', 'replay the WAL archive in this directory to its end')
  .option('--until <date-time>', 'replay only up to this date-time, in ISO 8601 with an offset')
  .option(...json)
  .action(async (directory, options) => (await backups()).restore(config(), directory, options));

try {
  await program.parseAsync();
} catch (error) {
  // Users see the message of an error; its stack is shown on request.
  console.error(process.env.LOG_LEVEL === 'debug' ? error : (error as Error).message);
  process.exitCode = 1;
}
