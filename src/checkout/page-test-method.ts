import { type Html, html } from '../kernel/html.ts';
import type { BankDebit } from '../payments/payment-method.ts';
import type { CardTaker } from './checkout-view.ts';
import { type FormState, fieldHtml, foldedHtml } from './page-form.ts';
import { acceptedMarks, walletMark, walletNames } from './page-text.ts';

/** The debits of the currencies that have one. */
const debitOfCurrency: ReadonlyMap<string, BankDebit> = new Map([
  ['EUR', 'sepa_debit'],
  ['GBP', 'bacs_debit'],
  ['USD', 'us_bank_account'],
]);

/** The kind of debit that a page offers; null: none. */
export function debitOf({ takesDebits, currency }: Pick<CardTaker, 'takesDebits' | 'currency'>): BankDebit | null {
  return takesDebits ? (debitOfCurrency.get(currency) ?? null) : null;
}

interface DebitLook {
  readonly name: 'sepaDebit' | 'bacsDebit' | 'usBankAccount';
  readonly mandate: 'mandateSepa' | 'mandateBacs' | 'mandateUsBank';
  /** The code of the bank; absent: the number of the account has it. */
  readonly bankLabel?: 'sortCode' | 'routingNumber';
  readonly accountLabel: 'iban' | 'accountNumber';
  readonly bank: string;
  /** Stripe's test accounts: the debit of the first one succeeds. */
  readonly accounts: readonly [string, string];
  readonly tokens: readonly [string, string];
}

export const debitLooks: Readonly<Record<BankDebit, DebitLook>> = {
  sepa_debit: {
    ...{ name: 'sepaDebit', mandate: 'mandateSepa', accountLabel: 'iban', bank: '' },
    accounts: ['DE89 3704 0044 0532 0130 00', 'DE62 3704 0044 0532 0130 01'],
    tokens: ['pm_sepaDebit_processing', 'pm_sepaDebit_fails'],
  },
  bacs_debit: {
    ...{
      name: 'bacsDebit',
      mandate: 'mandateBacs',
      bankLabel: 'sortCode',
      accountLabel: 'accountNumber',
      bank: '10 88 00',
    },
    accounts: ['00012345', '33333335'],
    tokens: ['pm_bacsDebit_processing', 'pm_bacsDebit_fails'],
  },
  us_bank_account: {
    ...{ name: 'usBankAccount', mandate: 'mandateUsBank', bankLabel: 'routingNumber', accountLabel: 'accountNumber' },
    bank: '110000000',
    accounts: ['000123456789', '000111111116'],
    tokens: ['pm_usBankAccount_processing', 'pm_usBankAccount_fails'],
  },
};

/** The test tokens of wallets. */
export const walletTokens: ReadonlyMap<string, string> = new Map([
  ['apple_pay', 'pm_card_applePay'],
  ['google_pay', 'pm_card_googlePay'],
]);

/**
 * The payment methods of the test network, as Stripe's form shows real ones. They are wallets, a card and, where the seller
 * takes it, a bank debit. `submit` are the attributes of the button that pays.
 */
export function testMethodHtml(taker: CardTaker, state: FormState, submit: Html | null): Html {
  const { words } = state.wording;
  const debit = debitOf(taker);
  const isDebit = state.errors.accountNumber !== undefined || state.errors.bankCode !== undefined;
  const kind = (value: string, label: string, isChecked: boolean) =>
    html`<label class="choice"><input type="radio" name="methodKind" value="${value}"${isChecked && html` checked`}> <span>${label}</span></label>`;
  // The Enter key presses the first button, which must not be that of a wallet.
  return html`<button class="unseen"${submit} tabindex="-1" aria-hidden="true"></button>
<div class="wallets">${[...walletNames].map(([value, name]) => html`<button class="wallet" name="wallet" value="${value}" aria-label="${name}">${walletMark(value)}</button>\n`)}</div>
<p class="or"><span>${words.card.orPay}</span></p>
<fieldset>
<legend>${debit === null ? words.card.card : words.checkout.paymentMethod}${acceptedMarks()}</legend>
${debit !== null && kind('card', words.card.card, !isDebit)}
<div class="of-card">${testCardHtml(state)}</div>
${
  debit !== null &&
  html`${kind(debit, words.card[debitLooks[debit].name], isDebit)}
<div class="of-debit">${testDebitHtml(debit, taker, state)}</div>`
}
</fieldset>
`;
}

function testCardHtml(state: FormState): Html {
  const { testCard, testMore, testOthers, testWallets, number, expiry, expiryHint, code, codeHint } =
    state.wording.words.card;
  const numeric = { inputMode: 'numeric' } as const;
  const others = html`<p class="hint">${testOthers}</p>\n<p class="hint">${testWallets}</p>`;
  return html`<p class="hint">${testCard}</p>
${fieldHtml({ name: 'cardNumber', label: number, autocomplete: 'cc-number', maxLength: 30, ...numeric }, state)}
<div class="pair">
${fieldHtml({ name: 'cardExpiry', label: expiry, hint: expiryHint, autocomplete: 'cc-exp', maxLength: 9, ...numeric }, state)}
${fieldHtml({ name: 'cardCode', label: code, hint: codeHint, autocomplete: 'cc-csc', maxLength: 6, ...numeric }, state)}
</div>
${foldedHtml(testMore, others, false)}`;
}

function testDebitHtml(debit: BankDebit, { seller }: CardTaker, state: FormState): Html {
  const { words, say } = state.wording;
  const { bankLabel, accountLabel, mandate, bank, accounts } = debitLooks[debit];
  const [good, bad] = accounts.map((account) => `${bank} ${account}`.trim());
  const account = { name: 'accountNumber', label: words.card[accountLabel], maxLength: 40 };
  return html`<p class="hint">${say(words.card.testDebits, { good: good ?? '', bad: bad ?? '' })}</p>
${bankLabel !== undefined && fieldHtml({ name: 'bankCode', label: words.card[bankLabel], maxLength: 12, inputMode: 'numeric' }, state)}
${fieldHtml(account, state)}
<p class="soft">${say(words.card[mandate], { seller })}</p>`;
}
