import { randomBytes } from 'node:crypto';
import { hashApiKey } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { threads } from '../jobs/threads.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { accesses, type Permission, roles } from '../kernel/permission.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { encodeImage } from './actions-images.ts';
import {
  type ApiKey,
  type ApiKeyChange,
  decideKeyChange,
  endOfRotated,
  type Grant,
  maskApiKey,
  type NewApiKey,
  requireFuture,
  requireGrantable,
  requireRunning,
  type StoredApiKey,
} from './api-key.ts';
import { type BrandingChange, dataUri, pngOf } from './branding.ts';
import type { TestClock } from './clock.ts';
import * as store from './store.ts';
import { readClock } from './store-clock.ts';

function render(work: Work, key: StoredApiKey): ApiKey {
  return {
    ...key,
    // A key that an operator chose may be short enough to be found by its hash.
    hashText: key.id === work.apiKeyId ? key.hashText : null,
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
  /** All kinds of access when absent. */
  readonly permissions?: readonly Permission[];
  readonly expiresAt?: Instant | null;
  /** The key, if the operator chose it; random when absent. */
  readonly token?: string | null;
}

/** A new key. Its text is available only here. */
export interface MadeApiKey {
  readonly id: string;
  readonly token: string;
}

/** A new key as the API answers it. */
interface ShownApiKey {
  readonly apiKey: ApiKey;
  readonly token: string;
}

// 24 bytes are 192 bits, which cannot be guessed.
const tokenBytes = 24;
// One list of them can be read by a person.
const maxActiveApiKeys = 1_000;

/** Creates a key and stores only its hash. */
export async function createApiKey(db: Database, request: ApiKeyRequest, now: Instant): Promise<MadeApiKey> {
  const token =
    request.token ?? `sk_${request.livemode ? 'live' : 'test'}_${randomBytes(tokenBytes).toString('base64url')}`;
  const id = newId('apiKey');
  await store.insertApiKey(
    db,
    {
      id,
      environmentId: request.environmentId,
      name: request.name,
      maskedToken: maskApiKey(token),
      hash: hashApiKey(token),
      pricingModelId: request.pricingModelId ?? null,
      permissions: request.permissions ?? accesses,
      expiresAt: request.expiresAt ?? null,
    },
    now,
  );
  return { id, token };
}

/**
 * Creates a key in place of another, with its scope, permissions and expiry, in the same commit. The old one ends after
 * the overlap.
 */
async function replaceApiKey(
  db: Database,
  old: StoredApiKey & Pick<ApiKeyRequest, 'environmentId' | 'livemode'>,
  overlapSeconds: number,
  now: Instant,
): Promise<MadeApiKey> {
  requireRunning(old, now);
  const { id, replacedById } = old;
  if (replacedById !== null) throw new Problem('apiKeyReplaced', { id, replacedById });
  const made = await createApiKey(db, { ...old, token: null }, now);
  const expiresAt = endOfRotated(old, overlapSeconds, now);
  // The condition of the update decides between two rotations at once.
  if (!(await store.replaceApiKey(db, id, { replacedById: made.id, expiresAt }, now)))
    throw new Problem('apiKeyEnded', { id });
  return made;
}

/** Rotates a key for the operator. The worker's connection. */
export async function rotateApiKey(
  worker: Database,
  id: string,
  now: Instant,
  overlapSeconds = 0,
): Promise<MadeApiKey> {
  return worker.transaction().execute(async (db) => {
    const [old] = await store.listApiKeys(db, { id });
    if (old === undefined) throw new Problem('apiKeyNotFound', { id });
    return replaceApiKey(db, old, overlapSeconds, now);
  });
}

/** Revokes a key immediately for the operator: the next request with it is refused. The worker's connection. */
export async function revokeApiKey(worker: Database, id: string, now: Instant): Promise<void> {
  if (!(await store.deactivateApiKey(worker, id, now))) throw new Problem('apiKeyNotFound', { id });
}

/** The rights of the key or the person that asks. Changes of the keys of the environment wait until the work ends. */
export async function lockAsking(work: Work): Promise<Grant> {
  await store.lockApiKeys(work);
  if (work.role !== null) return { permissions: roles[work.role], expiresAt: null };
  const asking = work.apiKeyId === null ? null : await store.findApiKey(work, work.apiKeyId);
  // It may have been revoked while this request waited.
  if (asking === null || !asking.active) throw new Problem('unauthorized');
  return asking;
}

export async function showNewKey(work: Work, { id, token }: MadeApiKey): Promise<ShownApiKey> {
  return { apiKey: await getApiKey(work, id), token };
}

async function requireRoom(work: Work): Promise<void> {
  if ((await store.countActiveApiKeys(work, maxActiveApiKeys)) >= maxActiveApiKeys)
    throw new Problem('tooManyRecords', { limit: maxActiveApiKeys, records: 'active API keys' });
}

/** Creates a key for the key that asks, which gives no more than it has. */
export async function giveApiKey(work: Work, input: NewApiKey, now: Instant): Promise<ShownApiKey> {
  const asking = await lockAsking(work);
  const { name, permissions, pricingModelId = work.pinnedTo, expiresAt = asking.expiresAt } = input;
  requireFuture(expiresAt, now);
  requireGrantable(asking, { permissions, expiresAt });
  if (work.pinnedTo !== null && pricingModelId === null) throw new Problem('outsidePinnedPricingModel');
  if (work.pinnedTo !== null && pricingModelId !== work.pinnedTo)
    throw new Problem('pricingModelNotFound', { id: pricingModelId ?? '' });
  await requireRoom(work);
  const { environmentId, livemode } = work;
  const request = { environmentId, livemode, name, permissions, pricingModelId, expiresAt };
  return showNewKey(work, await createApiKey(work.db, request, now));
}

/** Changes the name, the permissions or the expiry of a key. */
export async function updateApiKey(
  work: Work,
  id: string,
  { id: bodyId, ...change }: ApiKeyChange,
  now: Instant,
): Promise<ApiKey> {
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { bodyId, pathId: id });
  const asking = await lockAsking(work);
  await store.saveApiKey(work, decideKeyChange(asking, await getApiKey(work, id), change, now), now);
  return getApiKey(work, id);
}

