import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Instant } from '../kernel/calendar.ts';
import type { BankDebit, PaymentMethodData, PaymentMethodType } from './payment-method.ts';
import type {
  AttachOutcome,
  ChargeOutcome,
  ChargeRequest,
  PaymentProcessor,
  RefundOutcome,
  RefundRequest,
} from './processor.ts';

/** A permanent operation of the network. */
export type TestOperation = TestCharge | TestRefund | TestAnswer;

interface Operation {
  readonly idempotencyKey: string;
  /** The charge, or for a refund the refunded charge. */
  readonly reference: string;
  readonly amount: bigint;
  readonly token: string | null;
  readonly createdAt: Instant;
}
export interface TestCharge extends Operation {
  readonly kind: 'charge';
  readonly outcome: ChargeOutcome;
}
interface TestRefund extends Operation {
  readonly kind: 'refund';
  readonly outcome: RefundOutcome;
}

/** The answer of a customer to its bank. */
interface TestAnswer extends Operation {
  readonly kind: 'answer';
  readonly outcome: ChargeOutcome;
}

/** The storage of the network, with separate commits: an external network does not forget when we roll back. */
export interface TestNetworkMemory {
  /** The outcomes of these charges in order: those stored under their keys, else those given, which are then stored. */
  chargeAll(charges: readonly TestCharge[]): Promise<ChargeOutcome[]>;
  /**
   * The operation of a charge under this key: the stored one, else the result of `decide` for the known operations, which
   * is then stored. Operations of one charge are serialized.
   */
  addOnce<Added extends TestRefund | TestAnswer>(
    idempotencyKey: string,
    reference: string,
    decide: (known: readonly TestOperation[]) => Added,
  ): Promise<Added>;
  /** The operations of a charge: itself and its refunds. */
  known(reference: string): Promise<readonly TestOperation[]>;
}

const hourMs = 60 * 60 * 1000;
/** The duration of a slow charge. */
const settlementDelayMs = hourMs;
/** A charge that nobody confirms expires before a subscription stops to wait for its first payment. */
const confirmationLifetimeMs = 22 * hourMs;

interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The behavior of a token. Everything not given succeeds immediately. */
interface TestToken {
  readonly type: PaymentMethodType;
  readonly data: PaymentMethodData;
  readonly attach?: Failure;
  readonly charge?: Failure | 'takes_time' | 'asks_customer';
  /** The end of a slow charge, where it fails. */
  readonly ends?: Failure;
  readonly refund?: Failure;
}

// An expiry that no test clock reaches by accident.
const expiry = { expMonth: 12, expYear: 2099 };
const card = (brand: string, last4: string, rest: Omit<TestToken, 'type' | 'data'> = {}): TestToken => ({
  type: 'card',
  data: { brand, last4, ...expiry },
  ...rest,
});

const unknownToken = { code: 'resource_missing', message: 'The payment method does not exist.' };
const declined = { code: 'card_declined', message: 'Your card was declined.' };
const unconfirmed = { code: 'authentication_required', message: 'The payment was not confirmed to the bank.' };
const noFunds = { code: 'insufficient_funds', message: 'The bank account has insufficient funds.' };

/** A wallet on a telephone, which has a card in it. */
const wallet = (name: string, { data, ...rest }: TestToken): TestToken => ({
  ...rest,
  data: { ...data, wallet: name },
});

/** A debit of a bank account, which succeeds after an hour or fails then. */
function debitTokens(type: BankDebit, name: string, data: PaymentMethodData): Readonly<Record<string, TestToken>> {
  const debit = { type, data, charge: 'takes_time' } as const;
  return { [`pm_${name}_processing`]: debit, [`pm_${name}_fails`]: { ...debit, ends: noFunds } };
}

/**
 * Stripe's names for its test cards, so that one script runs against both. Tokens of wallets, of slow charges and of debits
 * are ours.
 */
