import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { freeText, SafeString } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { defaultEventTypes, eventTypes } from './event.ts';

export const WebhookId = idSchema('webhook');

/** Whether the text is an absolute http(s) URL without credentials, which would be stored in plain text. */
export function isEndpointUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

const EndpointUrl = freeText('url')
  .refine(isEndpointUrl, { message: 'must be an absolute http or https URL without user name and password' })
  .meta({ format: 'uri', example: 'https://example.com/webhooks/billing' });

/** The types that a webhook may subscribe to. The last one is for clients of another service: accepted, never sent. */
export const WebhookFilterType = z.enum([...eventTypes, 'sync.events_available']).meta({
  id: 'WebhookFilterType',
  description:
    'A type of event. `sync.events_available` is accepted for compatibility, and no such event is ever sent.',
});
export type WebhookFilterType = z.infer<typeof WebhookFilterType>;

// Duplicates are removed, so this only rejects absurd requests.
const maxFilterTypes = 100;
const filterTypes = `Empty: all types but \`${eventTypes.slice(defaultEventTypes.length).join('`, `')}\`.`;
const FilterTypesInput = z
  .array(WebhookFilterType)
  .max(maxFilterTypes)
  .transform((types) => [...new Set(types)])
  .meta({ description: `The event types to send. ${filterTypes}` });

/**
 * The maximum number of webhooks per pricing model. Each event is addressed to its webhooks in its own commit, so they
 * must be few.
 */
export const maxWebhooks = 100;

/**
 * How long messages are also signed with the previous secret after a rotation: a working day to update every receiver.
 */
export const previousSecretLifetimeMs = 24 * 60 * 60 * 1000;

/** An address that receives events. */
export const Webhook = z
  .object({
    id: WebhookId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string().meta({ description: 'The pricing model whose events are sent.' }),
    name: z.string(),
    url: z.string().meta({ format: 'uri' }),
    filterTypes: z.array(WebhookFilterType).meta({ description: `The event types that are sent. ${filterTypes}` }),
    active: z.boolean(),
    disabledReason: z.string().nullable().meta({
      description:
        'The reason why the service has disabled the webhook, or null. To enable it, set `active` to `true`.',
    }),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;

/** The webhook as the caller has to see it, when the sender of another cell has disabled its copy. */
export function joinCopies(webhook: Webhook, copies: readonly Webhook[]): Webhook {
  const disabled = copies.find(({ id, disabledReason }) => id === webhook.id && disabledReason !== null);
  if (!webhook.active || disabled === undefined) return webhook;
  const { active, disabledReason, updatedAt } = disabled;
  return { ...webhook, active, disabledReason, updatedAt: Math.max(updatedAt, webhook.updatedAt) };
}

export const NewWebhook = z.object({
  name: SafeString,
  url: EndpointUrl,
  filterTypes: FilterTypesInput,
  active: z.boolean().default(true),
  pricingModelId: z
    .string()
    .min(1)
    .max(255)
    .nullish()
    .meta({ description: 'By default the pricing model of the key, or else the default one.' }),
});
export type NewWebhook = z.output<typeof NewWebhook>;

export const WebhookChange = z.object({
  id: freeText('name').optional(),
  name: SafeString.optional(),
  url: EndpointUrl.optional(),
  filterTypes: FilterTypesInput.optional(),
  active: z.boolean().optional(),
  pricingModelId: freeText('name').nullish().meta({ description: 'Fixed: send the present value or nothing.' }),
});
export type WebhookChange = z.output<typeof WebhookChange>;
