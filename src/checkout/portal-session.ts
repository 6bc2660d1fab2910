import { z } from 'zod';
import { countInput, Timestamp } from '../kernel/json.ts';
import { ReturnUrl } from './checkout-input.ts';

/** The default validity of a portal link: long enough to click it, and for a visit. */
export const portalSessionSeconds = 3600;
// A link acts for the customer, so none is valid for longer than a week.
const maxPortalSessionSeconds = 7 * 86_400;

/** A request for a portal link. */
export const NewPortalSession = z.object({
  returnUrl: ReturnUrl.nullish().meta({ description: 'The address of the link that leads back from the portal.' }),
  expiresInSeconds: countInput(1, maxPortalSessionSeconds)
    .optional()
    .meta({
      description: `The lifetime of the link in seconds, by default ${portalSessionSeconds} and at most ${maxPortalSessionSeconds}.`,
    }),
});
export type NewPortalSession = z.output<typeof NewPortalSession>;

/** A portal link. Anyone who has it acts for the customer until it expires. */
export const PortalSession = z
  .object({
    url: z.string().meta({ format: 'uri' }),
    expiresAt: Timestamp.meta({ description: 'Real time in epoch milliseconds, even if the test clock is set.' }),
    returnUrl: z.string().nullable().meta({ format: 'uri' }),
  })
  .meta({ id: 'PortalSession' });
export type PortalSession = z.infer<typeof PortalSession>;