const testTokens: ReadonlyMap<string, TestToken> = new Map(
  Object.entries({
    pm_card_visa: card('visa', '4242'),
    pm_card_mastercard: card('mastercard', '4444'),
    pm_card_amex: card('amex', '8431'),
    pm_card_chargeDeclined: card('visa', '0002', {
      attach: { code: 'card_declined (generic_decline)', message: 'Your card was declined.' },
    }),
    pm_card_chargeDeclinedInsufficientFunds: card('visa', '9995', {
      attach: { code: 'card_declined (insufficient_funds)', message: 'Your card has insufficient funds.' },
    }),
    pm_card_chargeCustomerFail: card('visa', '0341', { charge: declined }),
    // Every charge here is off-session, so the customer cannot authenticate.
    pm_card_authenticationRequired: card('visa', '3184', {
      charge: {
        code: 'authentication_required',
        message: 'Your card was declined. This transaction requires authentication.',
      },
    }),
    // Its bank asks, where the customer is there to answer.
    pm_card_threeDSecure2Required: card('visa', '3220', { charge: 'asks_customer' }),
    pm_card_applePay: wallet('apple_pay', card('visa', '4242')),
    pm_card_googlePay: wallet('google_pay', card('mastercard', '4444')),
    pm_card_processing: card('visa', '4242', { charge: 'takes_time' }),
    pm_card_refundFail: card('visa', '5126', {
      refund: { code: 'expired_or_canceled_card', message: 'The card is lost, expired or canceled.' },
    }),
    pm_usBankAccount_success: { type: 'us_bank_account', data: { bankName: 'STRIPE TEST BANK', last4: '6789' } },
    ...debitTokens('us_bank_account', 'usBankAccount', { bankName: 'STRIPE TEST BANK', last4: '6789' }),
    ...debitTokens('sepa_debit', 'sepaDebit', { bankCode: '37040044', last4: '3000' }),
    ...debitTokens('bacs_debit', 'bacsDebit', { sortCode: '108800', last4: '2345' }),
  } satisfies Record<string, TestToken>),
);

/** A simulated payment network: no account and no money, but realistic behavior. */
export function createTestProcessor(memory: TestNetworkMemory): PaymentProcessor {
  return {
    name: 'test',
    async attachPaymentMethod({ token }) {
      return attach(token);
    },
    async charge(request) {
      const [outcome] = await memory.chargeAll([newCharge(request)]);
      assert(outcome, 'a charge has an outcome');
      return outcome;
    },
    chargeAll: (requests) => memory.chargeAll(requests.map(newCharge)),
    async retrieve(reference, now) {
      return outcomeAmong(await memory.known(reference), now);
    },
    async answerBank(reference, confirms, now) {
      const idempotencyKey = `answer_${reference}`;
      await memory.addOnce(idempotencyKey, reference, (known) => {
        const { amount, token } = requireCharge(known);
        const outcome = confirms ? succeeded(reference, now) : failedWith(reference, unconfirmed);
        return { kind: 'answer', idempotencyKey, reference, amount, token, createdAt: now, outcome };
      });
    },
    async refund(request) {
      const { idempotencyKey, reference, amount, now } = request;
      assert(reference !== null, 'a payment that succeeded knows its charge');
      const { outcome } = await memory.addOnce<TestRefund>(idempotencyKey, reference, (known) => ({
        kind: 'refund',
        idempotencyKey,
        reference,
        amount,
        token: null,
        createdAt: now,
        outcome: decideRefund(known, request),
      }));
      return outcome;
    },
  };
}

function newCharge({ idempotencyKey, amount, token, customerPresent, now }: ChargeRequest): TestCharge {
  const reference = `test_charge_${idempotencyKey}`;
  const outcome = outcomeOf(token, { reference, customerPresent, now });
  return { kind: 'charge', idempotencyKey, reference, amount, token, createdAt: now, outcome };
}

