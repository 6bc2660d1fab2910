import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sql } from 'kysely';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { publish } from '../../src/customers/store-events.ts';
import { nameIn } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newCustomer, plan } from '../support/shop.ts';

const app = await startTestApp();
const start = Date.UTC(2026, 0, 1);
const day = 86_400_000;
const externalIds = async (query: string) =>
  (await app.get(`/customers?${query}`)).data.map((row: Body) => row.externalId);

before(async () => {
  // One a day: acme-1 on 1 January, acme-2 on 2 January.
  for (const [index, name] of ['Ada Lovelace', 'Grace Hopper', '100% Juice', 'Lova_Lo'].entries()) {
    await app.setClock(start + index * day);
    await newCustomer(app, `acme-${index + 1}`, { name, email: `Mail${index + 1}@Example.com` });
  }
});

test('order=desc lists the newest first, page by page, and refuses a cursor of the other order', async () => {
  const first = await app.get('/customers?order=desc&limit=3');
  assert.deepEqual(
    first.data.map((row: Body) => row.externalId),
    ['acme-4', 'acme-3', 'acme-2'],
  );
  const cursor = encodeURIComponent(first.nextCursor);
  assert.deepEqual(await externalIds(`cursor=${cursor}`), ['acme-1']);
  const refused = await app.request('GET', `/customers?order=asc&cursor=${cursor}`);
  assert.deepEqual([refused.status, refused.body.reason], [400, 'invalid_cursor']);
  assert.equal((await app.request('GET', '/customers?order=newest')).status, 400);
  const [subscription] = (await app.get('/subscriptions?order=desc&limit=1')).data;
  assert.equal(subscription.createdAt, start + 3 * day);
});

test('a range of time begins with its first instant and ends before its last', async () => {
  const [second, third] = [start + day, start + 2 * day];
  assert.deepEqual(await externalIds(`createdAtFrom=${second}&createdAtTo=${third}`), ['acme-2']);
  assert.deepEqual(await externalIds('createdAtFrom=2026-01-02T00:00:00Z&order=desc'), ['acme-4', 'acme-3', 'acme-2']);
  assert.deepEqual(await externalIds(`createdAtTo=${second}`), ['acme-1']);
  const page = await app.get(`/customers?createdAtFrom=${second}&limit=2`);
  assert.equal(page.total, 3);
  assert.deepEqual(await externalIds(`cursor=${encodeURIComponent(page.nextCursor)}`), ['acme-4']);
  assert.equal((await app.request('GET', `/invoices?createdAtFrom=${third}&createdAtTo=${second}`)).status, 400);
});

test('customerExternalId finds what is of the customer, in every list that names one', async () => {
  const { data } = await app.get('/subscriptions?customerExternalId=acme-2');
  assert.deepEqual([data.length, data[0].createdAt], [1, start + day]);
  for (const list of ['invoices', 'payments', 'purchases', 'payment-methods', 'checkout-sessions', 'usage-credits']) {
    const { total } = await app.get(`/${list}?customerExternalId=acme-2&createdAtFrom=${start}&order=desc`);
    assert.equal(total, 0, list);
  }
  for (const list of ['holds', 'usage-events'])
    assert.equal((await app.get(`/${list}?customerExternalId=acme-2&order=desc`)).total, 0, list);
  assert.equal((await app.get('/subscriptions?customerExternalId=nobody')).total, 0);
});

test('events and deliveries of a customer are about it and what it has, and a delivery has a time of creation', async () => {
  const { pricingModelId } = (await app.get('/customers?externalId=acme-1')).data[0];
  const given = { name: 'Ours', url: 'http://127.0.0.1:9999/', filterTypes: [], pricingModelId };
  const { webhook } = await app.post('/webhooks', { webhook: given });
  await newCustomer(app, 'acme-5');
  await newCustomer(app, 'acme-6');
  const types = ['customer.created', 'subscription.created'];
  for (const list of ['events', `webhooks/${webhook.id}/deliveries`]) {
    const { data } = await app.get(`/${list}?customerExternalId=acme-5`);
    assert.deepEqual(data.map((row: Body) => row.type ?? row.eventType).sort(), types, list);
    assert.equal((await app.get(`/${list}?customerExternalId=nobody`)).total, 0, list);
  }
  // The instants of a delivery are real time, whatever the test clock says.
  const [{ createdAt }] = (await app.get(`/webhooks/${webhook.id}/deliveries?limit=1`)).data;
  const count = async (query: string) => (await app.get(`/webhooks/${webhook.id}/deliveries?${query}`)).total;
  assert.equal(await count(`createdAtTo=${createdAt}`), 0);
  assert.equal(await count(`createdAtFrom=${createdAt}`), 4);
});

