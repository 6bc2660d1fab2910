import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textLimits } from '../../src/kernel/text-limits.ts';
import { calls } from '../support/api-calls.ts';
import { resolved } from '../support/document.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  assertBrief,
  lengthened,
  longestMetadata,
  textOf,
  textsOf,
  usedMs,
  withText,
} from '../support/longest-texts.ts';
import { buildWorld } from '../support/world.ts';

// Each cell has the same limits.
const app = await startTestApp({ cells: 1 });
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const world = await buildWorld(app);
// The customer of the world has a plan, and subscribes once more.
await app.put('/settings', { settings: { allowMultipleSubscriptions: true } });

const operations = Object.entries(calls).map(([operation, callOf], at) => {
  const [method = '', route = ''] = operation.split(' ');
  const described = document.paths[`/api/v1${route}`][method.toLowerCase()];
  return { operation, method, call: callOf(world, `l${at}`), described };
});

test('every text that a request may have has a limit in the document', () => {
  const isShort = ({ pattern = '' }: Body) => /^\^(\\d\{\d+,\d+\}|\(\\\.\\d\{\d+,\d+\}\)\?)+\$$/.test(pattern);
  const open = operations.flatMap(({ operation, described }) =>
    [
      ...Object.values<Body>(resolved(document, described.requestBody)?.content ?? {}).map(({ schema }) => schema),
      ...(described.parameters ?? []).map((each: Body) => resolved(document, each).schema),
    ]
      .flatMap((schema) => textsOf(document, schema))
      .filter(({ longest, schema }) => longest === undefined && !isShort(schema))
      .map(({ path }) => `${operation} ${path.join('.')}`),
  );
  // Lines of JSON: each is an event of its own.
  assert.deepEqual([...new Set(open)], ['POST /usage-events/bulk ']);
});

test('every route takes its longest texts without holding up others, and refuses one letter more by the field', async () => {
  let count = 0;
  for (const { operation, method, call, described } of operations) {
    const schema = resolved(document, described.requestBody)?.content?.['application/json']?.schema;
    if (schema === undefined || call.body === undefined) continue;
    const path = `${call.path}${call.path.includes('?') ? '&' : '?'}dryRun=true`;
    const { body, texts } = lengthened(document, schema, call.body);
    if (texts.length === 0) continue;
    await assertBrief(operation, async () => {
      const taken = await app.request(method, path, body);
      assert(taken.status < 300, `${operation}: ${taken.status} ${JSON.stringify(taken.body)}`);
    });
    for (const { path: place, longest = 0 } of texts) {
      const name = String(place.findLast((each) => typeof each === 'string'));
      const refused = await app.request(method, path, withText(body, place, textOf(name, longest + 1, place)));
      assert.equal(refused.status, 400, `${operation} ${place.join('.')}`);
      const issue = refused.body.issues.find((each: Body) => each.path.join('.') === place.join('.'));
      assert.match(issue?.message ?? '', new RegExp(String(longest)), `${operation} ${place.join('.')}`);
      count += 1;
    }
  }
  assert(count > 140, `${count} texts`);
});

