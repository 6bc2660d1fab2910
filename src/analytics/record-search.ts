import { z } from 'zod';

/** The types of records that a search finds, in the order of its answer. */
const foundTypes = ['customer', 'subscription', 'invoice', 'product', 'price', 'payment', 'creditNote'] as const;

/** A search names a few records of each type: who looks for others writes more of the text. */
export const mostOfType = 5;

// A trigram index finds nothing shorter.
const minLength = 3;
const maxLength = 255;

export const SearchText = z
  .string()
  .trim()
  .min(minLength, `must have at least ${minLength} characters`)
  .max(maxLength, `must have at most ${maxLength} characters`)
  .meta({ description: `The text, of at least ${minLength} characters.` });

export const SearchResult = z
  .object({
    type: z.enum(foundTypes),
    id: z.string(),
    name: z.string().nullable().meta({
      description: 'The name, or the number of an invoice or credit note. Null for a draft and for a payment.',
    }),
    detail: z.string().nullable().meta({
      description:
        'The e-mail address or external id of a customer, the slug of a product or price, else the customer.',
    }),
    status: z.string().nullable().meta({ description: 'Of a customer `archived`, of a product or price `inactive`.' }),
    pricingModelId: z.string(),
  })
  .meta({ id: 'SearchResult' });
export type SearchResult = z.infer<typeof SearchResult>;

/** The results by type, and within a type the newest first, up to the maximum. Cells have the same products and prices. */
export function inOrder(results: readonly SearchResult[]): SearchResult[] {
  const byId = new Map(results.map((each) => [each.id, each]));
  const newest = [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
  return foundTypes.flatMap((type) => newest.filter((each) => each.type === type).slice(0, mostOfType));
}