/** Rotates a key for the key that asks, which may do all that the new one may. */
export async function giveRotatedApiKey(
  work: Work,
  id: string,
  overlapSeconds: number,
  now: Instant,
): Promise<ShownApiKey> {
  const asking = await lockAsking(work);
  const old = await getApiKey(work, id);
  requireGrantable(asking, old);
  await requireRoom(work);
  return showNewKey(
    work,
    await replaceApiKey(work.db, { ...old, environmentId: work.environmentId }, overlapSeconds, now),
  );
}

/** Revokes a key for the key that asks. A repeat changes nothing. */
export async function endApiKey(work: Work, id: string, now: Instant): Promise<ApiKey> {
  await lockAsking(work);
  await getApiKey(work, id);
  await store.deactivateApiKey(work.db, id, now);
  return getApiKey(work, id);
}

/** The environment's time, and whether the clock is frozen. */
export async function getTestClock(work: Work): Promise<TestClock> {
  const { now } = await readClock(work);
  return { now: now ?? work.now, frozen: now !== null };
}

const imageProgram = { file: new URL('./actions-images.ts', import.meta.url), name: 'encodeImage' } as const;

/** The change with its images encoded again, so that nothing but pixels is kept. Refuses an image that cannot be read. */
export async function encodeImages(change: BrandingChange): Promise<BrandingChange> {
  const encoded = { ...change };
  for (const use of ['logo', 'icon'] as const) {
    const given = change[use];
    if (!given) continue;
    const image = await threads.run<typeof encodeImage>(imageProgram, { png: pngOf(given), use });
    if (image === null) throw invalid(['settings', 'branding', use], 'must be a PNG that can be read');
    encoded[use] = dataUri(image);
  }
  return encoded;
}
