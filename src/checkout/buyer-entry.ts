import type { BillingAddress } from '../customers/customer.ts';
import { countryCodes } from '../kernel/country.ts';
import { textLimits } from '../kernel/text-limits.ts';
import type { Wording } from '../wording/wording.ts';
import { type AddOnChoice, addOnField } from './checkout.ts';
import type { CheckoutAddOn, CheckoutDraft, CheckoutView } from './checkout-view.ts';
import type { FieldErrors } from './page-form.ts';

/** The fields of the first step, in order. Address fields have the names of the record. */
export const addressNames = ['country', 'line1', 'line2', 'city', 'state', 'postal_code'] as const;
export type AddressName = (typeof addressNames)[number];
const detailNames = ['quantity', 'discountCode', 'name', 'email', 'company', 'taxId', ...addressNames] as const;
type DetailName = (typeof detailNames)[number];

/** The field values of the first step, as text. The text of an add-on is its quantity. */
export type Details = Readonly<Record<DetailName, string>> & { readonly [addOn: `addOn${number}`]: string };

/** The hidden field of a form with check boxes, because a box that is not checked is not sent. */
export const asksAddOns = 'asksAddOns';

/** The values that the session already has. */
export function knownDetails(view: CheckoutView): Details {
  const { customer, quantity, discountCode } = view;
  const { billingAddress } = customer;
  const address = billingAddress?.address;
  return {
    quantity: String(quantity),
    discountCode: discountCode ?? '',
    name: customer.name ?? '',
    email: customer.email ?? '',
    company: companyOf(view),
    taxId: customer.taxId ?? '',
    country: address?.country ?? '',
    line1: address?.line1 ?? '',
    line2: address?.line2 ?? '',
    city: address?.city ?? '',
    state: address?.state ?? '',
    postal_code: address?.postal_code ?? '',
    ...Object.fromEntries(view.addOns.map(({ quantity: count }, index) => [addOnField(index), String(count)])),
  };
}

/** The name on invoices, if it is not that of the customer. */
function companyOf({ customer: { name, billingAddress } }: Pick<CheckoutView, 'customer'>): string {
  const known = billingAddress?.name ?? '';
  return known === name ? '' : known;
}

/** The submitted values; fields that the form does not have come from the session. */
export function enteredDetails(view: CheckoutView, form: Readonly<Record<string, string>>): Details {
  const known = knownDetails(view);
  const addOns = view.addOns.map((addOn, index) => {
    const name = addOnField(index);
    const unsent = isCheckBox(addOn) && form[asksAddOns] !== undefined ? '0' : (known[name] ?? '');
    return [name, form[name]?.trim() ?? unsent];
  });
  return Object.fromEntries([...detailNames.map((name) => [name, form[name]?.trim() ?? known[name]]), ...addOns]);
}

const longest: Readonly<Partial<Record<DetailName, number>>> = {
  name: textLimits.name,
  email: textLimits.email,
  ...Object.fromEntries(addressNames.map((name) => [name, textLimits.addressLine])),
};

/** Whether an add-on is taken at one quantity or left out. */
export function isCheckBox({ optional, minimumQuantity, maximumQuantity }: CheckoutAddOn): boolean {
  return optional && minimumQuantity === maximumQuantity;
}

/** Whether the buyer has something to choose of an add-on. */
export function isChosen(addOn: CheckoutAddOn): boolean {
  return addOn.optional || addOn.minimumQuantity !== addOn.maximumQuantity;
}

export const countries: ReadonlySet<string> = new Set(countryCodes);

/** Input errors that need no lookup. Codes and amounts are checked against the records. */
export function detailErrors(view: CheckoutView, details: Details): FieldErrors {
  const { words, say } = view.wording;
  const errors: Record<string, string> = {};
  for (const name of detailNames)
    if (details[name].length > (longest[name] ?? textLimits.name))
      errors[name] = say(words.errors.tooLong, { count: `${longest[name] ?? textLimits.name}` });
  if (view.mayChangeQuantity && !isAllowed(view, details.quantity))
    errors.quantity = say(words.errors.quantity, rangeOf(view.minimumQuantity, view.maximumQuantity));
  for (const [index, addOn] of view.addOns.entries()) {
    const text = details[addOnField(index)] ?? '';
    if (!isWithin(addOn, text) && !(addOn.optional && text === '0'))
      errors[addOnField(index)] = addOnError(addOn, view.wording);
  }
  if (view.isAnonymous && details.name === '') errors.name = words.errors.name;
  if (view.isAnonymous && !/^[^\s@]+@[^\s@]+$/.test(details.email)) errors.email = words.errors.email;
  if (asksAddress(view) && !countries.has(details.country)) errors.country = words.errors.country;
  return errors;
}

