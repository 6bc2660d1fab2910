import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { InvalidConfig, readConfig } from '../../src/config.ts';
import { createProcessors } from '../../src/payments/actions.ts';
import { createStripeProcessor } from '../../src/payments/processor-stripe.ts';
import { startTestApp } from '../support/harness.ts';

const live = { STRIPE_SECRET_KEY: 'sk_live_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' };
const account = (livemode: boolean, secretKey: string, webhookSecret: string | null = null) => ({
  livemode,
  secretKey,
  publishableKey: null,
  webhookSecret,
  apiBase: null,
});

describe('the keys of Stripe', () => {
  test('serve the mode that they name', () => {
    assert.deepEqual(readConfig({}).stripe, []);
    assert.deepEqual(readConfig(live).stripe, [account(true, 'sk_live_1', 'whsec_1')]);
    assert.deepEqual(readConfig({ STRIPE_SECRET_KEY: 'rk_test_2' }).stripe, [account(false, 'rk_test_2')]);
  });

  test('the keys of Stripe are one for each mode, when both are given', () => {
    const both = { ...live, STRIPE_TEST_SECRET_KEY: 'sk_test_2', STRIPE_TEST_WEBHOOK_SECRET: 'whsec_2' };
    const accounts = [account(true, 'sk_live_1', 'whsec_1'), account(false, 'sk_test_2', 'whsec_2')];
    assert.deepEqual(readConfig(both).stripe, accounts);
  });

  test('the keys of Stripe may lead to another address', () => {
    const apiBase = 'http://127.0.0.1:12111';
    const { stripe } = readConfig({ STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_API_BASE: apiBase });
    assert.deepEqual(stripe, [{ ...account(false, 'sk_test_1'), apiBase }]);
  });

  test('the keys of Stripe may have a publishable one beside them, which the card form of the checkout is opened with', async () => {
    const both = { STRIPE_SECRET_KEY: 'rk_live_1', STRIPE_TEST_SECRET_KEY: 'sk_test_2' };
    const published = { STRIPE_PUBLISHABLE_KEY: 'pk_live_1', STRIPE_TEST_PUBLISHABLE_KEY: 'pk_test_2' };
    const { stripe } = readConfig({ ...both, ...published });
    assert.deepEqual(
      stripe.map((each) => createStripeProcessor(each).publishableKey),
      ['pk_live_1', 'pk_test_2'],
    );
  });

  for (const [claim, variables, message] of [
    ['are secret ones', { STRIPE_SECRET_KEY: 'pk_live_1' }, /STRIPE_SECRET_KEY: must be a Stripe secret key/],
    [
      'of test mode are of test mode',
      { STRIPE_TEST_SECRET_KEY: 'sk_live_1' },
      /STRIPE_TEST_SECRET_KEY: must be a test mode key/,
    ],
    [
      'of test mode are given once',
      { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_TEST_SECRET_KEY: 'sk_test_2' },
      /STRIPE_TEST_SECRET_KEY: must be left out/,
    ],
    ['come before the secret of events', { STRIPE_WEBHOOK_SECRET: 'whsec_1' }, /requires STRIPE_SECRET_KEY/],
    [
      'come before the secret of test events',
      { STRIPE_TEST_WEBHOOK_SECRET: 'whsec_1' },
      /requires STRIPE_TEST_SECRET_KEY/,
    ],
    [
      'have a publishable one of their mode',
      { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_PUBLISHABLE_KEY: 'pk_live_1' },
      /STRIPE_PUBLISHABLE_KEY: requires STRIPE_SECRET_KEY/,
    ],
    [
      'come before the publishable one of test mode',
      { STRIPE_TEST_PUBLISHABLE_KEY: 'pk_test_1' },
      /STRIPE_TEST_PUBLISHABLE_KEY: must be of test mode/,
    ],
    [
      'are no secrets where they are published',
      { STRIPE_PUBLISHABLE_KEY: 'sk_live_1' },
      /must be a Stripe publishable key/,
    ],
    ['have an address of the web', { STRIPE_API_BASE: 'stripe' }, /STRIPE_API_BASE/],
  ] as const) {
    test(claim, () => {
      assert.throws(
        () => readConfig(variables),
        (error) => error instanceof InvalidConfig && message.test(error.message),
      );
    });
  }
});

test('payment methods are Stripe’s in the modes that have an account, and in no other', async () => {
  const app = await startTestApp();
  const names = (...accounts: ReturnType<typeof account>[]) => {
    const processors = createProcessors(app.database, { stripe: accounts.map(createStripeProcessor) });
    return [true, false].map((livemode) => processors.defaultIn({ livemode }).name);
  };
  assert.deepEqual(names(), ['manual', 'test']);
  assert.deepEqual(names(account(true, 'sk_live_1')), ['stripe', 'test']);
  assert.deepEqual(names(account(false, 'sk_test_1')), ['manual', 'stripe_test']);
  assert.deepEqual(names(account(true, 'sk_live_1'), account(false, 'sk_test_1')), ['stripe', 'stripe_test']);
});
