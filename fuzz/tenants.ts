// Buying like a page does serializes money like the service.
import '../src/http/json-bigint.ts';
import { createOrganization } from '../src/billing/create-organization.ts';
import type { Database } from '../src/database/database.ts';
import { buildWorld } from '../test/support/world.ts';
import { remember } from './mutations.ts';
import type { Tenant } from './requests.ts';

/** The fuzzed service. */
export interface Target {
  readonly address: string;
  /** The owner's connection, which sees every environment. */
  readonly owner: Database;
  /** Bound by row-level security, like the service. */
  readonly database: Database;
}

// On a busy machine the short trial of a world may end before it has begun.
const attempts = 5;

/** A new organization with every kind of record, and a second one without any. */
export async function makeTenant(target: Target, suffix: string): Promise<Tenant> {
  for (let left = attempts; ; left--) {
    try {
      return await tryTenant(target, suffix);
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}

async function tryTenant({ address, owner, database }: Target, suffix: string): Promise<Tenant> {
  const found = () => createOrganization(owner, { name: `Fuzz ${suffix}` }, Date.now());
  const [own, bare, stranger] = await Promise.all([found(), found(), found()]);
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${address}/api/v1${path}`, {
      method,
      headers: { authorization: own.testKey.token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const app = {
    testKey: own.testKey.token,
    testEnvironmentId: own.organization.testEnvironmentId,
    databaseOf: () => database,
    get: (path: string) => ask('GET', path),
    post: (path: string, body?: unknown) => ask('POST', path, body),
    put: (path: string, body?: unknown) => ask('PUT', path, body),
  };
  const world = await buildWorld(app, app, suffix);
  const pool = new Map<string, string[]>();
  for (const value of Object.values(world)) remember(pool, value);
  return {
    key: own.testKey.token,
    liveKey: own.liveKey.token,
    bareKey: bare.testKey.token,
    strangerKey: stranger.testKey.token,
    world,
    pool,
  };
}