/** The errors of what is bought, without those of the buyer. */
export function orderErrors(errors: FieldErrors): FieldErrors {
  const isOfOrder = (name: string) => name === 'quantity' || name === 'discountCode' || name.startsWith('addOn');
  return Object.fromEntries(Object.entries(errors).filter(([name]) => isOfOrder(name)));
}

function isAllowed({ minimumQuantity, maximumQuantity }: CheckoutView, text: string): boolean {
  return isWithin({ minimumQuantity: minimumQuantity ?? 1, maximumQuantity: maximumQuantity ?? 1 }, text);
}

function isWithin(
  { minimumQuantity, maximumQuantity }: Pick<CheckoutAddOn, 'minimumQuantity' | 'maximumQuantity'>,
  text: string,
): boolean {
  const quantity = Number(text);
  return /^[1-9]\d{0,9}$/.test(text) && quantity >= minimumQuantity && quantity <= maximumQuantity;
}

function addOnError(addOn: CheckoutAddOn, { words, say }: Wording): string {
  const { optional, minimumQuantity: least, maximumQuantity: most } = addOn;
  const { exactly, exactlyOrNone, quantity, quantityOrNone } = words.errors;
  if (least === most) return say(optional ? exactlyOrNone : exactly, { count: `${least}` });
  return say(optional ? quantityOrNone : quantity, rangeOf(least, most));
}

/** The limits of a quantity, as values of a text. */
export function rangeOf(least: number | null, most: number | null): { readonly least: string; readonly most: string } {
  return { least: `${least}`, most: `${most}` };
}

/** A purchase requires an address; adding a card does not. */
export function asksAddress({ type }: CheckoutView): boolean {
  return type !== 'add_payment_method';
}

/**
 * The input that changes amounts. An empty code takes the code of the session out, if that was in effect. Otherwise the order
 * decides whether the code of the session counts.
 */
export function draftOf(view: CheckoutView, details: Details): CheckoutDraft {
  const isLeft = details.discountCode === '' && view.discountCode === null;
  return {
    ...(view.mayChangeQuantity ? { quantity: Number(details.quantity) } : {}),
    ...(view.addOns.length > 0 ? { addOns: chosenAddOns(view, details) } : {}),
    ...(view.mayDiscount && !isLeft ? { discountCode: details.discountCode === '' ? null : details.discountCode } : {}),
    ...(asksAddress(view) && details.country !== '' ? { billingAddress: addressOf(view, details) } : {}),
    ...(asksAddress(view) ? { taxId: details.taxId === '' ? null : details.taxId } : {}),
  };
}

function chosenAddOns({ addOns }: CheckoutView, details: Details): AddOnChoice[] {
  return addOns.map(({ priceId }, index) => ({ priceId, quantity: Number(details[addOnField(index)] ?? 0) }));
}

/** Whether all is entered on one page: the amounts do not depend on the address, or it is known. */
export function isOneStep(view: CheckoutView): boolean {
  const isKnown = !view.isAnonymous && countries.has(view.customer.billingAddress?.address.country ?? '');
  return asksAddress(view) && (!view.isTaxed || isKnown);
}

/** The address to store; other fields of the record stay. */
function addressOf(view: CheckoutView, details: Details): BillingAddress {
  const { customer, isAnonymous } = view;
  const known = customer.billingAddress;
  const orNull = (text: string) => (text === '' ? null : text);
  const isNamed = details.company !== '' || companyOf(view) !== '';
  return {
    ...known,
    ...(isAnonymous ? { name: orNull(details.name), email: orNull(details.email) } : {}),
    ...(isNamed ? { name: orNull(details.company || (isAnonymous ? details.name : '')) } : {}),
    address: {
      ...known?.address,
      line1: orNull(details.line1),
      line2: orNull(details.line2),
      city: orNull(details.city),
      state: orNull(details.state),
      postal_code: orNull(details.postal_code),
      country: details.country,
    },
  };
}
