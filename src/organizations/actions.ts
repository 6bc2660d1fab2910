import { randomBytes } from 'node:crypto';
import { hashApiKey } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { type ApiKey, maskApiKey, type StoredApiKey } from './api-key.ts';
import type { TestClock } from './clock.ts';
import * as store from './store.ts';
import { readClock } from './store-clock.ts';

function render(work: Work, key: StoredApiKey): ApiKey {
  return {
    ...key,
    livemode: work.livemode,
    organizationId: work.organizationId,
    identityProviderHostedBillingUserId: null,
    stackAuthHostedBillingUserId: null,
  };
}

export async function getApiKey(work: Work, id: string): Promise<ApiKey> {
  const key = await store.findApiKey(work, id);
  if (key === null) throw new Problem('apiKeyNotFound', { id });
  return render(work, key);
}

export async function listApiKeys(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfApiKeys(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

export interface ApiKeyRequest {
  readonly environmentId: number;
  readonly livemode: boolean;
  readonly name: string;
  readonly pricingModelId?: string | null;
  readonly expiresAt?: Instant | null;
  /** The key, if the operator chose it; random when absent. */
  readonly token?: string | null;
}

/** A new key. Its text is available only here. */
export interface MadeApiKey {
  readonly id: string;
  readonly token: string;
}

// 24 bytes are 192 bits, which cannot be guessed.
const tokenBytes = 24;

/** Creates a key and stores only its hash. The worker's connection. */
export async function createApiKey(worker: Database, request: ApiKeyRequest, now: Instant): Promise<MadeApiKey> {
  const token =
    request.token ?? `sk_${request.livemode ? 'live' : 'test'}_${randomBytes(tokenBytes).toString('base64url')}`;
  const id = newId('apiKey');
  await store.insertApiKey(
    worker,
    {
      id,
      environmentId: request.environmentId,
      name: request.name,
      maskedToken: maskApiKey(token),
      hash: hashApiKey(token),
      pricingModelId: request.pricingModelId ?? null,
      expiresAt: request.expiresAt ?? null,
    },
    now,
  );
  return { id, token };
}

/** Creates a key with the scope and expiry of an old one and revokes the old one in the same commit. */
export async function rotateApiKey(worker: Database, id: string, now: Instant): Promise<MadeApiKey> {
  return worker.transaction().execute(async (db) => {
    const [old] = await store.listApiKeys(db, { id });
    if (old === undefined || !(await store.deactivateApiKey(db, id, now))) throw new Problem('apiKeyNotFound', { id });
    if (old.expiresAt !== null && old.expiresAt <= now) throw invalid(['expiresAt'], 'has passed: create a new key');
    return createApiKey(db, { ...old, token: null }, now);
  });
}

/** Revokes a key immediately: the next request with it is refused. */
export async function revokeApiKey(worker: Database, id: string, now: Instant): Promise<void> {
  if (!(await store.deactivateApiKey(worker, id, now))) throw new Problem('apiKeyNotFound', { id });
}

/** The environment's time, and whether the clock is frozen. */
export async function getTestClock(work: Work): Promise<TestClock> {
  const { now } = await readClock(work);
  return { now: now ?? work.now, frozen: now !== null };
}
