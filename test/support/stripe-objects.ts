import assert from 'node:assert/strict';
import type Stripe from 'stripe';

/** What stands behind a token of the stand-in for Stripe. Whatever is not said goes well, and at once. */
interface Behaviour {
  readonly type: 'card' | 'us_bank_account' | 'link';
  readonly setup?: Decline | 'action';
  readonly charge?: Decline | 'action' | 'processing';
  /** What comes of the customer's confirming; it goes well where nothing is said. */
  readonly confirmed?: Decline;
}

interface Decline {
  readonly code: string;
  readonly decline_code?: string;
  readonly message: string;
}

const genericDecline = { code: 'card_declined', decline_code: 'generic_decline', message: 'Your card was declined.' };

/** Stripe's own names for its test payment methods; `pm_card_needsAction` and `pm_klarna` are ours. */
const behaviours: Readonly<Record<string, Behaviour>> = {
  pm_card_visa: { type: 'card' },
  pm_card_mastercard: { type: 'card' },
  pm_card_chargeDeclined: { type: 'card', setup: genericDecline },
  pm_card_chargeCustomerFail: { type: 'card', charge: genericDecline },
  pm_card_chargeDeclinedInsufficientFunds: {
    type: 'card',
    charge: { code: 'card_declined', decline_code: 'insufficient_funds', message: 'Your card has insufficient funds.' },
  },
  pm_card_authenticationRequired: {
    type: 'card',
    charge: {
      code: 'authentication_required',
      decline_code: 'authentication_required',
      message: 'Your card was declined. This transaction requires authentication.',
    },
  },
  pm_card_threeDSecure2Required: { type: 'card', setup: 'action' },
  pm_card_threeDSecureRequiredChargeDeclined: { type: 'card', setup: 'action', confirmed: genericDecline },
  pm_card_needsAction: { type: 'card', charge: 'action' },
  pm_usBankAccount_success: { type: 'us_bank_account', charge: 'processing' },
};

/** A refusal of the stand-in, as Stripe's API words it. */
export class StripeRefusal extends Error {
  readonly status: number;
  readonly error: Readonly<Record<string, unknown>>;
  constructor(status: number, error: Readonly<Record<string, unknown>>) {
    super(String(error.message));
    this.status = status;
    this.error = error;
  }
}

function missing(param: string, id: string): StripeRefusal {
  const message = `No such ${param}: '${id}'`;
  return new StripeRefusal(param === 'payment_method' ? 400 : 404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    param,
    message,
  });
}

/** Form-encoded parameters, unpacked: `metadata[a]=1` is `{ metadata: { a: '1' } }`. */
export type Params = { readonly [key: string]: string | Params };

const textOf = (value: string | Params | undefined) => (typeof value === 'string' ? value : undefined);
const metadataOf = (value: string | Params | undefined) =>
  typeof value === 'object' ? (value as Stripe.Metadata) : {};

type Intent = Partial<Stripe.PaymentIntent> & Pick<Stripe.PaymentIntent, 'id' | 'status' | 'amount' | 'metadata'>;
type Charge = Partial<Stripe.Charge> & Pick<Stripe.Charge, 'id' | 'amount' | 'amount_refunded' | 'metadata'>;
type Method = Partial<Omit<Stripe.PaymentMethod, 'customer'>> & { id: string; type: string; customer: string | null };
type Refund = Partial<Stripe.Refund> & Pick<Stripe.Refund, 'id' | 'amount' | 'status'> & { payment_intent: string };
type Dispute = Partial<Stripe.Dispute> & Pick<Stripe.Dispute, 'id' | 'status'> & { payment_intent: string };
export type StripeObject = Intent | Charge | Refund | Dispute;

/** What the stand-in keeps, in the shapes of Stripe's objects, and what its endpoints do to it. */
export class StripeObjects {
  readonly #paidBeforeCancel = new Set<string>();
  readonly intents = new Map<string, Intent>();
  readonly charges = new Map<string, Charge>();
  readonly #setups = new Map<string, { method: Method; customer: string }>();
  readonly customers = new Map<string, Partial<Stripe.Customer>>();
  readonly methods = new Map<string, Method>();
  /** What was asked of payment methods to keep, in order. */
  readonly setupParams: Params[] = [];
  readonly refunds: Refund[] = [];
  readonly disputes: Dispute[] = [];
  readonly #behaviourOf = new Map<string, Behaviour>();
  #count = 0;

