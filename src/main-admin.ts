import { createOrganization as insertOrganization } from './billing/create-organization.ts';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { loginOwnsTables } from './database/migrate.ts';
import { openApiText } from './http/openapi-file.ts';
import { accesses, type Permission, permissions } from './kernel/permission.ts';
import { eachCell, withWorker } from './main-database.ts';
import { createApiKey, revokeApiKey, rotateApiKey } from './organizations/actions.ts';
import { ApiKeyRotation } from './organizations/api-key.ts';
import {
  listApiKeys,
  listEnvironmentsWithoutSeller,
  listOrganizations,
  renameOrganization as saveName,
} from './organizations/store.ts';

export interface Output {
  readonly json?: boolean;
}

const reading = { access: 'read' } as const;

/** The name of a command that changes something in the audit log. */
function by(action: string) {
  return { auditContext: { actor: 'operator', action }, access: 'change' } as const;
}

/** Prints data as one line of JSON, or as text for people. */
export function print({ json = false }: Output, data: unknown, text: string): void {
  console.log(json ? JSON.stringify(data) : text);
}

export async function runMigrate(config: Config, output: Output): Promise<void> {
  // The container that runs migrations often starts before the database.
  const waiting = { waitMs: config.limits.startWaitMs, log: (message: string) => console.error(message) };
  const { migrations, cells } = await withWorker(
    config,
    async ({ worker, migrations: ofHome }, server) => ({
      migrations: ofHome,
      cells: await eachCell(worker, server, async ({ migrations: ran }) => ran, { ...waiting, access: 'change' }),
    }),
    waiting,
  );
  const ran = (names: readonly string[]) =>
    names.length === 0 ? 'The database is up to date.' : `Ran ${names.join(', ')}.`;
  print(
    output,
    { migrations, ...(cells.length > 0 && { cells: cells.map(({ cell, answer }) => ({ cell, migrations: answer })) }) },
    [ran(migrations), ...cells.map(({ cell, answer }) => `Cell ${cell}: ${ran(answer)}`)].join('\n'),
  );
}

export async function createOrganization(config: Config, options: Output & { name: string }): Promise<void> {
  const { organization, testKey, liveKey } = await withWorker(
    config,
    ({ worker }) => insertOrganization(worker, { name: options.name }, Date.now()),
    { ...by('organizations create'), access: 'create' },
  );
  const data = { id: organization.id, name: organization.name, testKey: testKey.token, liveKey: liveKey.token };
  print(
    options,
    data,
    `${organization.id}  ${organization.name}\ntest key  ${testKey.token}\nlive key  ${liveKey.token}`,
  );
}

export async function renameOrganization(config: Config, id: string, { name, ...output }: Output & { name: string }) {
  const isFound = await withWorker(
    config,
    ({ worker }) => saveName(worker, id, name, Date.now()),
    by('organizations rename'),
  );
  if (!isFound) throw new Error(`There is no organization ${id}. List them with: tollkeeper organizations list`);
  print(output, { id, name }, `${id}  ${name}`);
}

export async function showOrganizations(config: Config, output: Output): Promise<void> {
  const organizations = await withWorker(config, ({ worker }) => listOrganizations(worker), reading);
  const data = organizations.map(({ id, name, createdAt }) => ({ id, name, createdAt }));
  print(output, data, data.map((row) => `${row.id}  ${row.name}`).join('\n'));
}

/** Prints what an operator has probably forgotten to set. A setting that is wrong is refused before. */
export async function checkConfig(config: Config, output: Output): Promise<void> {
  const { sellerless, owns } = await withWorker(
    config,
    async ({ worker, workerPool }) => ({
      sellerless: await listEnvironmentsWithoutSeller(worker),
      owns: await loginOwnsTables(workerPool),
    }),
    reading,
  );
  const warnings = sellerless.map(
    ({ organizationId, name, livemode }) =>
      `Invoices of ${name} (${organizationId}) name no seller in ${livemode ? 'live' : 'test'} mode: set seller with PUT /settings.`,
  );
  if (owns)
    warnings.push(
      'The user of DATABASE_URL owns the tables: set TOLLKEEPER_MIGRATE_URL to its address, and DATABASE_URL to a login that owns nothing.',
    );
  if (config.publicUrl === null)
    warnings.push('Links lead to the address that a request was sent to: set TOLLKEEPER_PUBLIC_URL.');
  print(output, { warnings }, ['The settings are valid.', ...warnings.map((text) => `WARNING  ${text}`)].join('\n'));
}

