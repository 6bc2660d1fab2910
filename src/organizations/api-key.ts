import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';

export const ApiKeyId = idSchema('apiKey');

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
    expiresAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
    identityProviderHostedBillingUserId: z.string().nullable(),
    stackAuthHostedBillingUserId: z.string().nullable(),
    hashText: z.string().nullable().meta({ description: 'SHA-256 of the key, in hexadecimal.' }),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

/** A key without the fields of its environment. */
export type StoredApiKey = Omit<
  ApiKey,
  'livemode' | 'organizationId' | 'identityProviderHostedBillingUserId' | 'stackAuthHostedBillingUserId'
>;

/** The masked form of a key: its prefix and its last four characters. */
export function maskApiKey(key: string): string {
  const [prefix = ''] = /^sk_(?:test|live)_/.exec(key) ?? [];
  return `${prefix}...${key.slice(-4)}`;
}
