import type { Instant } from '../kernel/calendar.ts';
import type { Wording } from '../wording/wording.ts';
import type { FieldErrors } from './page-form.ts';

/**
 * Stripe's test numbers and the corresponding test tokens. Numbers are accepted on test mode pages only, where no money
 * moves. They are never stored or logged, and other numbers are ignored.
 */
const tokenOfNumber: ReadonlyMap<string, string> = new Map([
  ['4242424242424242', 'pm_card_visa'],
  ['5555555555554444', 'pm_card_mastercard'],
  ['371449635398431', 'pm_card_amex'],
  ['4000000000000002', 'pm_card_chargeDeclined'],
  ['4000000000009995', 'pm_card_chargeDeclinedInsufficientFunds'],
  ['4000000000000341', 'pm_card_chargeCustomerFail'],
  ['4000002760003184', 'pm_card_authenticationRequired'],
  ['4000000000005126', 'pm_card_refundFail'],
]);

type CardEntry = { readonly token: string } | { readonly errors: FieldErrors };

/** Parses the card fields: the token, or the errors by field name. */
export function readCard(form: Readonly<Record<string, string>>, now: Instant, { words }: Wording): CardEntry {
  const token = readNumber(form.cardNumber ?? '', words);
  const errors: Record<string, string> = {
    ...('error' in token ? { cardNumber: token.error } : {}),
    ...named('cardExpiry', expiryError(form.cardExpiry ?? '', now, words)),
    ...named('cardCode', codeError(form.cardCode ?? '', words)),
  };
  return 'error' in token || Object.keys(errors).length > 0 ? { errors } : token;
}

function named(name: string, error: string | null): FieldErrors {
  return error === null ? {} : { [name]: error };
}

type Words = Wording['words'];

function readNumber(text: string, { errors }: Words): { token: string } | { error: string } {
  const digits = text.replaceAll(/[\s-]/g, '');
  if (digits === '') return { error: errors.cardNumber };
  if (!/^\d{12,19}$/.test(digits) || !hasCheckDigit(digits)) return { error: errors.wrongNumber };
  const token = tokenOfNumber.get(digits);
  if (token === undefined) return { error: errors.realCard };
  return { token };
}

/** Luhn's check (ISO/IEC 7812-1) detects one wrong digit, or two transposed ones. */
function hasCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** A card is valid until the end of its month. */
function expiryError(text: string, now: Instant, { errors }: Words): string | null {
  const [, month, year] = /^\s*(\d{1,2})(?:\s*[/-])?\s*(\d{4}|\d{2})\s*$/.exec(text) ?? [];
  if (month === undefined || year === undefined || Number(month) < 1 || Number(month) > 12) return errors.expiry;
  const fullYear = year.length === 2 ? 2000 + Number(year) : Number(year);
  return Date.UTC(fullYear, Number(month), 1) <= now ? errors.expired : null;
}

function codeError(text: string, { errors }: Words): string | null {
  return /^\s*\d{3,4}\s*$/.test(text) ? null : errors.code;
}
