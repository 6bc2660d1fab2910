import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { constraintOf } from '../database/database-problem.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { Permission } from '../kernel/permission.ts';
import { Problem } from '../kernel/problem.ts';
import type { StoredApiKey } from './api-key.ts';

const apiKeyColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'maskedToken',
  'active',
  'permissions',
  'expiresAt',
  'replacedById',
  'lastUsedAt',
  'hash',
] as const;

interface ApiKeyRow {
  id: string;
  createdAt: Instant;
  updatedAt: Instant;
  pricingModelId: string | null;
  name: string;
  maskedToken: string;
  active: boolean;
  permissions: string[];
  expiresAt: Instant | null;
  replacedById: string | null;
  lastUsedAt: Instant | null;
  hash: Buffer;
}

function toApiKey({ maskedToken, hash, permissions, ...row }: ApiKeyRow): StoredApiKey {
  return {
    ...row,
    token: maskedToken,
    type: 'secret',
    // An invariant: each is a permission that there is.
    permissions: permissions as Permission[],
    hashText: hash.toString('hex'),
  };
}

export async function findApiKey(work: Work, id: string): Promise<StoredApiKey | null> {
  const row = await work.db
    .selectFrom('apiKeys')
    .select(apiKeyColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined ? null : toApiKey(row);
}

export async function pageOfApiKeys(
  work: Work,
  request: PageRequest,
): Promise<{ rows: StoredApiKey[]; total: number }> {
  const { rows, total } = await selectPage<ApiKeyRow>(work, 'api_keys', apiKeyColumns, request, { active: 'active' });
  return { rows: rows.map(toApiKey), total };
}

/** An organization with its two environments. */
export interface OrganizationRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Instant;
  readonly testEnvironmentId: number;
  readonly liveEnvironmentId: number;
}

