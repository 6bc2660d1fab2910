import type { BillingAddress } from '../customers/customer.ts';
import { countryCodes } from '../kernel/country.ts';
import type { CheckoutDraft, CheckoutView } from './checkout-view.ts';
import type { FieldErrors } from './page-form.ts';

/** The fields of the first step, in their order. The names of an address are those of its record. */
const addressNames = ['country', 'line1', 'line2', 'city', 'state', 'postal_code'] as const;
export const detailNames = ['quantity', 'discountCode', 'name', 'email', ...addressNames] as const;
export type DetailName = (typeof detailNames)[number];

/** What stands in the fields of the first step, as text. */
export type Details = Readonly<Record<DetailName, string>>;

/** What the session knows already. */
export function knownDetails(view: CheckoutView): Details {
  const { customer, quantity, discountCode } = view;
  const address = customer.billingAddress?.address;
  return {
    quantity: String(quantity),
    discountCode: discountCode ?? '',
    name: customer.name ?? '',
    email: customer.email ?? '',
    country: address?.country ?? '',
    line1: address?.line1 ?? '',
    line2: address?.line2 ?? '',
    city: address?.city ?? '',
    state: address?.state ?? '',
    postal_code: address?.postal_code ?? '',
  };
}

/** What was filled in; what was not asked for is as the session knows it. */
export function enteredDetails(view: CheckoutView, form: Readonly<Record<string, string>>): Details {
  const known = knownDetails(view);
  return Object.fromEntries(detailNames.map((name) => [name, form[name]?.trim() ?? known[name]])) as Details;
}

const countries: ReadonlySet<string> = new Set(countryCodes);

/** What has to be filled in otherwise before it can be looked at. Of codes and numbers in stock the seller's records decide. */
export function detailErrors(view: CheckoutView, details: Details): FieldErrors {
  const errors: Record<string, string> = {};
  if (view.mayChangeQuantity && !/^[1-9]\d{0,8}$/.test(details.quantity))
    errors.quantity = 'Enter a quantity of 1 or more.';
  if (view.isAnonymous && details.name === '') errors.name = 'Enter your name.';
  if (view.isAnonymous && !/^[^\s@]+@[^\s@]+$/.test(details.email))
    errors.email = 'Enter your email address, such as name@example.com.';
  if (asksAddress(view) && !countries.has(details.country)) errors.country = 'Choose your country.';
  return errors;
}

/** Who buys is asked where; who only adds a card is not. */
export function asksAddress({ type }: CheckoutView): boolean {
  return type !== 'add_payment_method';
}

/** What was filled in, as far as it changes amounts. */
export function draftOf(view: CheckoutView, details: Details): CheckoutDraft {
  return {
    ...(view.mayChangeQuantity ? { quantity: Number(details.quantity) } : {}),
    ...(view.mayDiscount ? { discountCode: details.discountCode === '' ? null : details.discountCode } : {}),
    ...(asksAddress(view) ? { billingAddress: addressOf(view, details) } : {}),
  };
}

/** The address as it is to be kept: what the record knows besides stays. */
function addressOf({ customer, isAnonymous }: CheckoutView, details: Details): BillingAddress {
  const known = customer.billingAddress;
  const orNull = (text: string) => (text === '' ? null : text);
  return {
    ...known,
    ...(isAnonymous ? { name: orNull(details.name), email: orNull(details.email) } : {}),
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