test('events of a customer are about its invoices, credit notes and payment methods too', async () => {
  const { customerId, paymentMethodId } = await newCustomer(app, 'acme-10', { token: 'pm_card_visa' });
  assert(paymentMethodId);
  const lines = [{ description: 'Workshop', unitAmount: 4500 }];
  const { invoice } = await app.post('/invoices', { invoice: { customerId, lines } });
  await app.post(`/invoices/${invoice.id}/finalize`, {});
  const [line] = (await app.get(`/invoices/${invoice.id}`)).invoiceLineItems;
  const credited = { lines: [{ invoiceLineItemId: line.id, amount: 4500 }], settle: 'offset' };
  await app.post(`/invoices/${invoice.id}/credit-notes`, { creditNote: credited });
  const { pricingModelId } = (await app.get(`/customers?ids=${customerId}`)).data[0];
  const customer = { id: customerId, externalId: 'acme-10' };
  const expiring = { type: 'payment_method.expiring', object: 'paymentMethod', objectId: paymentMethodId };
  await app.inCellOf(customerId, (work) => publish(work, [{ ...expiring, pricingModelId, customer, data: {} }]));
  const { data: all } = await app.get('/events?order=desc&limit=100');
  const own = all.filter(({ payload }: Body) => payload.customer.id === customerId).map(({ id }: Body) => id);
  for (const query of [`customerId=${customerId}`, 'customerExternalId=acme-10']) {
    const { data } = await app.get(`/events?${query}&order=desc&limit=100`);
    assert.deepEqual(
      data.map(({ id }: Body) => id),
      own,
    );
    for (const object of ['invoice', 'creditNote', 'paymentMethod'])
      assert.notEqual((await app.get(`/events?${query}&object=${object}`)).total, 0, object);
  }
});

test('invoice lines of a customer are those of its invoices', async () => {
  const { pricingModelId } = (await app.get('/customers?externalId=acme-1')).data[0];
  const { price } = plan('pro', 4900);
  const product = { name: 'Pro', slug: 'pro', active: true, pricingModelId };
  await app.post('/products', { product, price });
  for (const externalId of ['payer-7', 'payer-8']) {
    const { customerId } = await newCustomer(app, externalId, { token: 'pm_card_visa' });
    await app.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
    for (const query of [`customerExternalId=${externalId}`, `customerId=${customerId}`]) {
      const { data } = await app.get(`/invoice-line-items?${query}`);
      assert.deepEqual(
        data.map((line: Body) => line.amount),
        [4900],
        query,
      );
    }
  }
  assert.equal((await app.get('/invoice-line-items?customerExternalId=acme-1')).total, 0);
});

test('a status that does not exist is refused and named', async () => {
  for (const list of ['invoices', 'payments', 'purchases', 'subscriptions', 'checkout-sessions', 'holds'])
    assert.match((await app.request('GET', `/${list}?status=opne`)).body.message, /^status: /, list);
});

test('search finds a part of the name, e-mail address or external id in any case, and takes no wildcards', async () => {
  assert.deepEqual(await externalIds('search=LOVE'), ['acme-1']);
  assert.deepEqual(await externalIds('search=mail2@'), ['acme-2']);
  assert.deepEqual(await externalIds('search=me-3'), ['acme-3']);
  assert.deepEqual(await externalIds('search=example.com&order=desc&limit=2'), ['acme-4', 'acme-3']);
  assert.deepEqual(await externalIds(`search=${encodeURIComponent('0% J')}`), ['acme-3']);
  assert.deepEqual(await externalIds(`search=${encodeURIComponent('a_L')}`), ['acme-4']);
  assert.deepEqual(await externalIds(`search=${encodeURIComponent('%%%')}`), []);
  assert.equal((await app.request('GET', '/customers?search=ab')).status, 400);
});

