import { z } from 'zod';
import { type BillingTerms, isReverseCharged } from '../customers/billing-terms.ts';
import { CountryCode } from '../kernel/country.ts';
import { idSchema } from '../kernel/id.ts';
import { freeText, SafeString } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { type TaxQuote, TaxType } from './invoice.ts';

export const TaxRateId = idSchema('taxRate');

/** The tax rate of a country, or of one of its states. */
export const TaxRate = z
  .object({
    id: TaxRateId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    country: CountryCode,
    state: z
      .string()
      .nullable()
      .meta({ description: 'The state in upper case. Null: the rate of all states without their own.' }),
    type: TaxType,
    percentage: z.string().meta({ description: 'A decimal number as text: `19` or `8.875`.' }),
    inclusive: z.boolean().meta({ description: 'True if prices include the tax.' }),
    active: z.boolean(),
    name: z.string().nullable(),
  })
  .meta({ id: 'TaxRate' });
export type TaxRate = z.infer<typeof TaxRate>;
export type TaxRateRow = Omit<TaxRate, 'livemode' | 'organizationId'>;

const decimal = /^(?:0|[1-9]\d{0,2})(?:\.\d{1,6})?$/;
const percentageRule = 'must be from 0 to 100 with at most six decimal places, such as 19 or 8.875';

/** A percentage in a request, as decimal text or a number. Equal numbers give equal texts (`19.50` becomes `19.5`). */
export const PercentageInput = z
  .union([z.number(), z.string().trim().max(16)])
  .transform((sent, context) => {
    const text = String(sent);
    if (!decimal.test(text) || Number(text) > 100) context.addIssue({ code: 'custom', message: percentageRule });
    return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  })
  .meta({ description: 'A number from 0 to 100 with at most six decimals: "19" or "8.875".' });

const CountryInput = freeText('addressLine')
  .trim()
  .toUpperCase()
  .pipe(CountryCode)
  .meta({ description: 'The ISO 3166-1 alpha-2 code, such as `DE`.' });
const StateInput = SafeString.transform(normalizeState).nullish();

/** A request for a tax rate. */
export const TaxRateInput = z.object({
  country: CountryInput,
  state: StateInput.meta({
    description: 'The state as customers write it in their billing address, in upper or lower case.',
  }),
  type: TaxType,
  percentage: PercentageInput,
  inclusive: z.boolean().default(false),
  active: z.boolean().default(true),
  name: SafeString.nullish(),
});
export type TaxRateInput = z.output<typeof TaxRateInput>;

/** A change of a tax rate. Absent fields keep their value. Invoices keep their rate. */
export const TaxRateChange = z.object({
  id: TaxRateId.optional(),
  country: CountryInput.optional(),
  state: StateInput,
  type: TaxType.optional(),
  percentage: PercentageInput.optional(),
  inclusive: z.boolean().optional(),
  active: z.boolean().optional(),
  name: SafeString.nullish(),
});
export type TaxRateChange = z.output<typeof TaxRateChange>;

/** The tax rate after a change. */
export function decideTaxRateChange(rate: TaxRateRow, change: TaxRateChange): TaxRateRow {
  return {
    ...rate,
    country: change.country ?? rate.country,
    state: change.state === undefined ? rate.state : change.state,
    type: change.type ?? rate.type,
    percentage: change.percentage ?? rate.percentage,
    inclusive: change.inclusive ?? rate.inclusive,
    active: change.active ?? rate.active,
    name: change.name === undefined ? rate.name : change.name,
  };
}

/** The compared form of a state: ` bayern` and `Bayern` are the same. */
function normalizeState(text: string): string {
  return text.trim().toUpperCase();
}

/** The fields of a buyer that determine the tax. */
interface TaxedBuyer {
  readonly taxExempt: boolean;
  readonly billingTerms: Pick<BillingTerms, 'taxId' | 'reverseCharge'> | null;
  readonly billingAddress: {
    readonly address: { readonly country: string; readonly state?: string | null | undefined };
  } | null;
}

/** The normalized tax place of a buyer; null if exempt, under reverse charge or without an address. */
export function taxPlace({
  taxExempt,
  billingTerms,
  billingAddress,
}: TaxedBuyer): { country: string; state: string | null } | null {
  if (taxExempt || isReverseCharged(billingTerms) || billingAddress === null) return null;
  const { country, state } = billingAddress.address;
  return { country: country.trim().toUpperCase(), state: normalizeState(state ?? '') || null };
}

/** The tax of a place: the active rate of the state, else of the country, else none. */
export function decideTax(
  place: { readonly country: string; readonly state: string | null },
  rates: readonly TaxQuote[],
): TaxQuote | null {
  const ofCountry = rates.filter(({ country }) => country === place.country);
  const ofState = place.state === null ? undefined : ofCountry.find(({ state }) => state === place.state);
  return ofState ?? ofCountry.find(({ state }) => state === null) ?? null;
}