// No caller writes them: the service, or a processor whose money must be booked whatever it says.
const textsOfOurs = new Set([
  ...['api_keys.masked_token', 'customers.invoice_number_base', 'customers.erased_external_id_mac'],
  ...['idempotency_keys.response', 'idempotency_keys.effects', 'audit_log.before', 'audit_log.after'],
  ...['audit_log.action', 'audit_log.request_id', 'audit_log.record', 'events.type', 'events.object', 'events.payload'],
  'invoice_items.explanation',
  ...['invoice_line_items.explanation', 'invoices.invoice_number', 'subscription_adjustments.capacities'],
  'credit_notes.credit_note_number',
  // Made of a prefix of at most 20 characters.
  ...['number_series.stem', 'environments.numbering', 'environments.time_zone'],
  // Bounded by feature_value_kind().
  ...['features.value', 'product_features.value', 'subscription_item_features.value'],
  // Ids by ids.
  'products.usage_prices',
  'spend_counters.by_price',
  // Copies of the pricing of a price.
  'pool_draws.pricing',
  ...['subscription_items.pricing', 'subscription_item_versions.pricing', 'subscription_price_overrides.pricing'],
  // Its texts are bounded in the request, and again when the items are stored.
  'subscription_adjustments.items',
  'subscription_adjustments.price_overrides',
  ...['payment_method_attachments.request', 'payment_method_attachments.outcome', 'payment_methods.fingerprint'],
  ...['payment_methods.payment_method_data', 'payment_methods.processor_token', 'payments.next_action'],
  ...['payments.processor_token', 'payments.processor_reference', 'payments.receipt_number', 'payments.receipt_url'],
  ...['payments.failure_code', 'payments.failure_message', 'refunds.processor_reference', 'refunds.failure_message'],
  ...['subscription_adjustments.failure_code', 'subscription_adjustments.failure_message'],
  ...['checkout_sessions.payment_token', 'processor_customers.reference', 'resource_claims.release_reason'],
  ...['subscriptions.cancellation_reason', 'webhook_attempts.error', 'webhook_deliveries.sample'],
  ...['webhook_deliveries.event_type', 'webhook_deliveries.last_error', 'webhooks.sealed_secret'],
  ...['webhooks.sealed_previous_secret', 'webhooks.disabled_reason', 'usage_credits.transferred_from'],
  // Of few values, which a schema or a table of another record holds.
  ...['api_keys.type', 'audit_log.operation', 'checkout_sessions.payment_method_type', 'encryption_keys.id'],
  ...['discount_redemptions.amount_type', 'discount_redemptions.duration', 'environments.currency'],
  ...['invoices.reason', 'invoices.currency', 'invoices.tax_type', 'invoices.tax_country', 'payments.payment_method'],
  ...[
    'credit_notes.currency',
    'customer_balances.currency',
    'mrr_amounts.currency',
    'mrr_balances.currency',
    'mrr_balances.type',
    'mrr_movements.currency',
    'mrr_retention.currency',
    'mrr_retention.interval_unit',
    'money_days.currency',
    'money_days.reason',
    'money_days.processor',
    'money_days.payment_method',
    'customer_balance_entries.source',
    'payments.currency',
    'payments.tax_type',
    'payments.tax_country',
    'payment_method_attachments.processor',
  ],
  ...['payment_methods.processor', 'payments.processor', 'processor_customers.processor', 'processor_events.processor'],
  ...[
    'auto_top_up_purchases.status',
    'purchases.interval_unit',
    'subscriptions.interval_unit',
    'subscription_items.type',
    'tax_rates.country',
  ],
  ...['tax_rates.type', 'usage_credits.source'],
]);

const range = (length: number) => Array.from({ length }, (_, n) => n);
const longest = (use: keyof typeof textLimits, n: number | string = '') => `${n}-`.padEnd(textLimits[use], 'x');

test('a measure of the event loop finds what holds it up', async () => {
  const compute = async () => {
    const before = usedMs();
    while (usedMs() - before < 120);
  };
  await assert.rejects(assertBrief('a loop of 120 ms', compute), /held up the event loop for \d{3}/);
});

