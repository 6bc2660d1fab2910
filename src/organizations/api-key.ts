import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { freeText, SafeString, Timestamp, TimestampInput } from '../kernel/json.ts';
import { missingFrom, type Permission, permissions } from '../kernel/permission.ts';
import { invalid, Problem, permissionMissing } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

export const ApiKeyId = idSchema('apiKey');

const KeyPermission = z.enum(permissions).meta({
  id: 'Permission',
  description:
    'Something that a key may do: a kind of access in all groups of operations, such as `read`, or in one of them, such as `usage-events:write`.',
});

/** A key of an environment. Its text is shown only once, when it is created. */
export const ApiKey = z
  .object({
    id: ApiKeyId,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z
      .string()
      .nullable()
      .meta({ description: 'The pricing model that the key is pinned to. Null: the key sees the whole environment.' }),
    name: z.string(),
    token: z.string().meta({ description: 'The key, masked: its prefix and its last four characters.' }),
    active: z.boolean(),
    type: z.literal('secret'),
    permissions: z.array(KeyPermission).meta({ description: 'What the key may do.' }),
    expiresAt: Timestamp.nullable().meta({ description: 'The end of the key in real time. Null: it has none.' }),
    replacedById: z
      .string()
      .nullable()
      .meta({ description: 'The key that took the place of this one, if it was rotated.' }),
    lastUsedAt: Timestamp.nullable(),
    identityProviderHostedBillingUserId: z.string().nullable(),
    stackAuthHostedBillingUserId: z.string().nullable(),
    hashText: z
      .string()
      .nullable()
      .meta({ description: 'SHA-256 of the key that asks, in hexadecimal. Null for other keys.' }),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

/** A new key, and its text. */
export const NewApiKeyAnswer = z.object({
  apiKey: ApiKey,
  token: z.string().meta({ description: 'The key itself. It is shown only here, and stored as a hash.' }),
});

/** A company that bills its customers. */
export const Organization = z
  .object({ id: idSchema('organization'), ...stamps, name: z.string() })
  .meta({ id: 'Organization' });

export const NewOrganization = z.object({ name: SafeString });

/** A key without the fields of its environment. */
export type StoredApiKey = Omit<
  ApiKey,
  'livemode' | 'organizationId' | 'identityProviderHostedBillingUserId' | 'stackAuthHostedBillingUserId'
>;

const PermissionsInput = z
  .array(KeyPermission)
  .min(1)
  .max(permissions.length)
  // In the order of the list, each once.
  .transform((given) => permissions.filter((each) => given.includes(each)))
  .meta({ description: 'What the key may do: no more than the key that asks.' });
const expiryInput = TimestampInput.nullish();

export const NewApiKey = z.object({
  name: SafeString,
  permissions: PermissionsInput,
  pricingModelId: freeText('name')
    .nullish()
    .meta({ description: 'The pricing model to pin the key to. By default that of the key that asks.' }),
  expiresAt: expiryInput.meta({
    description: 'The end of the key in real time. By default that of the key that asks.',
  }),
});
export type NewApiKey = z.output<typeof NewApiKey>;

export const ApiKeyChange = z.object({
  id: freeText('name').optional(),
  name: SafeString.optional(),
  permissions: PermissionsInput.optional(),
  expiresAt: expiryInput.meta({ description: 'The end of the key in real time. Null: it has none.' }),
});
export type ApiKeyChange = z.output<typeof ApiKeyChange>;

// A month covers applications that are deployed seldom.
const maxOverlapSeconds = 30 * 24 * 60 * 60;

export const ApiKeyRotation = z.object({
  overlapSeconds: z
    .int()
    .min(0)
    .max(maxOverlapSeconds)
    .default(0)
    .meta({ description: 'How long the old key stays valid beside the new one, at most 30 days.' }),
});

/** The part of a key, or of a role, that another key may have no more of. */
export interface Grant {
  readonly permissions: readonly Permission[];
  readonly expiresAt: Instant | null;
}

/** Refuses to give a key more than the one that asks has: a permission, or time. */
export function requireGrantable(asking: Grant, given: Grant): void {
  const missing = missingFrom(asking.permissions, given.permissions);
  if (missing.length > 0) throw permissionMissing(missing);
  if (asking.expiresAt === null) return;
  if (given.expiresAt === null || given.expiresAt > asking.expiresAt)
    throw new Problem('apiKeyOutlived', { expiresAt: asking.expiresAt });
}

/** Refuses a key that has ended: what was shown to others stays without effect. */
export function requireRunning({ id, active, expiresAt }: StoredApiKey, now: Instant): void {
  if (!active || (expiresAt !== null && expiresAt <= now)) throw new Problem('apiKeyEnded', { id });
}

/** The key with a change. The key that asks gives what is added. */
export function decideKeyChange(
  asking: Grant,
  key: StoredApiKey,
  change: Pick<ApiKeyChange, 'name' | 'permissions' | 'expiresAt'>,
  now: Instant,
): StoredApiKey {
  requireRunning(key, now);
  const { name = key.name, permissions = key.permissions, expiresAt = key.expiresAt } = change;
  if (expiresAt !== key.expiresAt) requireFuture(expiresAt, now);
  const isLonger = key.expiresAt !== null && (expiresAt === null || expiresAt > key.expiresAt);
  if (isLonger && key.replacedById !== null)
    throw new Problem('apiKeyReplaced', { id: key.id, replacedById: key.replacedById });
  // More time for a key is more time with all that it may do.
  if (isLonger) requireGrantable(asking, { permissions, expiresAt });
  const added = missingFrom(key.permissions, permissions);
  if (added.length > 0) requireGrantable(asking, { permissions: added, expiresAt });
  return { ...key, name, permissions, expiresAt };
}

/** Refuses an expiry that has passed. A key has an expiry of real time. */
export function requireFuture(expiresAt: Instant | null, now: Instant): void {
  if (expiresAt !== null && expiresAt <= now) throw invalid(['apiKey', 'expiresAt'], 'must be in the future');
}

/** The end of a key that is rotated. Null: at once. */
export function endOfRotated(
  { expiresAt }: Pick<StoredApiKey, 'expiresAt'>,
  overlapSeconds: number,
  now: Instant,
): Instant | null {
  if (overlapSeconds === 0) return null;
  const end = now + overlapSeconds * 1000;
  return expiresAt === null ? end : Math.min(expiresAt, end);
}

/** The masked form of a key: its prefix and its last four characters. */
export function maskApiKey(key: string): string {
  const [prefix = ''] = /^sk_(?:test|live)_/.exec(key) ?? [];
  return `${prefix}...${key.slice(-4)}`;
}
