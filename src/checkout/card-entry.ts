import type { PageRequest } from '../http/page.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { BankDebit, MandateAcceptance } from '../payments/payment-method.ts';
import type { Wording } from '../wording/wording.ts';
import type { CardTaker } from './checkout-view.ts';
import type { FieldErrors } from './page-form.ts';
import { debitLooks, debitOf, walletTokens } from './page-test-method.ts';

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
  ['4000000000003220', 'pm_card_threeDSecure2Required'],
  ['4000000000005126', 'pm_card_refundFail'],
]);

/** The token of the entered payment method, or the errors by field name. */
export type MethodEntry =
  | { readonly token: string; readonly acceptance?: MandateAcceptance }
  | { readonly errors: FieldErrors };

/** Reads the payment method of a form: the fields of the test network, or the token of Stripe's form. */
export function readMethod(
  { form, browser }: Pick<PageRequest, 'form' | 'browser'>,
  taker: Pick<CardTaker, 'name' | 'takesDebits' | 'currency'>,
  { now, wording }: { readonly now: Instant; readonly wording: Wording },
): MethodEntry {
  const debit = debitOf(taker);
  if (taker.name === 'test') {
    const wallet = walletTokens.get(form.wallet ?? '');
    if (wallet !== undefined) return { token: wallet };
    return debit !== null && form.methodKind === debit
      ? readAccount(form, debit, wording)
      : readCard(form, now, wording);
  }
  const token = form.token?.trim() ?? '';
  if (token === '') return { errors: { token: wording.words.errors.card } };
  // The form of the debit showed its mandate. No address of other buyers is kept.
  return debit !== null && form.tokenKind === debit ? { token, acceptance: browser } : { token };
}

/** Parses a test account. Spaces are as one likes. */
function readAccount(form: PageRequest['form'], debit: BankDebit, { words }: Wording): MethodEntry {
  const { bank, accounts, tokens } = debitLooks[debit];
  const plain = (text = '') => text.replaceAll(/[\s-]/g, '').toUpperCase();
  const index = accounts.findIndex((account) => plain(account) === plain(form.accountNumber));
  const errors = {
    ...named('bankCode', bank === '' || plain(form.bankCode) === plain(bank) ? null : words.errors.testAccount),
    ...named('accountNumber', index < 0 ? words.errors.testAccount : null),
  };
  const token = tokens[index];
  return token === undefined || Object.keys(errors).length > 0 ? { errors } : { token };
}

/** Parses the card fields: the token, or the errors by field name. */
export function readCard(form: Readonly<Record<string, string>>, now: Instant, { words }: Wording): MethodEntry {
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