test('no route holds up others while it reads a page of the longest records', async () => {
  const lines = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'];
  const address = Object.fromEntries(lines.map((name) => [name, longest('addressLine')]));
  const billingAddress = { name: longest('name'), email: longest('email'), phone: longest('phone'), address };
  const seller = {
    name: longest('name'),
    email: longest('email'),
    addressLines: range(10).map(() => longest('addressLine')),
  };
  await app.put('/settings', { settings: { seller: { ...seller, taxId: longest('name') } } });
  const product = (n: number) => ({
    product: { name: longest('name', n), slug: longest('name', n), description: longest('description', n) },
    price: {
      type: 'subscription',
      intervalUnit: 'month',
      unitPrice: 100,
      slug: longest('name', n),
      name: longest('name', n),
    },
    features: [longest('name', n)],
  });
  const feature = (n: number) => ({
    type: 'toggle',
    slug: longest('name', n),
    name: longest('name', n),
    description: longest('description', n),
  });
  const plan = {
    name: 'Longest',
    isDefault: true,
    features: range(30).map(feature),
    products: range(30).map(product),
  };
  const { pricingModel } = await app.post('/pricing-models/setup', plan);
  const customers = await Promise.all(
    range(100).map((n) => {
      const named = { externalId: longest('name', n), email: longest('email', n), name: longest('name', n) };
      return app.post('/customers', { customer: { ...named, billingAddress, metadata: longestMetadata } });
    }),
  );
  const { customer } = customers[0].data;
  const prices: Body[] = pricingModel.products.map(({ defaultPrice }: Body) => defaultPrice);
  await app.post('/payment-methods', {
    paymentMethod: { customerId: customer.id, token: 'pm_card_visa', billingDetails: billingAddress },
  });
  for (const { id } of prices.slice(0, 5))
    await app.post('/subscriptions', {
      customerId: customer.id,
      priceId: id,
      quantity: 1_000_000,
      name: longest('name'),
      metadata: longestMetadata,
    });
  const { data } = await app.get(`/invoices?customerId=${customer.id}`);
  const mine: typeof world = {
    ...world,
    pricingModelId: pricingModel.id,
    externalId: encodeURIComponent(customer.externalId),
    customerId: customer.id,
    invoiceId: data.at(-1).id,
    productId: pricingModel.products[0].id,
  };
  for (const [operation, callOf] of Object.entries(calls)) {
    const [method, route = ''] = operation.split(' ');
    if (method !== 'GET') continue;
    const { path } = callOf(mine, '1');
    const isList = document.paths[`/api/v1${route}`].get.parameters?.some(
      (each: Body) => resolved(document, each).name === 'limit',
    );
    const page = isList && !path.includes('limit=') ? `${path}${path.includes('?') ? '&' : '?'}limit=100` : path;
    await assertBrief(operation, async () => {
      const answer = await fetch(`${app.url}/api/v1${page}`, { headers: { authorization: `Bearer ${app.testKey}` } });
      assert(answer.status < 300, `${operation} ${answer.status}`);
      await answer.arrayBuffer();
    });
  }
});

/** The fullest pricing model: as many records of each kind as it may have, and as many links between them. */
function fullest(name: string): Body {
  const price = (slug: string) => ({ slug, unitPrice: 100, name: 'Price' });
  return {
    name,
    features: range(1000).map((n) => ({ type: 'toggle', slug: `feature-${n}`, name: 'Feature' })),
    products: range(999).map((n) => ({
      product: { name: 'Product', slug: `product-${n}` },
      price: { ...price(`price-${n}`), type: 'subscription', intervalUnit: 'month' },
      features: range(20).map((k) => `feature-${(n + k * 50) % 1000}`),
    })),
    usageMeters: range(200).map((n) => ({
      usageMeter: { name: 'Meter', slug: `meter-${n}` },
      prices: range(18).map((k) => price(`usage-${n}-${k}`)),
    })),
    resources: range(1000).map((n) => ({ slug: `resource-${n}`, name: 'Resource' })),
  };
}

/** Sends a body that is made before, so that only the service computes, and checks the status of the answer. */
async function assertBriefAt(route: string, status: number, bodyOf: () => string, headers = {}): Promise<void> {
  const [method = '', path = ''] = route.split(' ');
  let body = Buffer.alloc(0);
  const send = async () => {
    const options = { authorization: `Bearer ${app.testKey}`, 'content-type': 'application/json', ...headers };
    const answer = await fetch(`${app.url}/api/v1${path}`, {
      method,
      headers: options,
      ...(method === 'GET' ? {} : { body }),
    });
    const text = Buffer.from(await answer.arrayBuffer());
    assert.equal(answer.status, status, `${route}: ${text.toString('utf8', 0, 500)}`);
  };
  await assertBrief(route, send, () => {
    body = Buffer.from(bodyOf());
  });
}

test('10,000 usage events of 40 properties in one request do not hold up others, and neither does their refusal', async () => {
  let count = 0;
  const events = (change: Body = {}) =>
    range(10_000).map((n) => {
      count += 1;
      const properties = Object.fromEntries(range(40).map((k) => [`property_${k}`, `value ${k} of ${n}`]));
      const { subscriptionId, usageMeterId } = world;
      return { subscriptionId, usageMeterId, transactionId: `event_${count}`, amount: 1, properties, ...change };
    });
  const bulk = 'POST /usage-events/bulk';
  await assertBriefAt(bulk, 200, () => JSON.stringify({ usageEvents: events() }));
  const lines = { 'content-type': 'application/x-ndjson' };
  await assertBriefAt(
    bulk,
    200,
    () =>
      events()
        .map((each) => JSON.stringify(each))
        .join('\n'),
    lines,
  );
  const again = JSON.stringify({ usageEvents: events() });
  for (const headers of [{}, { 'idempotency-key': 'once' }]) await assertBriefAt(bulk, 200, () => again, headers);
  await assertBriefAt(bulk, 400, () => JSON.stringify({ usageEvents: events({ amount: 'x', usageDate: 'x', x: 1 }) }));
  await assertBriefAt(bulk, 400, () => JSON.stringify({ usageEvents: [...events().slice(1), {}] }));
});

