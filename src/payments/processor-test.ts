import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Instant } from '../kernel/calendar.ts';
import type { PaymentMethodData, PaymentMethodType } from './payment-method.ts';
import type {
  AttachOutcome,
  ChargeOutcome,
  ChargeRequest,
  PaymentProcessor,
  RefundOutcome,
  RefundRequest,
} from './processor.ts';

/** A permanent operation of the network. */
export type TestOperation = TestCharge | TestRefund;

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

/** The storage of the network, with separate commits: an external network does not forget when we roll back. */
export interface TestNetworkMemory {
  /** The outcomes of these charges in order: those stored under their keys, else those given, which are then stored. */
  chargeAll(charges: readonly TestCharge[]): Promise<ChargeOutcome[]>;
  /**
   * The outcome of the refund under this key: the stored one, else the result of `decide` for the known operations,
   * which is then stored. Refunds of one charge are serialized.
   */
  refundOnce(
    idempotencyKey: string,
    reference: string,
    decide: (known: readonly TestOperation[]) => TestRefund,
  ): Promise<RefundOutcome>;
  /** The operations of a charge: itself and its refunds. */
  known(reference: string): Promise<readonly TestOperation[]>;
}

/** The duration of a slow charge. */
const settlementDelayMs = 60 * 60 * 1000;

interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The behavior of a token. Everything not given succeeds immediately. */
interface TestToken {
  readonly type: PaymentMethodType;
  readonly data: PaymentMethodData;
  readonly attach?: Failure;
  readonly charge?: Failure | 'takes_time';
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

/** Stripe's names for its test cards, so that one script runs against both; `pm_card_processing` is ours. */
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
    pm_card_processing: card('visa', '4242', { charge: 'takes_time' }),
    pm_card_refundFail: card('visa', '5126', {
      refund: { code: 'expired_or_canceled_card', message: 'The card is lost, expired or canceled.' },
    }),
    pm_usBankAccount_success: { type: 'us_bank_account', data: { bankName: 'STRIPE TEST BANK', last4: '6789' } },
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
      const charge = chargeAmong(await memory.known(reference));
      assert(charge, `no charge ${reference}`);
      return outcomeAt(charge.outcome, now);
    },
    async refund(request) {
      const { idempotencyKey, reference, amount, now } = request;
      assert(reference !== null, 'a payment that succeeded knows its charge');
      return memory.refundOnce(idempotencyKey, reference, (known) => ({
        kind: 'refund',
        idempotencyKey,
        reference,
        amount,
        token: null,
        createdAt: now,
        outcome: decideRefund(known, request),
      }));
    },
  };
}

function newCharge({ idempotencyKey, amount, token, now }: ChargeRequest): TestCharge {
  const reference = `test_charge_${idempotencyKey}`;
  const outcome = outcomeOf(token, reference, now);
  return { kind: 'charge', idempotencyKey, reference, amount, token, createdAt: now, outcome };
}

function attach(token: string): AttachOutcome {
  const found = testTokens.get(token);
  if (found === undefined) return { result: 'unknown', known: [...testTokens.keys()] };
  if (found.attach !== undefined) return { result: 'declined', ...found.attach };
  // Each token behaves as a card of its own.
  return { result: 'attached', type: found.type, data: found.data, country: 'US', fingerprint: token };
}

function outcomeOf(token: string | null, reference: string, now: Instant): ChargeOutcome {
  const { charge } = testTokens.get(token ?? '') ?? { charge: unknownToken };
  if (charge === 'takes_time') return { result: 'processing', reference, checkAt: now + settlementDelayMs };
  if (charge !== undefined) return { result: 'failed', reference, ...charge };
  return succeeded(reference, now);
}

/** A slow charge succeeds when its time has come. */
function outcomeAt(outcome: ChargeOutcome, now: Instant): ChargeOutcome {
  const isDue = outcome.result === 'processing' && now >= outcome.checkAt;
  return isDue ? succeeded(outcome.reference, outcome.checkAt) : outcome;
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
  if (charge === undefined || outcomeAt(charge.outcome, now).result !== 'succeeded')
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
