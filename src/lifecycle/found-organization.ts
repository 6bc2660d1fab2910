import type { Instant } from '../kernel/calendar.ts';
import { createApiKey, type MadeApiKey } from '../organizations/actions.ts';
import { insertOrganization, type OrganizationRecord } from '../organizations/store.ts';
import type { Database } from '../platform/database.ts';
import { newId } from '../platform/new-id.ts';

export interface FoundRequest {
  readonly name: string;
  /** The keys themselves, where the operator chose them. */
  readonly testKey?: string | null;
  readonly liveKey?: string | null;
}

export interface Founded {
  readonly organization: OrganizationRecord;
  readonly testKey: MadeApiKey;
  readonly liveKey: MadeApiKey;
}

/** Makes an organization with its two environments and a key for each, in one commit. Owner's connection. */
export async function foundOrganization(
  owner: Database,
  { name, testKey, liveKey }: FoundRequest,
  now: Instant,
): Promise<Founded> {
  return owner.transaction().execute(async (db) => {
    const organization = await insertOrganization(db, newId('organization'), name, now);
    return {
      organization,
      testKey: await createApiKey(
        db,
        { environmentId: organization.testEnvironmentId, livemode: false, name: 'Test key', token: testKey ?? null },
        now,
      ),
      liveKey: await createApiKey(
        db,
        { environmentId: organization.liveEnvironmentId, livemode: true, name: 'Live key', token: liveKey ?? null },
        now,
      ),
    };
  });
}
