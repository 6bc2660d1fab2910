import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { extractText, getDocumentProxy } from 'unpdf';
import { DocumentFonts } from '../../src/documents/actions-fonts.ts';
import { layOut } from '../../src/documents/actions-pdf.ts';
import type { PrintedDocument } from '../../src/documents/document.ts';
import { Threads } from '../../src/jobs/threads.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { beginYears, callerOf, subscribeFor } from '../support/years.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const billingAddress = {
  name: 'Łódź <Works> & Co',
  address: { line1: '1 Mill Road', city: 'Łódź', postal_code: '90-001', country: 'PL' },
};

await app.put('/settings', {
  settings: {
    seller: { name: 'Toll & Sons', email: 'billing@toll.test', addressLines: ['2 Gate Street'], taxId: 'PL123' },
    taxProvider: 'rates',
  },
});
await app.post('/tax-rates', { taxRate: { country: 'PL', type: 'vat', percentage: '23' } });
const buyer = await plans.newCustomer('pm_card_visa');
await app.put(`/customers/${buyer.externalId}`, { customer: { externalId: buyer.externalId, billingAddress } });
await plans.subscribe({ customerId: buyer.customerId, priceSlug: 'pro-monthly' });
const { data } = await app.get(`/invoices?customerId=${buyer.customerId}`);
const invoice = data[0];