function attach(token: string): AttachOutcome {
  const found = testTokens.get(token);
  if (found === undefined) return { result: 'unknown', known: [...testTokens.keys()] };
  if (found.attach !== undefined) return { result: 'declined', ...found.attach };
  // Each token behaves as a card of its own.
  return { result: 'attached', type: found.type, data: found.data, country: 'US', fingerprint: token };
}

function outcomeOf(
  token: string | null,
  { reference, customerPresent, now }: Pick<ChargeRequest, 'customerPresent' | 'now'> & { readonly reference: string },
): ChargeOutcome {
  const { charge } = testTokens.get(token ?? '') ?? { charge: unknownToken };
  if (charge === 'takes_time') return { result: 'processing', reference, checkAt: now + settlementDelayMs };
  if (charge === 'asks_customer') return customerPresent ? asked(reference, now) : failedWith(reference, unconfirmed);
  return charge === undefined ? succeeded(reference, now) : failedWith(reference, charge);
}

function failedWith(reference: string, failure: Failure): ChargeOutcome {
  return { result: 'failed', reference, ...failure };
}

/** Our page is that of the bank, and needs no secret of a script. */
function asked(reference: string, now: Instant): ChargeOutcome {
  const nextAction = { type: 'test_bank', url: null, clientSecret: '' };
  return { result: 'requires_action', reference, nextAction, checkAt: now + hourMs };
}

function requireCharge(known: readonly TestOperation[]): TestCharge {
  const charge = chargeAmong(known);
  assert(charge, 'the network knows its charge');
  return charge;
}

/** A slow charge ends when its time has come, and one that the bank asks about when it is answered or expires. */
function outcomeAmong(known: readonly TestOperation[], now: Instant): ChargeOutcome {
  const { outcome, token, createdAt, reference } = requireCharge(known);
  if (outcome.result === 'processing') {
    if (now < outcome.checkAt) return outcome;
    const failure = testTokens.get(token ?? '')?.ends;
    return failure === undefined ? succeeded(reference, outcome.checkAt) : failedWith(reference, failure);
  }
  if (outcome.result !== 'requires_action') return outcome;
  const answer = known.find((operation) => operation.kind === 'answer');
  if (answer !== undefined) return answer.outcome;
  return now < createdAt + confirmationLifetimeMs ? asked(reference, now) : failedWith(reference, unconfirmed);
}

function succeeded(reference: string, settledAt: Instant): ChargeOutcome {
  return { result: 'succeeded', reference, settledAt, receiptNumber: receiptNumberOf(reference) };
}

/** Eight digits in two groups, deterministic per charge. */
function receiptNumberOf(reference: string): string {
  const digits = createHash('sha256').update(reference).digest().readUInt32BE().toString().padStart(8, '0').slice(-8);
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}

/** A network refunds at most what it charged. */
function decideRefund(known: readonly TestOperation[], { idempotencyKey, amount, now }: RefundRequest): RefundOutcome {
  const charge = chargeAmong(known);
  if (charge === undefined || outcomeAmong(known, now).result !== 'succeeded')
    return { result: 'failed', code: 'charge_not_succeeded', message: 'There is no charge to refund.' };
  const failure = testTokens.get(charge.token ?? '')?.refund;
  if (failure !== undefined) return { result: 'failed', ...failure };
  const refunded = known
    .filter((operation) => operation.kind === 'refund' && operation.outcome.result === 'succeeded')
    .reduce((sum, operation) => sum + operation.amount, 0n);
  if (refunded + amount > charge.amount)
    return { result: 'failed', code: 'charge_already_refunded', message: 'The refund exceeds the remaining amount.' };
  return { result: 'succeeded', reference: `test_refund_${idempotencyKey}` };
}

function chargeAmong(known: readonly TestOperation[]): TestCharge | undefined {
  return known.find((operation) => operation.kind === 'charge');
}