  #id(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${String(this.#count).padStart(6, '0')}`;
  }

  createCustomer(params: Params) {
    const id = this.#id('cus');
    const { name, email } = params;
    const made = { id, object: 'customer' as const, name: textOf(name) ?? null, email: textOf(email) ?? null };
    const customer = { ...made, metadata: metadataOf(params.metadata) } satisfies Partial<Stripe.Customer>;
    this.customers.set(id, customer);
    return customer;
  }

  /** Deletes a customer; one that is gone is not found. */
  deleteCustomer(id: string) {
    if (!this.customers.delete(id)) throw missing('customer', id);
    return { id, object: 'customer' as const, deleted: true };
  }

  /** A payment method as the seller's page makes it; with a customer, as it is after that has confirmed it. */
  createMethod(token: string, customer: string | null = null): Method {
    const behaviour = behaviours[token];
    if (behaviour === undefined) throw missing('payment_method', token);
    const id = this.#id('pm');
    const { type } = behaviour;
    const details = {
      ...(type === 'card' && {
        card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2099, country: 'DE', fingerprint: token },
      }),
      ...(type === 'us_bank_account' && { us_bank_account: { bank_name: 'STRIPE TEST BANK', last4: '6789' } }),
    } as Partial<Omit<Stripe.PaymentMethod, 'customer'>>;
    const method: Method = { id, object: 'payment_method', type, customer, ...details };
    method.billing_details = { address: null, email: null, name: null, phone: null, tax_id: null };
    this.methods.set(id, method);
    this.#behaviourOf.set(id, behaviour);
    return method;
  }

  retrieveMethod(id: string): Method {
    const method = this.methods.get(id);
    if (method === undefined) throw new StripeRefusal(404, missing('payment_method', id).error);
    return method;
  }

  /** Stripe refuses to detach a payment method that has no customer. */
  detachMethod(id: string): Method {
    const method = this.retrieveMethod(id);
    if (method.customer === null)
      throw new StripeRefusal(400, { type: 'invalid_request_error', message: 'The payment method is not attached.' });
    method.customer = null;
    return method;
  }

  createSetupIntent(params: Params) {
    this.setupParams.push(params);
    const token = textOf(params.payment_method) ?? '';
    const customer = this.#customer(params);
    const method = this.methods.get(token) ?? this.createMethod(token);
    const { setup } = this.#behaviourOf.get(method.id) ?? {};
    if (typeof setup === 'object')
      throw new StripeRefusal(402, { type: 'card_error', param: '', payment_method: method, ...setup });
    const status = setup === 'action' ? ('requires_action' as const) : ('succeeded' as const);
    if (status === 'succeeded') method.customer = customer;
    const id = this.#id('seti');
    if (setup === 'action') this.#setups.set(id, { method, customer });
    const next_action = setup === 'action' ? { type: 'use_stripe_sdk' as const, use_stripe_sdk: {} } : null;
    const made = {
      id,
      object: 'setup_intent' as const,
      status,
      customer,
      next_action,
      client_secret: `${id}_secret`,
      metadata: metadataOf(params.metadata),
    };
    return { ...made, payment_method: { ...method } } as Partial<Stripe.SetupIntent>;
  }

  /**
   * What Stripe's script does with a client secret: the bank asks the customer, who confirms or does not. Answers why it
   * did not work out; null when it did.
   */
  answerBank(clientSecret: string, confirms: boolean): string | null {
    const id = clientSecret.replace(/_secret$/, '');
    const refusal = confirms
      ? null
      : { code: 'authentication_failed', message: 'You did not confirm it to your bank.' };
    const setup = this.#setups.get(id);
    if (setup !== undefined) {
      const problem = refusal ?? this.#behaviourOf.get(setup.method.id)?.confirmed ?? null;
      if (problem === null) setup.method.customer = setup.customer;
      return problem?.message ?? null;
    }
    if (refusal === null) this.succeed(id);
    else this.fail(id, refusal);
    return refusal?.message ?? null;
  }

  #customer(params: Params): string {
    const customer = textOf(params.customer) ?? '';
    if (!this.customers.has(customer)) throw missing('customer', customer);
    return customer;
  }

  createIntent(params: Params) {
    const customer = this.#customer(params);
    const token = textOf(params.payment_method) ?? '';
    const method = this.methods.get(token);
    if (method?.customer !== customer) throw missing('payment_method', token);
    const amount = Number(params.amount);
    if (amount < 50) {
      const message = 'Amount must be at least $0.50 usd';
      throw new StripeRefusal(400, {
        type: 'invalid_request_error',
        code: 'amount_too_small',
        param: 'amount',
        message,
      });
    }
    const id = this.#id('pi');
    const intent: Intent = {
      id,
      object: 'payment_intent',
      status: 'requires_confirmation',
      amount,
      amount_received: 0,
      metadata: metadataOf(params.metadata),
    };
    Object.assign(intent, {
      currency: textOf(params.currency) ?? '',
      customer,
      payment_method: token,
      next_action: null,
    });
    Object.assign(intent, {
      client_secret: `${id}_secret`,
      payment_method_types: [method.type],
      last_payment_error: null,
    });
    intent.created = Math.floor(Date.now() / 1000);
    this.intents.set(id, intent);
    this.#confirm(intent, this.#behaviourOf.get(token)?.charge, params.off_session !== 'true');
    return this.expanded(id);
  }

  #confirm(intent: Intent, behaviour: Behaviour['charge'], isPresent: boolean): void {
    if (behaviour === undefined) {
      this.succeed(intent.id);
      return;
    }
    if (behaviour === 'processing') {
      this.#charge(intent, 'pending');
      intent.status = 'processing';
      return;
    }
    if (behaviour === 'action') {
      intent.status = 'requires_action';
      const url = `https://hooks.stripe.example/${intent.id}`;
      intent.next_action = { type: 'redirect_to_url', redirect_to_url: { url, return_url: null } };
      return;
    }
    if (isPresent && behaviour.code === 'authentication_required') {
      intent.status = 'requires_action';
      intent.next_action = { type: 'use_stripe_sdk', use_stripe_sdk: {} };
      return;
    }
    this.fail(intent.id, behaviour);
    throw new StripeRefusal(402, { type: 'card_error', ...behaviour, payment_intent: this.expanded(intent.id) });
  }

  /** The money came: a card was charged, a debit has settled, a customer has confirmed. */
  succeed(intentId: string): void {
    const intent = this.intent(intentId);
    this.#charge(intent, 'succeeded');
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount, next_action: null });
  }

  /** The money did not come, or has gone again. */
  fail(intentId: string, decline: Decline): void {
    const intent = this.intent(intentId);
    this.#charge(intent, 'failed');
    Object.assign(intent, {
      status: 'requires_payment_method',
      next_action: null,
      last_payment_error: { type: 'card_error', ...decline },
    });
  }

  /** The customer is quicker than the next one who cancels it. */
  paidBeforeCancel(intentId: string): void {
    this.#paidBeforeCancel.add(intentId);
  }

  cancel(intentId: string): void {
    const intent = this.intent(intentId);
    if (this.#paidBeforeCancel.has(intentId)) this.succeed(intentId);
    if (intent.status === 'succeeded' || intent.status === 'canceled') {
      const message = `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`;
      throw new StripeRefusal(400, {
        type: 'invalid_request_error',
        code: 'payment_intent_unexpected_state',
        message,
      });
    }
    intent.status = 'canceled';
  }

  #charge(intent: Intent, status: 'succeeded' | 'pending' | 'failed'): void {
    const known = this.charges.get(String(intent.latest_charge));
    if (known !== undefined) {
      known.status = status;
      return;
    }
    const { amount, metadata, id: payment_intent } = intent;
    const id = this.#id('ch');
    const charge: Charge = {
      id,
      object: 'charge',
      amount,
      amount_refunded: 0,
      disputed: false,
      metadata,
      payment_intent,
      status,
    };
    Object.assign(charge, { receipt_number: '1234-5678', receipt_url: `https://pay.stripe.example/receipts/${id}` });
    charge.payment_method_details = { type: intent.payment_method_types?.[0] ?? 'card' };
    this.charges.set(id, charge);
    intent.latest_charge = id;
  }

  intent(id: string): Intent {
    const intent = this.intents.get(id);
    if (intent === undefined) throw missing('intent', id);
    return intent;
  }

  /** The intent with its latest charge in it, as `expand` asks for. */
  expanded(id: string): Intent {
    const intent = this.intent(id);
    const charge = this.charges.get(String(intent.latest_charge));
    return charge === undefined ? { ...intent } : { ...intent, latest_charge: charge as Stripe.Charge };
  }

  charge(intentId: string): Charge {
    const charge = this.charges.get(String(this.intent(intentId).latest_charge));
    assert(charge, 'the intent has a charge');
    return charge;
  }

  listIntents(customer: string): Intent[] {
    const mine = [...this.intents.values()].filter((intent) => intent.customer === customer);
    return mine.map(({ id }) => this.expanded(id)).reverse();
  }

  createRefund(params: Params): Refund {
    return this.refund(textOf(params.payment_intent) ?? '', Number(params.amount), metadataOf(params.metadata));
  }

  /** Gives money back, as the API does and as people do on Stripe's own pages. */
  refund(intentId: string, amount: number, metadata: Stripe.Metadata = {}): Refund {
    const charge = this.charge(intentId);
    if (charge.amount_refunded + amount > charge.amount) {
      const message = 'Refund amount is greater than unrefunded amount on charge.';
      throw new StripeRefusal(400, { type: 'invalid_request_error', code: 'charge_already_refunded', message });
    }
    charge.amount_refunded += amount;
    const refund: Refund = {
      id: this.#id('re'),
      object: 'refund',
      amount,
      status: 'succeeded',
      payment_intent: intentId,
      metadata,
    };
    this.refunds.push(refund);
    return refund;
  }

  /** The customer's bank asks the money back. */
  dispute(intentId: string, status: 'needs_response' | 'won' | 'lost', reason = 'fraudulent'): Dispute {
    const charge = this.charge(intentId);
    charge.disputed = true;
    const known = this.disputes.find((each) => each.payment_intent === intentId);
    if (known !== undefined) return Object.assign(known, { status });
    const dispute: Dispute = {
      id: this.#id('dp'),
      object: 'dispute',
      amount: charge.amount,
      status,
      reason,
      payment_intent: intentId,
      charge: charge.id,
      metadata: {},
    };
    this.disputes.push(dispute);
    return dispute;
  }
}