test('a search is answered by the trigram index', async () => {
  const plan = await app.owner.transaction().execute(async (owner) => {
    // A table of four rows is read whole otherwise.
    await sql`set local enable_seqscan = off`.execute(owner);
    return sql`explain select id from customers
      where name ilike '%lovelace%' or email ilike '%lovelace%' or external_id ilike '%lovelace%'`.execute(owner);
  });
  assert.match(JSON.stringify(plan.rows), /customers_search/);
});

test('the next page of many ids, or of a search with spaces around it, is that of the same customers', async () => {
  const { data } = await app.get('/customers?limit=2');
  const many = [
    ...data.map(({ id }: Body) => id),
    ...Array.from({ length: 98 }, (_, n) => `cust_${'0'.repeat(20)}${n}`),
  ];
  for (const filter of [`ids=${many.join(',')}`, 'search=%20example.com%20']) {
    const { data: first, nextCursor } = await app.get(`/customers?limit=1&${filter}`);
    const cursor = `limit=1&cursor=${encodeURIComponent(nextCursor)}`;
    for (const query of [cursor, `${cursor}&${filter}`]) {
      const next = await app.get(`/customers?${query}`);
      assert.deepEqual([first[0].id, next.data[0].id], many.slice(0, 2));
    }
  }
});

test('customers are listed by their ids, and an unknown id finds nobody', async () => {
  const { data } = await app.get('/customers');
  const ids = data.slice(0, 2).map(({ id }: Body) => id);
  assert.equal((await app.get(`/customers?ids=${ids.join(',')},cus_nobody`)).total, 2);
  const refused = await app.request('GET', '/customers?ids=a,,b');
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body.issues), /1 to 100 ids, separated by commas/);
});

const lengthOfNote = 500;

/** Many customers of an organization of its own, made directly in the database, in the cell of the first one. */
async function manyCustomers(count: number, notes = 0) {
  const { testKey: key, testEnvironmentId } = await app.newOrganization();
  await app.post(
    '/customers',
    { customer: { externalId: 'one', email: 'one@acme.test', name: '=1+1, "Ltd"' } },
    { key },
  );
  const slot = slotOfCustomer(testEnvironmentId, 'one');
  const names = Array.from({ length: count }, (_, n) =>
    nameIn(app, app.databaseOf(slot), testEnvironmentId, `one-${n + 1}`),
  );
  const copied = `jsonb_populate_record(c, jsonb_build_object('id', 'cust_9' || lpad(n::text, 18, '0') || '${slot}',
    'external_id', named.name, 'invoice_number_base', 'N' || n,
    'metadata', (select coalesce(jsonb_object_agg(k, repeat('x', ${lengthOfNote})), '{}') from generate_series(1, ${notes}) k)))`;
  await sql`insert into customers select ${sql.raw(`(${copied})`)}.* from customers c,
      unnest(${names}::text[]) with ordinality named (name, n)
    where c.environment_id = ${testEnvironmentId}`.execute(app.owner);
  return { key, names };
}

const download = (file: string, key: string, signal?: AbortSignal) =>
  fetch(`${app.url}/api/v1/exports/${file}`, {
    headers: { authorization: key },
    ...(signal && { signal }),
  });