interface KeyOptions extends Output {
  readonly organization?: string;
  readonly live?: boolean;
  readonly name?: string;
  readonly pricingModel?: string;
  readonly expires?: string;
  readonly permissions?: string;
  readonly overlap?: string;
}

export async function createKey(config: Config, options: KeyOptions): Promise<void> {
  const expiresAt = options.expires === undefined ? null : expiryOf(options.expires, Date.now());
  const permissions = options.permissions === undefined ? accesses : permissionsOf(options.permissions);
  const made = await withWorker(
    config,
    async ({ worker }) => {
      const organizations = await listOrganizations(worker);
      const organization =
        options.organization === undefined
          ? organizations[0]
          : organizations.find((row) => row.id === options.organization);
      if (organization === undefined)
        throw new Error(
          `There is no organization ${options.organization ?? ''}. List them with: tollkeeper organizations list`,
        );
      if (options.organization === undefined && organizations.length > 1)
        throw new Error('There are several organizations. Choose one with --organization <id>');
      const livemode = options.live === true;
      const request = {
        environmentId: livemode ? organization.liveEnvironmentId : organization.testEnvironmentId,
        livemode,
        name: options.name ?? (livemode ? 'Live key' : 'Test key'),
        pricingModelId: options.pricingModel ?? null,
        permissions,
        expiresAt,
      };
      return createApiKey(worker, request, Date.now());
    },
    by('keys create'),
  );
  print(options, made, `${made.id}  ${made.token}`);
}

/** The instant of `--expires`. Refuses text that is no date-time, and an instant that has passed. */
export function expiryOf(text: string, now: number): number {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new Error(`--expires: ${text} is not an ISO 8601 date-time, such as 2027-01-01T00:00:00Z`);
  if (at <= now) throw new Error(`--expires: ${text} has passed. Choose a date-time in the future`);
  return at;
}

/** The permissions of `--permissions`. Refuses one that there is not. */
export function permissionsOf(text: string): readonly Permission[] {
  const given = text.split(',').map((each) => each.trim());
  const unknown = given.find((each) => !permissions.some((known) => known === each));
  if (unknown !== undefined)
    throw new Error(`--permissions: there is no ${unknown}. Choose from ${permissions.join(', ')}`);
  return permissions.filter((each) => given.includes(each));
}

export async function showKeys(config: Config, options: KeyOptions): Promise<void> {
  const filter = options.organization === undefined ? {} : { organizationId: options.organization };
  const keys = await withWorker(config, ({ worker }) => listApiKeys(worker, filter), reading);
  const data = keys.map(({ hashText: _hash, environmentId: _environment, ...key }) => key);
  const line = (key: (typeof data)[number]) =>
    [
      key.id,
      key.organizationId,
      key.livemode ? 'live' : 'test',
      key.token,
      key.active ? 'active' : 'revoked',
      key.name,
      key.permissions.join(','),
    ].join('  ');
  print(options, data, data.map(line).join('\n'));
}

export async function rotateKey(config: Config, id: string, { overlap = '0', ...output }: KeyOptions): Promise<void> {
  const { data: rotation, success } = ApiKeyRotation.safeParse({ overlapSeconds: Number(overlap) });
  if (!success)
    throw new Error(`--overlap: ${overlap} is not a number of seconds from 0 to 2592000, which are 30 days`);
  const rotate = (worker: Database) => rotateApiKey(worker, id, Date.now(), rotation.overlapSeconds);
  const made = await withWorker(config, ({ worker }) => rotate(worker), by('keys rotate'));
  print(output, made, `${made.id}  ${made.token}`);
}

export async function revokeKey(config: Config, id: string, output: Output): Promise<void> {
  await withWorker(config, ({ worker }) => revokeApiKey(worker, id, Date.now()), by('keys revoke'));
  print(output, { id, active: false }, `Revoked ${id}.`);
}

export async function printOpenApi(): Promise<void> {
  process.stdout.write(await openApiText());
}