/** Renames an organization. Returns false if there is none with this id. The worker's connection. */
export async function renameOrganization(worker: Database, id: string, name: string, now: Instant): Promise<boolean> {
  const result = await worker
    .updateTable('organizations')
    .set({ name, updatedAt: now })
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Creates an organization and its two environments. The worker's connection. */
export async function insertOrganization(
  worker: Database,
  id: string,
  name: string,
  now: Instant,
): Promise<OrganizationRecord> {
  const stamps = { createdAt: now, updatedAt: now };
  await worker
    .insertInto('organizations')
    .values({ id, name, ...stamps })
    .execute();
  const environments = await worker
    .insertInto('environments')
    .values([false, true].map((livemode) => ({ organizationId: id, livemode, ...stamps })))
    .returning(['id', 'livemode'])
    .execute();
  const idOf = (livemode: boolean) => environments.find((row) => row.livemode === livemode)?.id ?? 0;
  return { id, name, createdAt: now, testEnvironmentId: idOf(false), liveEnvironmentId: idOf(true) };
}

/** Makes an organization for the key of the request. Answers the ids of its environments: test, then live. */
export async function makeOrganization(
  work: Work,
  { id, name, atMost }: { id: string; name: string; atMost: number },
  now: Instant,
): Promise<readonly { readonly livemode: boolean; readonly environmentId: number }[]> {
  const { rows } = await sql<{ livemode: boolean; environmentId: number }>`
    select * from make_organization(${id}, ${name}, ${now}, ${atMost}) order by livemode`.execute(work.db);
  return rows;
}

/** All organizations in order of creation. The worker's connection. */
export async function listOrganizations(worker: Database): Promise<OrganizationRecord[]> {
  return worker
    .selectFrom('organizations')
    .innerJoin('environments as test', (join) =>
      join.onRef('test.organizationId', '=', 'organizations.id').on('test.livemode', '=', false),
    )
    .innerJoin('environments as live', (join) =>
      join.onRef('live.organizationId', '=', 'organizations.id').on('live.livemode', '=', true),
    )
    .select([
      'organizations.id',
      'organizations.name',
      'organizations.createdAt',
      'test.id as testEnvironmentId',
      'live.id as liveEnvironmentId',
    ])
    .orderBy('organizations.id')
    .execute();
}

/** The environments without a seller on their invoices. The worker's connection. */
export async function listEnvironmentsWithoutSeller(
  worker: Database,
): Promise<{ organizationId: string; name: string; livemode: boolean }[]> {
  return worker
    .selectFrom('environments')
    .innerJoin('organizations', 'organizations.id', 'environments.organizationId')
    .select(['environments.organizationId', 'organizations.name', 'environments.livemode'])
    .where('environments.seller', 'is', null)
    .orderBy('environments.id')
    .execute();
}

interface NewApiKey {
  readonly id: string;
  readonly environmentId: number;
  readonly name: string;
  readonly maskedToken: string;
  readonly hash: Buffer;
  readonly pricingModelId: string | null;
  readonly permissions: readonly Permission[];
  readonly expiresAt: Instant | null;
}

/** Refuses a pricing model of another environment, by foreign key. */
export async function insertApiKey(db: Database, key: NewApiKey, now: Instant): Promise<void> {
  try {
    await db
      .insertInto('apiKeys')
      .values({ ...key, permissions: [...key.permissions], createdAt: now, updatedAt: now })
      .execute();
  } catch (error) {
    if (constraintOf(error) !== 'api_keys_pricing_model_fk') throw error;
    throw new Problem('pricingModelNotFound', { id: key.pricingModelId ?? '' });
  }
}

/** A key as the command line shows it. */
interface ApiKeyRecord extends StoredApiKey {
  readonly organizationId: string;
  readonly environmentId: number;
  readonly livemode: boolean;
}

/** Keys of all environments, of one organization, or with one id. The worker's connection. */
export async function listApiKeys(
  worker: Database,
  filter: { organizationId?: string; id?: string } = {},
): Promise<ApiKeyRecord[]> {
  let query = worker
    .selectFrom('apiKeys')
    .innerJoin('environments', 'environments.id', 'apiKeys.environmentId')
    .select(apiKeyColumns.map((column) => `apiKeys.${column}` as const))
    .select(['environments.organizationId', 'environments.livemode', 'apiKeys.environmentId'])
    .orderBy('apiKeys.id');
  if (filter.organizationId !== undefined)
    query = query.where('environments.organizationId', '=', filter.organizationId);
  if (filter.id !== undefined) query = query.where('apiKeys.id', '=', filter.id);
  const rows = await query.execute();
  return rows.map(({ organizationId, livemode, environmentId, ...row }) => ({
    ...toApiKey(row),
    organizationId,
    livemode,
    environmentId,
  }));
}

/** Revokes a key. Returns false if it was already revoked. */
export async function deactivateApiKey(db: Database, id: string, now: Instant): Promise<boolean> {
  const result = await db
    .updateTable('apiKeys')
    .set({ active: false, updatedAt: now })
    .where('id', '=', id)
    .where('active', '=', true)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Ends a key because another takes its place: at `expiresAt`, or at once. Returns false where one did or it has ended. */
export async function replaceApiKey(
  db: Database,
  id: string,
  { replacedById, expiresAt }: { replacedById: string; expiresAt: Instant | null },
  now: Instant,
): Promise<boolean> {
  const result = await db
    .updateTable('apiKeys')
    .set({ replacedById, updatedAt: now, ...(expiresAt === null ? { active: false } : { expiresAt }) })
    .where('id', '=', id)
    .where('active', '=', true)
    .where('replacedById', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Saves what a request may change of a key. */
export async function saveApiKey(
  work: Work,
  { id, name, permissions, expiresAt }: Pick<StoredApiKey, 'id' | 'name' | 'permissions' | 'expiresAt'>,
  now: Instant,
): Promise<void> {
  await work.db
    .updateTable('apiKeys')
    .set({ name, permissions, expiresAt, updatedAt: now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Serializes the changes of keys in an environment, until the transaction ends. */
export async function lockApiKeys(work: Work): Promise<void> {
  await sql`select from environments where id = ${work.environmentId} for no key update`.execute(work.db);
}

/** The number of keys that were not revoked, counted up to `limit`. */
export async function countActiveApiKeys(work: Work, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
      from (select from api_keys where environment_id = ${work.environmentId} and active limit ${limit}) found`.execute(
    work.db,
  );
  return rows[0]?.count ?? 0;
}

/** Serializes the check whether an organization exists, until the transaction ends. The worker's connection. */
export async function lockOrganizations(worker: Database): Promise<void> {
  await sql`lock table organizations in share row exclusive mode`.execute(worker);
}

/** Whether a key with this hash was ever created, including revoked ones. The worker's connection. */
export async function isKnownApiKey(worker: Database, hash: Buffer): Promise<boolean> {
  const row = await worker.selectFrom('apiKeys').select('id').where('hash', '=', hash).executeTakeFirst();
  return row !== undefined;
}