test('the fullest pricing model holds up nobody: setup, refusal, read, export, update, apply and clone', async () => {
  const body = fullest('Fullest');
  const text = JSON.stringify(body);
  const wrong = text.replaceAll('"slug":"', '"slug":1,"none":"').replaceAll('"name":"', '"name":1,"none":"');
  await assertBriefAt('POST /pricing-models/setup', 400, () => wrong);
  await assertBriefAt('POST /pricing-models/setup', 200, () => text);
  const { data } = await app.get('/pricing-models?order=desc&limit=1');
  const { id } = data[0];
  await assertBriefAt(`GET /pricing-models/${id}`, 200, () => '');
  await assertBriefAt(`GET /pricing-models/${id}/export`, 200, () => '');
  const { pricingModel } = await app.get(`/pricing-models/${id}/export`);
  for (const { product, price } of pricingModel.products) if (!product.default) price.unitPrice += 1;
  await assertBriefAt(`PUT /pricing-models/${id}`, 200, () => JSON.stringify({ pricingModel: body }));
  await assertBriefAt('POST /pricing-models/apply?dryRun=true', 200, () => JSON.stringify(pricingModel));
  await assertBriefAt(`POST /pricing-models/${id}/clone?dryRun=true`, 200, () => '{"name":"Copy"}');
});

test('as many values as a body may have hold up nobody: a list of zeros, a quote, claims by name', async () => {
  const zeros = (count: number) => `[${'0,'.repeat(count - 1)}0]`;
  for (const route of ['POST /customers', 'POST /usage-events/bulk']) {
    await assertBriefAt(route, 400, () => zeros(19_999));
    await assertBriefAt(route, 400, () => zeros(8_000_000).slice(0, 2 ** 20));
  }
  await assertBriefAt('POST /usage-events/bulk', 400, () => `{"usageEvents":${zeros(499_000)}}`);
  const tiers = (change: Body) =>
    [1, 2, 3, 4, 5, null].map((upTo) => ({ upTo, unitAmount: '0.25', flatAmount: '10', ...change }));
  const quote = (change: Body) => {
    const line = { units: 7, pricing: { model: 'graduated', tiers: tiers(change) } };
    return JSON.stringify({ quote: { lines: Array(950).fill(line) } });
  };
  await assertBriefAt('POST /prices/quote', 200, () => quote({}));
  await assertBriefAt('POST /prices/quote', 400, () => quote({ unitAmount: 'x', flatAmount: 1, upTo: 1 }));
  // Beyond the features of the plan: what is measured is one request with as many claims as it may make.
  await app.ownerPool.query('update subscription_item_features set amount = 50000 where resource_id is not null');
  const claim = `POST /resource-claims/${world.subscriptionId}/claim?dryRun=true`;
  const { resources } = await app.get(`/resources?pricingModelId=${world.pricingModelId}`);
  const claims = { resourceSlug: resources[0].slug, externalIds: range(10_000).map((n) => longest('name', n)) };
  await assertBriefAt(claim, 200, () => JSON.stringify({ ...claims, metadata: { note: 'x'.repeat(380) } }));
  const { body } = await app.request(...(claim.split(' ') as [string, string]), {
    ...claims,
    metadata: { note: 'x'.repeat(400) },
  });
  assert.match(body.message, /^metadata: must be shorter for so many claims/);
});

test('metadata is at most 32,000 characters of JSON', async () => {
  const metadataOf = (letter: string) =>
    Object.fromEntries(range(50).map((n) => [longest('metadataKey', n), letter.repeat(500)]));
  const send = (metadata: object) =>
    app.request('PUT', `/customers/${world.externalId}`, { customer: { externalId: world.externalId, metadata } });
  assert.equal((await send(metadataOf('ł'))).status, 200);
  // PostgreSQL writes such a number with 308 digits.
  assert.equal((await send(Object.fromEntries(range(50).map((n) => [n, 1e307])))).status, 200);
  const { status, body } = await send(metadataOf('\u0001'));
  assert.equal(status, 400);
  assert.match(body.message, /customer\.metadata: must have at most 32000 characters as JSON/);
});