test('an export has each record once over several pages, quoted, and no formula', async () => {
  const { key, names: copies } = await manyCustomers(1203);
  const answer = await download('customers.csv', key);
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="customers.csv"');
  const [names = '', first = '', ...others] = (await answer.text()).split('\r\n');
  assert.match(names, /^id,externalId,name,email,archived,/);
  assert.match(first, /^cust_\w+,one,"'=1\+1, ""Ltd""",one@acme\.test,false,/);
  assert.match(first, /,\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const named = others.slice(0, -1).map((line) => line.split(',')[1]);
  assert.deepEqual(named, copies);
  const none = await (await download('customers.csv?to=1970-01-02T00:00:00Z', key)).text();
  assert.equal(none, `${names}\r\n`);
  for (const [path, status] of [
    ['plans.csv', 400],
    ['customers.csv?from=yesterday', 400],
    ['customers.csv?to=0&from=5', 400],
  ] as const)
    assert.equal((await download(path, key)).status, status, path);
  const { message } = (await (await download('customers.csv?to=0&from=5', key)).json()) as Body;
  assert.match(message, /to: must be after from/);
});

test('every kind of export has its columns, also without a record', async () => {
  const { testKey: key } = await app.newOrganization();
  for (const file of ['customers', 'invoices', 'invoice-line-items', 'payments', 'credit-notes', 'customer-balances']) {
    const answer = await download(`${file}.csv`, key);
    assert.equal(answer.status, 200, file);
    assert.match(await answer.text(), /^id,[\w,]+,createdAt,updatedAt\r\n$/, file);
  }
});

test('an export is read as it is taken: what is deleted meanwhile is not in it, and a reader may go', async () => {
  // More than the buffers of two sockets hold.
  const [count, notes] = [2000, 30];
  const { key } = await manyCustomers(count, notes);
  const reading = new AbortController();
  const gone = await download('customers.csv', key, reading.signal);
  await gone.body?.getReader().read();
  reading.abort();
  const answer = await download('customers.csv', key);
  const reader = answer.body?.getReader();
  assert(reader);
  await reader.read();
  await sql`delete from customers where external_id like 'one-%'`.execute(app.owner);
  let length = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) length += read.value.length;
  assert(length > 100_000 && length < count * notes * lengthOfNote, `${length} were read`);
  assert.equal((await download('customers.csv', key)).status, 200);
});

test('a search finds customers with their subscriptions, invoices by number, and the catalog, of this tenant only', async () => {
  const { customer } = await app.get('/customers/acme-1');
  const draft = await app.post('/invoices', {
    invoice: { customerExternalId: 'acme-1', lines: [{ description: 'Workshop', unitAmount: 4500 }] },
  });
  const { invoice } = await app.post(`/invoices/${draft.invoice.id}/finalize`, {});
  const { pricingModelId } = customer;
  const { product } = await app.post('/products', {
    product: { name: 'Blue Lovage', slug: 'tea', pricingModelId },
    price: { type: 'single_payment', unitPrice: 900, slug: 'tea-lovage', name: 'A bag' },
  });
  const search = async (q: string, key = app.testKey): Promise<Body[]> =>
    (await app.get(`/search?q=${encodeURIComponent(q)}`, { key })).results;
  const found = async (q: string) => (await search(q)).map(({ type, name, detail }) => [type, name, detail]);

  const byName = await search('LOVELACE');
  assert.deepEqual(
    byName.map(({ type, detail }) => [type, detail]),
    [
      ['customer', 'Mail1@Example.com'],
      ['subscription', 'Ada Lovelace'],
    ],
  );
  assert.deepEqual(byName[0], {
    type: 'customer',
    id: customer.id,
    name: 'Ada Lovelace',
    detail: 'Mail1@Example.com',
    status: null,
    pricingModelId,
  });
  assert.deepEqual(await found('lovage'), [
    ['product', 'Blue Lovage', 'tea'],
    ['price', 'A bag', 'tea-lovage'],
  ]);
  // A number by its beginning, in any case; no text is a pattern.
  const beginning = invoice.invoiceNumber.slice(0, 5).toLowerCase();
  assert.deepEqual(await found(beginning), [['invoice', invoice.invoiceNumber, 'Ada Lovelace']]);
  assert.deepEqual(await found(invoice.invoiceNumber.slice(1)), []);
  assert.deepEqual(await found('100%'), [
    ['customer', '100% Juice', 'Mail3@Example.com'],
    ['subscription', (await search('100% J'))[1].name, '100% Juice'],
  ]);
  assert.deepEqual((await found('a_lo')).length, 2);
  for (const { id } of [customer, invoice, product]) assert.deepEqual((await search(id))[0].id, id);

  const stranger = await app.newOrganization();
  for (const key of [stranger.testKey, app.liveKey])
    for (const q of ['lovelace', 'lovage', beginning, invoice.id, customer.id])
      assert.deepEqual(await search(q, key), []);
  const short = await app.request('GET', '/search?q=lo');
  assert.deepEqual([short.status, short.body.issues[0].path], [400, ['q']]);
});
