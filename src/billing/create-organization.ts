import assert from 'node:assert/strict';
import { hashApiKey } from '../database/api-key.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import { inNewEnvironment } from '../database/switch-environment.ts';
import { enter, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type ApiKeyRequest, createApiKey, lockAsking, type MadeApiKey, showNewKey } from '../organizations/actions.ts';
import {
  makeOrganization as insertMade,
  insertOrganization,
  isKnownApiKey,
  listOrganizations,
  lockOrganizations,
  type OrganizationRecord,
} from '../organizations/store.ts';
import { provisionPricingModel } from '../pricing/actions-models.ts';

interface FoundRequest {
  readonly name: string;
  /** The keys, if the operator chose them. */
  readonly testKey?: string | null;
  readonly liveKey?: string | null;
}

interface Founded {
  readonly organization: OrganizationRecord;
  readonly testKey: MadeApiKey;
  readonly liveKey: MadeApiKey;
}

/** Creates an organization: its two environments, each with its default pricing model and a key. The worker's connection. */
export async function createOrganization(worker: Database, request: FoundRequest, now: Instant): Promise<Founded> {
  return worker.transaction().execute((db) => found(db, request, now));
}

async function found(db: DatabaseTransaction, request: FoundRequest, now: Instant): Promise<Founded> {
  const organization = await insertOrganization(db, newId('organization'), request.name, now);
  const { testEnvironmentId, liveEnvironmentId } = organization;
  for (const environmentId of [testEnvironmentId, liveEnvironmentId]) {
    const work = await enter(db, { environmentId });
    assert(work, 'the environment was just made');
    await provisionPricingModel(work);
  }
  return {
    organization,
    testKey: await createApiKey(db, firstKey(testEnvironmentId, false, request.testKey), now),
    liveKey: await createApiKey(db, firstKey(liveEnvironmentId, true, request.liveKey), now),
  };
}

// Enough for the brands of a company. More are made at the command line.
const maxMadeOrganizations = 100;

/**
 * Makes an organization for the key or the person that asks, with a key for each mode that this one may know: a test key makes no live key.
 * The new keys may do everything in the new organization, which is empty, and last as long as the key that asks.
 */
export async function makeOrganization(work: Work, { name }: { readonly name: string }, now: Instant) {
  const { expiresAt } = await lockAsking(work);
  const id = newId('organization');
  const environments = await insertMade(work, { id, name, atMost: maxMadeOrganizations }, now);
  const apiKeys: Awaited<ReturnType<typeof showNewKey>>[] = [];
  for (const { environmentId, livemode } of environments)
    await inNewEnvironment(work, environmentId, async (there) => {
      await provisionPricingModel(there);
      if (livemode && !work.livemode) return;
      const made = await createApiKey(there.db, { ...firstKey(environmentId, livemode), expiresAt }, now);
      apiKeys.push(await showNewKey(there, made));
    });
  return { organization: { id, name, createdAt: now, updatedAt: now }, apiKeys };
}

function firstKey(environmentId: number, livemode: boolean, token: string | null = null): ApiKeyRequest {
  return { environmentId, livemode, name: livemode ? 'Live key' : 'Test key', token };
}

/** Creates the first organization, or returns null if there is one already. Safe with concurrent starts. */
export async function createFirstOrganization(
  worker: Database,
  request: FoundRequest,
  now: Instant,
): Promise<Founded | null> {
  return worker.transaction().execute(async (db) => {
    await lockOrganizations(db);
    return (await listOrganizations(db)).length > 0 ? null : found(db, request, now);
  });
}

/** Adds the operator's keys to the first organization unless they exist. */
export async function ensureApiKeys(
  worker: Database,
  { testKey, liveKey }: Omit<FoundRequest, 'name'>,
  now: Instant,
): Promise<void> {
  const [organization] = await listOrganizations(worker);
  if (organization === undefined) return;
  for (const [token, livemode, environmentId] of [
    [testKey, false, organization.testEnvironmentId],
    [liveKey, true, organization.liveEnvironmentId],
  ] as const) {
    if (token && !(await isKnownApiKey(worker, hashApiKey(token)))) {
      await createApiKey(worker, firstKey(environmentId, livemode, token), now);
    }
  }
}