/** The bytes of an answer that is no JSON. */
async function file(
  path: string,
  key = app.testKey,
): Promise<{ type: string | null; policy: string | null; bytes: Uint8Array }> {
  const response = await fetch(`${app.url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200);
  const { headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { type: headers.get('content-type'), policy: headers.get('content-security-policy'), bytes };
}

test('an invoice is a page with seller, buyer, lines, tax and total, and no markup but ours', async () => {
  const { type, policy, bytes } = await file(`/invoices/${invoice.id}/html`);
  const page = new TextDecoder().decode(bytes);
  assert.equal(type, 'text/html; charset=utf-8');
  assert.match(policy ?? '', /default-src 'none'/);
  const shown = [
    'Toll &amp; Sons',
    'VAT ID: PL123',
    'Łódź &lt;Works&gt; &amp; Co',
    '90-001 Łódź',
    invoice.invoiceNumber,
  ];
  // 23 % of 30.00 is 6.90.
  for (const text of [...shown, 'VAT 23% (PL)', '$30.00', '$6.90', '$36.90']) assert.ok(page.includes(text), text);
  assert.ok(!page.includes('<Works>'));
});

test('the PDF says the same, in letters beyond Western Europe too', async () => {
  assert.match(invoice.pdfURL, new RegExp(`/api/v1/invoices/${invoice.id}/pdf$`));
  const { type, bytes } = await file(`/invoices/${invoice.id}/pdf`);
  assert.equal(type, 'application/pdf');
  const { totalPages, text } = await extractText(await getDocumentProxy(bytes), { mergePages: true });
  assert.equal(totalPages, 1);
  const shown = [`Invoice ${invoice.invoiceNumber}`, 'Toll & Sons', 'Łódź <Works> & Co', 'Pro, ', 'VAT 23% (PL)'];
  for (const part of [...shown, 'Net amount before tax', '$30.00', '$6.90', '$36.90', 'Paid'])
    assert.ok(text.includes(part), part);
});

test('the PDF has the marks of PDF/A-3b: its metadata, its colours, and each typeface that it draws with', async () => {
  // No typeface has the last character of the name.
  const link = 'https://billing.test/pay/inv_1?key=k';
  const payment = { heading: 'Pay online', text: 'Scan the code', action: 'Open the page', link };
  const buyer = { heading: 'To', lines: ['Łódź 東京 บริษัท \u{10ffff}'] };
  const drawn = { ...documentOf(2), number: 'INV-0042', payment, buyer };
  const file = Buffer.from(await layOut(drawn));
  const { start, trailer, objects, follow } = parsePdf(file);
  assert.match(start, /^%PDF-1\.7\n%[\x80-\xff]{4}/);
  assert.match(trailer, /\/ID \[<([0-9a-f]{32})> <\1>\]/);
  assert.doesNotMatch(trailer, /Encrypt/);
  const root = follow(trailer, 'Root');
  assert.match(root.text, /\/Lang \(en\)/);
  assert.doesNotMatch(root.text, /JavaScript|OpenAction|\/AA/);

  const metadata = follow(root.text, 'Metadata');
  assert.doesNotMatch(metadata.text, /Filter/);
  const xmp = metadata.bytes.toString();
  const [, part] = /<pdfaid:part>(.+)<\/pdfaid:part>/.exec(xmp) ?? [];
  const [, conformance] = /<pdfaid:conformance>(.+)<\/pdfaid:conformance>/.exec(xmp) ?? [];
  assert.deepEqual([part, conformance], ['3', 'B']);
  assert.match(xmp, /<dc:title>\s*<rdf:Alt>\s*<rdf:li xml:lang="x-default">Invoice INV-0042<\/rdf:li>/);
  assert.match(xmp, /<pdf:Producer>Tollkeeper<\/pdf:Producer>/);

  const intent = follow(root.text, 'OutputIntents');
  assert.match(intent.text, /\/S \/GTS_PDFA1/);
  const profile = follow(intent.text, 'DestOutputProfile');
  assert.match(profile.text, /\/N 3\b/);
  assert.deepEqual(
    [profile.bytes.subarray(16, 20).toString(), profile.bytes.subarray(36, 40).toString()],
    ['RGB ', 'acsp'],
  );

  const fonts = objects.filter(({ text }) => /\/Type \/Font\n/.test(text));
  const descriptors = objects.filter(({ text }) => /\/Type \/FontDescriptor/.test(text));
  assert.ok(descriptors.length >= 4, 'Latin, Japanese, Thai and the rest');
  for (const { text } of descriptors) assert.ok(follow(text, 'FontFile[23]').bytes.length > 0);
  for (const { text } of fonts)
    assert.match(
      text,
      /\/Subtype \/Type0[\s\S]+\/ToUnicode \d+ 0 R|\/Subtype \/CIDFontType[02][\s\S]+\/FontDescriptor \d+ 0 R/,
    );
  // Another filter may not be used, and an annotation must be printed.
  for (const { text } of objects) {
    assert.doesNotMatch(text, /\/Filter (?!\/FlateDecode)/);
    if (/\/Type \/Annot/.test(text)) assert.match(text, /\/F 4\b/);
  }
  const pages = objects.filter(({ text }) => /\/Type \/Page\n/.test(text));
  const glyphs = pages
    .flatMap(({ text }) => [
      ...follow(text, 'Contents')
        .bytes.toString('latin1')
        .matchAll(/<([0-9a-f]+)>/g),
    ])
    .flatMap(([, hex = '']) => hex.match(/.{4}/g) ?? []);
  assert.ok(glyphs.length > 50);
  assert.ok(!glyphs.includes('0000'), 'no glyph that is missing is drawn');
});

/** The objects of a PDF, whose streams are unpacked. */
function parsePdf(file: Buffer) {
  const all = file.toString('latin1');
  const objects = [...all.matchAll(/(?<=\n)(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id = '', body = '']) => {
    const [text = '', stream = ''] = body.split(/\nstream\n/);
    const packed = Buffer.from(stream.slice(0, stream.lastIndexOf('\nendstream')), 'latin1');
    return { id, text, bytes: /FlateDecode/.test(text) ? inflateSync(packed) : packed };
  });
  /** The object that an entry names, alone or first in a list. */
  const follow = (text: string, entry: string) => {
    const [, id] = new RegExp(`/${entry} \\[?(\\d+) 0 R`).exec(text) ?? [];
    const found = objects.find((each) => each.id === id);
    assert.ok(found, `${entry} in ${text}`);
    return found;
  };
  return { start: all.slice(0, 20), trailer: all.slice(all.lastIndexOf('\ntrailer')), objects, follow };
}

test('the invoice of another environment is not found', async () => {
  for (const form of ['html', 'pdf']) {
    const answer = await app.request('GET', `/invoices/${invoice.id}/${form}`, undefined, { key: app.liveKey });
    assert.equal(answer.status, 404);
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  }
});

test('an invoice with usage has an annex of the units of each day, and its payment has a receipt', async () => {
  const organization = await app.newOrganization();
  const { testKey: key } = organization;
  const caller = callerOf(app, organization);
  await beginYears(app, organization, caller, instant('2026-01-01'));
  const { subscriptionId } = await subscribeFor(caller, 'ada', { plan: 'month', token: 'pm_card_visa' });
  await caller.moveTo(instant('2026-01-03'));
  const usageEvent = { subscriptionId, priceSlug: 'call', transactionId: 'third of January', amount: 40 };
  await caller.post('/usage-events', { usageEvent });
  await caller.moveTo(instant('2026-02-01'));
  const { data: invoices } = await caller.get(`/invoices?subscriptionId=${subscriptionId}&order=desc`);
  const [{ id, invoiceNumber }] = invoices;
  const textOf = async (path: string) => new TextDecoder().decode((await file(path, key)).bytes);
  const page = await textOf(`/invoices/${id}/html`);
  assert.match(page, /Usage by day, Jan 1 – Feb 1, 2026/);
  const rows = [...page.matchAll(/<tr><td class="">([^<]+)<\/td><td class="amount">(\d+)<\/td><\/tr>/g)];
  assert.deepEqual(
    rows.map(([, day, units]) => [day, units]),
    [
      ['January 1, 2026', '250'],
      ['January 3, 2026', '40'],
    ],
  );
  assert.match(page, /<strong>Total<\/strong><\/td><td class="amount"><strong>290<\/strong>/);
  // The plan costs 30.00, and 190 of the 290 calls are beyond its credits: 0.95.
  const { data: payments } = await caller.get(`/payments?invoiceId=${id}`);
  const receipt = await textOf(`/payments/${payments[0].id}/html`);
  for (const text of ['<h1>Receipt', '$30.95 paid on February 1, 2026', 'Visa •••• 4242', `<dd>${invoiceNumber}</dd>`])
    assert.ok(receipt.includes(text), text);
  assert.ok(!receipt.includes('Amount due') && !receipt.includes('Usage by day'));
  const pdf = await file(`/payments/${payments[0].id}/pdf`, key);
  const { text } = await extractText(await getDocumentProxy(pdf.bytes), { mergePages: true });
  assert.match(text, /Receipt.+Amount paid \$30\.95/s);
  assert.equal(invoices[0].receiptPdfURL, `${app.url}/api/v1/invoices/${id}/receipt/pdf`);
  const ofInvoice = await file(`/invoices/${id}/receipt/pdf`, key);
  assert.equal(ofInvoice.type, 'application/pdf');
  assert.equal((await extractText(await getDocumentProxy(ofInvoice.bytes), { mergePages: true })).text, text);
});

test('the invoice of a resumption has its page and PDF after a pause at the first instant of a period', async () => {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await beginYears(app, organization, caller, instant('2026-01-01'));
  const { subscriptionId } = await subscribeFor(caller, 'ada', { plan: 'month', token: 'pm_card_visa' });
  await caller.post(`/subscriptions/${subscriptionId}/pause`, { pause: {} });
  await caller.moveTo(instant('2026-01-10'));
  await caller.post(`/subscriptions/${subscriptionId}/resume`);
  const { data: invoices } = await caller.get(`/invoices?subscriptionId=${subscriptionId}`);
  assert.equal(invoices.length, 2);
  for (const { id } of invoices)
    for (const form of ['html', 'pdf'])
      assert.ok((await file(`/invoices/${id}/${form}`, organization.testKey)).bytes.length > 0);
});

test('a payment without its money has no receipt', async () => {
  const owing = await plans.newCustomer('pm_card_processing');
  await plans.subscribe({ customerId: owing.customerId, priceSlug: 'pro-monthly' });
  const { data: payments } = await app.get(`/payments?customerId=${owing.customerId}`);
  const { status, body } = await app.request('GET', `/payments/${payments[0].id}/html`);
  assert.deepEqual(
    [status, body.message],
    [400, `Only a payment whose money arrived has a receipt; the status of payment ${payments[0].id} is processing.`],
  );
  const { invoiceId } = payments[0];
  const refused = await app.request('GET', `/invoices/${invoiceId}/receipt/pdf`);
  assert.deepEqual(
    [refused.status, refused.body.message],
    [400, `No money has come for invoice ${invoiceId}, so it has no receipt.`],
  );
  assert.equal((await app.get(`/invoices/${invoiceId}`)).invoice.receiptPdfURL, null);
});

/** A document of so many lines. */
const documentOf = (lines: number): PrintedDocument => ({
  language: 'en',
  branding: { logo: null, primaryColor: null, legalFooter: null },
  company: null,
  title: 'Invoice',
  number: null,
  status: 'Paid',
  facts: [],
  seller: { heading: 'From', lines: [] },
  buyer: { heading: 'To', lines: [] },
  headline: null,
  columns: { description: 'Description', quantity: 'Quantity', price: 'Price', amount: 'Amount' },
  lines: Array.from({ length: lines }, (_, index) => ({
    ...{ description: `Seat ${index}`, quantity: '1', price: '$1.00', amount: '$1.00', details: [] },
  })),
  sums: [],
  taxes: null,
  payment: null,
  notes: [],
  annex: [],
  pageText: 'Page {page} of {pages}',
});

test('a PDF is laid out beside the event loop, and given up after its time', async () => {
  const program = { file: new URL('../../src/documents/actions-pdf.ts', import.meta.url), name: 'layOut' };
  const threads = new Threads({ threads: 1, waiting: 1, timeoutMs: 1_500 });
  const layOutInThread = (document: PrintedDocument) => threads.run<typeof layOut>(program, document);
  const delays: number[] = [];
  // A busy machine delays a run now and then; a layout on the event loop would delay each by seconds.
  for (let run = 0; run < 3 && !delays.some((ms) => ms < 100); run++) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    await assert.rejects(layOutInThread(documentOf(20_000)), { problem: 'overloaded', status: 503 });
    delay.disable();
    delays.push(delay.max / 1e6);
  }
  assert(Math.min(...delays) < 100, `the event loop was blocked for ${delays} ms`);
  const made = layOutInThread(documentOf(1)).catch(() => null);
  const waiting = layOutInThread(documentOf(1)).catch(() => null);
  await assert.rejects(layOutInThread(documentOf(1)), { problem: 'overloaded' });
  await Promise.all([made, waiting]);
});

test('names in any script have a typeface with their letters, also where marks have no place', async () => {
  // The library fails to place the marks of the second one.
  const names = ['บริษัท สยาม', 'ਪੰਜਾਬੀ ਕੰਪਨੀ', 'ՀԱՅ Ծրագիր', 'தமிழ்'];
  const fonts = await DocumentFonts.forTexts(names, false);
  for (const letter of names.join('')) {
    const font = fonts.loaded.get(fonts.fontOf(letter, 400));
    assert.ok(font?.hasGlyphForCodePoint(letter.codePointAt(0) ?? 0), letter);
  }
  const drawn = await layOut({ ...documentOf(1), buyer: { heading: 'To', lines: names } });
  const { totalPages } = await extractText(await getDocumentProxy(new Uint8Array(drawn)));
  assert.equal(totalPages, 1);
});
