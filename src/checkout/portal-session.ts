import { z } from 'zod';
import { countInput, Timestamp } from '../kernel/json.ts';
import { ReturnUrl } from './checkout-input.ts';

/** The default validity of a portal link: long enough to click it, and for a visit. */
export const portalSessionSeconds = 3600;
// A link acts for the customer, so none is valid for longer than a week.
const maxPortalSessionSeconds = 7 * 86_400;

/** A request for a portal link. */
export const NewPortalSession = z.object({
  returnUrl: ReturnUrl.nullish().meta({ description: 'Where the portal leads back to.' }),
  expiresInSeconds: countInput(1, maxPortalSessionSeconds)
    .optional()
    .meta({
      description: `${portalSessionSeconds} when absent, and at most ${maxPortalSessionSeconds}.`,
    }),
});
export type NewPortalSession = z.output<typeof NewPortalSession>;

/** A portal link. Anyone who has it acts for the customer until it expires. */
export const PortalSession = z
  .object({
    url: z.string().meta({ format: 'uri' }),
    expiresAt: Timestamp.meta({ description: 'Epoch milliseconds, of real time even where a test clock is set.' }),
    returnUrl: z.string().nullable().meta({ format: 'uri' }),
  })
  .meta({ id: 'PortalSession' });
export type PortalSession = z.infer<typeof PortalSession>;
