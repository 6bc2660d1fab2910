import { readFile } from 'node:fs/promises';
import process from 'node:process';

// A walk through the main use case against a running service: from a pricing model to a refund. TOLLKEEPER_URL and
// TOLLKEEPER_TEST_KEY give its address and key; each run creates new records.

const address = process.env.TOLLKEEPER_URL ?? `http://127.0.0.1:${process.env.PORT || 3000}`;
const key = process.env.TOLLKEEPER_TEST_KEY;
const run = Date.now().toString(36);

interface Price {
  readonly id: string;
  readonly slug: string;
  readonly unitPrice: number;
}
interface Product {
  readonly slug: string;
  readonly defaultPrice: Price;
}
interface Balance {
  readonly slug: string;
  readonly availableBalance: number;
}

/** Sends a request, prints it, and returns the body of the response. */
async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  console.log(`\n${method} ${path}${body === undefined ? '' : ` ${abbreviated(body)}`}`);
  const response = await fetch(`${address}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`);
  return answer as Answer;
}

function abbreviated(body: unknown): string {
  const text = JSON.stringify(body);
  return text.length <= 160 ? text : `${text.slice(0, 150)}... (${text.length} bytes)`;
}

const show = (text: string) => console.log(`  ${text}`);
const money = (cents: number) => `$${(cents / 100).toFixed(2)}`;

async function showBalances(externalId: string): Promise<void> {
  const { usageMeterBalances } = await ask<{ usageMeterBalances: Balance[] }>(
    'GET',
    `/customers/${externalId}/usage-balances`,
  );
  for (const { slug, availableBalance } of usageMeterBalances)
    show(`${slug}: ${availableBalance.toLocaleString('en-US')} left`);
}

async function tour(): Promise<void> {
  const model = JSON.parse(await readFile(new URL('./ai-api.json', import.meta.url), 'utf8'));
  const applied = await ask<{ pricingModel: { id: string }; changes: unknown[] }>(
    'POST',
    '/pricing-models/apply',
    model,
  );
  show(`${applied.changes.length} changes`);
  const { pricingModel } = await ask<{ pricingModel: { id: string; products: Product[] } }>(
    'GET',
    `/pricing-models/${applied.pricingModel.id}`,
  );
  show(
    `${pricingModel.id} with ${pricingModel.products.map(({ slug, defaultPrice }) => `${slug} ${money(defaultPrice.unitPrice)}`).join(', ')}`,
  );

  const externalId = `acme-${run}`;
  const customer = { externalId, email: 'ada@acme.example', name: 'Acme' };
  const created = await ask<{ data: { subscription: { name: string; status: string } } }>('POST', '/customers', {
    customer,
  });
  show(`starts on "${created.data.subscription.name}", ${created.data.subscription.status}`);
  await showBalances(externalId);

  const { paymentMethod } = await ask<{
    paymentMethod: { id: string; paymentMethodData: { brand: string; last4: string } };
  }>('POST', '/payment-methods', {
    paymentMethod: { customerExternalId: externalId, type: 'card', token: 'pm_card_visa' },
  });
  show(`${paymentMethod.paymentMethodData.brand} ending in ${paymentMethod.paymentMethodData.last4}`);

  const { subscription } = await ask<{ subscription: { id: string; name: string; status: string } }>(
    'POST',
    '/subscriptions',
    {
      customerExternalId: externalId,
      priceSlug: 'build-monthly',
      defaultPaymentMethodId: paymentMethod.id,
    },
  );
  show(`${subscription.id} "${subscription.name}" is ${subscription.status}`);
  await showBalances(externalId);

  const usage = [
    {
      subscriptionId: subscription.id,
      priceSlug: 'input-tokens-overage',
      transactionId: `${run}-1`,
      amount: 1_250_000,
    },
    { subscriptionId: subscription.id, priceSlug: 'output-tokens-overage', transactionId: `${run}-2`, amount: 340_000 },
  ];
  await ask('POST', '/usage-events/bulk', { usageEvents: usage });
  show('recorded; sent again, it counts once:');
  await ask('POST', '/usage-events/bulk', { usageEvents: usage });
  await showBalances(externalId);

  const claimed = await ask<{ usage: { claimed: number; capacity: number; available: number } }>(
    'POST',
    `/resource-claims/${subscription.id}/claim`,
    {
      resourceSlug: 'seat',
      externalIds: ['ada', 'grace'],
    },
  );
  show(`${claimed.usage.claimed} of ${claimed.usage.capacity} seats taken, ${claimed.usage.available} left`);

  const { webhook, secret } = await ask<{ webhook: { id: string }; secret: string }>('POST', '/webhooks', {
    webhook: {
      name: 'My system',
      url: 'https://hooks.example.com/billing',
      filterTypes: ['payment.succeeded', 'subscription.canceled'],
      pricingModelId: pricingModel.id,
      active: false,
    },
  });
  show(`${webhook.id} signs with ${secret.slice(0, 10)}...`);

  const billing = await ask<{ invoices: { invoice: { invoiceNumber: string; status: string; total: number } }[] }>(
    'GET',
    `/customers/${externalId}/billing`,
  );
  for (const { invoice } of billing.invoices)
    show(`invoice ${invoice.invoiceNumber}: ${money(invoice.total)}, ${invoice.status}`);

  const { data: payments } = await ask<{ data: { id: string; amount: number; status: string }[] }>(
    'GET',
    `/payments?subscriptionId=${subscription.id}`,
  );
  const [payment] = payments;
  if (payment === undefined) throw new Error('there is no payment');
  show(`${payment.id}: ${money(payment.amount)}, ${payment.status}`);
  const { payment: refunded } = await ask<{ payment: { refundedAmount: number; status: string } }>(
    'POST',
    `/payments/${payment.id}/refund`,
    { partialAmount: 900 },
  );
  show(`refunded ${money(refunded.refundedAmount)} of ${money(payment.amount)}, ${refunded.status}`);

  const { subscription: ended } = await ask<{ subscription: { status: string; cancelScheduledAt: number } }>(
    'POST',
    `/subscriptions/${subscription.id}/cancel`,
    {
      cancellation: { timing: 'at_end_of_current_billing_period' },
    },
  );
  show(`${ended.status}: ends ${new Date(ended.cancelScheduledAt).toISOString().slice(0, 10)}`);
}

if (!key) {
  console.error('Set TOLLKEEPER_TEST_KEY to the test key that the first start of the service printed.');
  process.exitCode = 1;
} else {
  try {
    await tour();
  } catch (error) {
    console.error(
      `\n${(error as Error).message}${error instanceof TypeError ? ` (is the service running at ${address}?)` : ''}`,
    );
    process.exitCode = 1;
  }
}