test('an address of five lines of 10,000 letters is refused by the name of each, and nothing is stored', async () => {
  const long = 'a'.repeat(10_000);
  const address = { line1: long, line2: long, city: long, state: long, postal_code: long, country: 'PL' };
  const customer = { externalId: 'attacker', email: 'a@acme.test', name: 'A', billingAddress: { address } };
  const { status, body } = await app.request('POST', '/customers', { customer });
  assert.equal(status, 400);
  const { country: _, ...lines } = address;
  assert.deepEqual(
    body.issues.map(({ path, message }: Body) => [path.slice(-1)[0], /at most 200 characters/.test(message)]),
    Object.keys(lines).map((name) => [name, true]),
  );
  assert.equal((await app.request('GET', '/customers/attacker')).status, 404);
});

test('the tables have the limits of the requests, and no text of a caller is without one', async () => {
  const { rows: limits } = await app.ownerPool.query('select use, longest from text_limits()');
  const { metadataKey: _, metadataValue: __, metadata: ___, ...stored } = textLimits;
  assert.deepEqual(Object.fromEntries(limits.map(({ use, longest }) => [use, longest])), stored);
  // A column of ids compares byte by byte, and a column of few values has a constraint that lists them.
  const { rows } = await app.ownerPool.query<{ name: string; isListed: boolean; isLimited: boolean }>(`
    select c.relname || '.' || a.attname as name,
           exists (select from text_columns() t where t.table_name = c.relname and t.column_name = a.attname) as "isListed",
           exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
                      and a.attnum = any (k.conkey) and pg_get_constraintdef(k.oid) ~ 'char_length|octet_length|= ANY \\(ARRAY|upper\\(') as "isLimited"
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p') and c.relname !~ '^kysely_'
       and not c.relispartition and a.attnum > 0 and not a.attisdropped
       and (a.atttypid in ('json'::regtype, 'jsonb'::regtype)
            or a.atttypid = 'text'::regtype and a.attcollation = 'default'::regcollation)`);
  assert(rows.length > 100);
  assert.deepEqual(
    rows.filter(({ isListed, isLimited }) => isListed && !isLimited).map(({ name }) => name),
    [],
    'listed in text_columns() and without a constraint',
  );
  assert.deepEqual(
    rows.filter(({ name, isLimited }) => !isLimited && !textsOfOurs.has(name)).map(({ name }) => name),
    [],
    'add these to text_columns() in migrations/0017-text-limits.sql',
  );
});

test('the tables refuse a longer text whoever writes it, in an object of texts too', async () => {
  const address = { address: { country: 'PL', line1: 'x'.repeat(200) } };
  const seller = { name: 'Toll', email: null, taxId: null, addressLines: Array(10).fill('x'.repeat(200)) };
  const refusals: [string, unknown, string][] = [
    ['customers.name', 'x'.repeat(256), 'customers_name_length'],
    ['customers.email', 'x'.repeat(321), 'customers_email_length'],
    [
      'customers.billing_address',
      { address: { ...address.address, line1: 'x'.repeat(201) } },
      'customers_billing_address_length',
    ],
    ['customers.billing_address', { ...address, phone: '1'.repeat(51) }, 'customers_billing_address_length'],
    ['environments.seller', { ...seller, addressLines: ['x'.repeat(201)] }, 'environments_seller_length'],
    ['environments.seller', { ...seller, addressLines: Array(11).fill('') }, 'environments_seller_length'],
    [
      'invoices.buyer',
      { name: 'A', email: '', billingAddress: { address: { country: 'x'.repeat(201) } } },
      'invoices_buyer_length',
    ],
  ];
  const update = (column: string, value: unknown) => {
    const [table, name] = column.split('.');
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return app.ownerPool.query(`update ${table} set ${name} = $1`, [text]);
  };
  for (const [column, value, constraint] of refusals) await assert.rejects(update(column, value), { constraint });
  await update('customers.billing_address', address);
  await update('environments.seller', seller);
});
