import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PNG } from 'pngjs';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { performCheckout } from '../../src/checkout/jobs.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { openSmtp } from '../../src/jobs/smtp.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { newDebtor } from '../support/debtor.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { Inbox } from '../support/inbox.ts';
import { atFileEnd } from '../support/process-end.ts';
import { until } from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { startTaker } from '../support/taker.ts';

let whenTaken: () => Promise<unknown> = async () => undefined;
const inbox = new Inbox(async () => void (await whenTaken()));
const smtp = openSmtp({ url: await inbox.open(), from: 'billing@acme.test' });
atFileEnd(async () => smtp.close());
const publicUrl = 'https://billing.acme.test';
const app = await startTestApp({ services: { mail: { smtp, publicUrl } } });
const withoutServer = await startTestApp({ services: { mail: undefined as never } });

/** A customer who gets emails, with a subscription at 20.00 a month. */
async function newReader(mail: Body = {}, token = 'pm_card_visa') {
  const settings = { seller: { name: 'Acme' }, mail: { enabled: true, testRecipients: ['@acme.test'], ...mail } };
  const debtor = await newDebtor(app, { token }, settings);
  inbox.received.length = 0;
  inbox.refusal = null;
  inbox.refused = null;
  const emails = async (query = '') => (await debtor.caller.get(`/emails${query}`)).data as Body[];
  return { ...debtor, emails };
}

/** Runs all jobs. One that fails is gone here, and later attempts are made by hand. */
async function runJobs(): Promise<void> {
  const run = () => app.runJobs({ all: true }).catch(() => 1);
  while ((await run()) > 0);
}

test('an invoice that is sent reaches its customer once though its job runs three times, with its PDF and a link to pay', async () => {
  const { caller, emails, environmentId } = await newReader();
  const { invoice } = await caller.post('/invoices', {
    invoice: { customerExternalId: 'ada', lines: [{ description: 'Workshop', unitAmount: 45000 }] },
  });
  // Finalized, it is sent: nothing charges it.
  const { invoice: sent } = await caller.post(`/invoices/${invoice.id}/finalize`, {});
  await runJobs();
  const [email] = await emails('?template=invoice_issued');
  // The queue runs a job again whose end it did not hear of.
  for (let run = 2; run <= 3; run++) await app.tasks.send_email?.(app, { environmentId, emailId: email.id });
  const [mail] = inbox.received.filter(({ subject }) => subject?.startsWith('Invoice'));
  assert(mail);
  assert.equal(inbox.received.filter(({ messageId }) => messageId === mail.messageId).length, 1);
  assert.equal(mail.messageId, `<${email.id}@acme.test>`);
  assert.equal(mail.subject, `Invoice ${sent.invoiceNumber} from Acme`);
  assert.deepEqual(mail.from?.value, [{ address: 'billing@acme.test', name: 'Acme' }]);
  assert.match(mail.text ?? '', /for \$450\.00/);
  assert(mail.text?.includes(`${publicUrl}/pay/${invoice.id}?key=`));
  assert(String(mail.html).includes(`href="${publicUrl}/pay/${invoice.id}?key=`));
  const [attachment] = mail.attachments;
  assert.equal(attachment?.filename, `${sent.invoiceNumber}.pdf`);
  assert.equal(attachment?.content.subarray(0, 5).toString(), '%PDF-');
  assert.deepEqual([email.status, email.attempts, email.subject], ['sent', 1, mail.subject]);
  await caller.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 45000 } });
  await caller.post(`/invoices/${invoice.id}/send`, {});
  await runJobs();
  const again = inbox.received.findLast(({ subject }) => subject?.startsWith('Invoice'));
  assert.notEqual(again, mail);
  assert.match(again?.text ?? '', /for \$450\.00/);
  await assertSound(app);
});

test('three workers that look at once send each email once', async () => {
  const { caller, emails } = await newReader();
  for (const description of ['Workshop', 'Travel', 'Audit', 'Review']) {
    const lines = [{ description, unitAmount: 45000 }];
    const { invoice } = await caller.post('/invoices', { invoice: { customerExternalId: 'ada', lines } });
    await caller.post(`/invoices/${invoice.id}/finalize`, {});
  }
  const workers = await Promise.all([startTaker(app), startTaker(app), startTaker(app)]);
  try {
    await until(async () => (await emails('?status=queued')).length === 0, 'every email to be sent');
  } finally {
    for (const worker of workers) await worker.stop();
  }
  const sent = await emails('?status=sent');
  // The receipt of the subscription is the fifth one.
  assert.equal(sent.length, 5);
  assert.deepEqual(
    inbox.received.map(({ messageId }) => messageId).sort(),
    sent.map(({ id }) => `<${id}@acme.test>`).sort(),
  );
});

test('invoices go to the accounts department in its language and at its time, and the rest to the customer', async () => {
  const { caller, emails, moveTo, subscriptionId } = await newReader();
  const billingTerms = {
    ...{ language: 'de', timeZone: 'Pacific/Auckland', netTermsDays: 30 },
    invoiceEmails: ['ap@acme.test', 'cfo@acme.test'],
  };
  await caller.put('/customers/ada', { customer: { billingTerms } });
  await moveTo('2026-01-31T20:00:00Z');
  const { invoice } = await caller.post('/invoices', {
    invoice: { customerExternalId: 'ada', lines: [{ description: 'Workshop', unitAmount: 45000 }] },
  });
  const { invoice: sent } = await caller.post(`/invoices/${invoice.id}/finalize`, {});
  await caller.post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
  await runJobs();
  const [issued] = await emails('?template=invoice_issued');
  assert.deepEqual(issued.recipients, ['ap@acme.test', 'cfo@acme.test']);
  assert.equal(issued.subject, `Rechnung ${sent.invoiceNumber} von Acme`);
  const mail = inbox.received.find(({ messageId }) => messageId === `<${issued.id}@acme.test>`);
  // In Auckland it is 1 February already, and 3 March thirty days later.
  assert.match(mail?.text ?? '', /fällig am 3. März 2026/);
  const [ended] = await emails('?template=subscription_canceled');
  assert.notDeepEqual(ended.recipients, issued.recipients);
});

test('a failed renewal tells its customer how to pay, and is not told of once it is paid', async () => {
  const { moveTo, swapCard, emails, caller, send } = await newReader();
  await swapCard('pm_card_chargeCustomerFail');
  await moveTo('2026-02-01');
  await runJobs();
  const [failed] = await emails('?template=payment_failed');
  assert.equal(failed.status, 'sent');
  const mail = inbox.received.find(({ messageId }) => messageId === `<${failed.id}@acme.test>`);
  assert.match(mail?.text ?? '', /could not collect \$30\.75 for invoice \S+ on February 1, 2026/);
  assert.match(mail?.text ?? '', /We will try again on February 4, 2026\./);
  const { data: invoices } = await caller.get('/invoices?status=open');
  assert(mail?.text?.includes(`${publicUrl}/pay/${invoices[0].id}?key=`));
  const { email: repeat } = await caller.post(`/emails/${failed.id}/resend`, {});
  assert.equal((await send(`/invoices/${invoices[0].id}/record-payment`, { payment: { amount: 3075 } })).status, 200);
  await runJobs();
  const { status, lastError } = (await caller.get(`/emails/${repeat.id}`)).email;
  assert.deepEqual([status, lastError], ['suppressed', 'The invoice was paid meanwhile.']);
});

test('what was voided before its email was written is not told of: an invoice, a failed charge and a credit note', async () => {
  const { caller, emails, moveTo, swapCard } = await newReader();
  await runJobs();
  const lines = [{ description: 'Workshop', unitAmount: 45000 }];
  const finalized = async () => {
    const { invoice } = await caller.post('/invoices', { invoice: { customerExternalId: 'ada', lines } });
    await caller.post(`/invoices/${invoice.id}/finalize`, {});
    return invoice.id as string;
  };
  await caller.post(`/invoices/${await finalized()}/void`, {});
  const credited = await finalized();
  await runJobs();
  const { invoiceLineItems } = await caller.get(`/invoices/${credited}`);
  const creditNote = { lines: [{ invoiceLineItemId: invoiceLineItems[0].id, amount: 100 }], settle: 'offset' };
  const made = await caller.post(`/invoices/${credited}/credit-notes`, { creditNote });
  await caller.post(`/credit-notes/${made.creditNote.id}/void`, {});
  await swapCard('pm_card_chargeCustomerFail');
  await moveTo('2026-02-01');
  const { data: owed } = await caller.get('/invoices?status=open&type=subscription');
  await caller.post(`/invoices/${owed[0].id}/mark-uncollectible`, {});
  inbox.received.length = 0;
  await runJobs();
  const gone = 'The invoice was voided or written off meanwhile.';
  assert.deepEqual(
    (await emails('?status=suppressed')).map(({ template, lastError }) => [template, lastError]),
    [
      ['invoice_issued', gone],
      ['credit_note_issued', 'The credit note was voided meanwhile.'],
      ['payment_failed', gone],
    ],
  );
  assert.deepEqual(inbox.received, []);
});

test('emails of an erased customer keep no address, neither one that is under way nor those that wait', async () => {
  const { caller, emails, send, subscriptionId } = await newReader();
  await caller.post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
  const erased = Promise.withResolvers<unknown>();
  whenTaken = () => {
    whenTaken = () => erased.promise;
    const answer = send('/customers/ada/erase');
    erased.resolve(answer);
    return answer;
  };
  await runJobs();
  whenTaken = async () => undefined;
  assert.equal(((await erased.promise) as Body).status, 200);
  const statuses = new Set<string>();
  for (const { status, recipients, subject, lastError } of await emails()) {
    statuses.add(status);
    assert.deepEqual([recipients, subject, lastError], [[], null, null]);
  }
  assert.deepEqual([...statuses].sort(), ['sent', 'suppressed']);
  await assertSound(app);
});

test('a consolidated invoice that is charged at once has a receipt, and one on terms is sent to be paid', async () => {
  const { caller, customerId, subscriptionId, moveTo } = await newReader();
  await caller.put('/settings', { settings: { allowMultipleSubscriptions: true } });
  const { priceId, defaultPaymentMethodId: cardId } = (await caller.get(`/subscriptions/${subscriptionId}`))
    .subscription;
  await caller.put('/customers/ada', { customer: { consolidateInvoices: true } });
  await caller.post('/subscriptions', { customerId, priceId, defaultPaymentMethodId: cardId });
  await runJobs();
  const mailedBy = async (at: string) => {
    inbox.received.length = 0;
    await moveTo(at);
    await runJobs();
    return inbox.received.map(({ subject }) => subject?.split(' ')[0]);
  };
  assert.deepEqual(await mailedBy('2026-02-03'), ['Your']);
  await caller.put('/customers/ada', { customer: { billingTerms: { netTermsDays: 30 } } });
  const owned = app.owner.updateTable('subscriptions').set({ defaultPaymentMethodId: null });
  await owned.where('customerId', '=', customerId).execute();
  await caller.delete(`/payment-methods/${cardId}`);
  assert.deepEqual(await mailedBy('2026-03-03'), ['Invoice']);
  // Without terms and without a card, nobody is charged either.
  await caller.put('/customers/ada', { customer: { billingTerms: null } });
  assert.deepEqual(await mailedBy('2026-04-03'), ['Invoice']);
});

test('the receipt of a payment that the bank has taken back meanwhile is not sent', async () => {
  const { caller, emails, environmentId } = await newReader();
  const [{ id: paymentId }] = (await caller.get('/payments')).data;
  const outcome = { result: 'reversed', code: 'debit_returned', message: 'Returned by the bank.' } as const;
  await runInEnvironment(app.database, { environmentId }, (work) => settleCharges(work, [{ paymentId, outcome }]));
  await runJobs();
  const [receipt] = await emails('?template=receipt');
  assert.deepEqual([receipt.status, receipt.lastError], ['suppressed', 'The money was taken back meanwhile.']);
});

test('the end of a trial is told of three days before, unless the subscription ends with it', async () => {
  const { caller, moveTo, emails } = await newReader({}, 'pm_card_visa');
  const begin = async (externalId: string) => {
    const customer = { externalId, name: externalId, email: `${externalId}@acme.test` };
    const { data } = await caller.post('/customers', { customer });
    const trial = { customerId: data.customer.id, priceSlug: 'month-price', trialEnd: instant('2026-01-15') };
    return (await caller.post('/subscriptions', trial)).subscription;
  };
  await begin('staying');
  const { id } = await begin('leaving');
  await moveTo('2026-01-12');
  await caller.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
  await runJobs();
  const sent = await emails('?template=trial_ending');
  assert.deepEqual(sent.map(({ recipients, status, lastError }) => [recipients[0], status, lastError]).sort(), [
    ['leaving@acme.test', 'suppressed', 'The trial has ended, or the subscription ends with it.'],
    ['staying@acme.test', 'sent', null],
  ]);
  const mail = inbox.received.find(({ to }) => JSON.stringify(to).includes('staying@acme.test'));
  assert.match(mail?.subject ?? '', /^Your trial of .+ ends on January 15, 2026$/);
});

test('a card that expires is told of when its last month begins', async () => {
  const { testKey: key } = await app.newOrganization();
  await app.put('/settings', { settings: { mail: { enabled: true, testRecipients: ['@acme.test'] } } }, { key });
  const moveTo = (at: string) => app.put('/test-clock', { testClock: { now: instant(at) } }, { key });
  await moveTo('2099-11-01');
  const customer = { externalId: 'eve', name: 'Eve', email: 'eve@acme.test' };
  const { data } = await app.post('/customers', { customer }, { key });
  const paymentMethod = { customerId: data.customer.id, token: 'pm_card_visa' };
  await app.post('/payment-methods', { paymentMethod }, { key });
  inbox.received.length = 0;
  await moveTo('2099-12-02');
  await runJobs();
  const [mail, ...others] = inbox.received.filter(({ to }) => JSON.stringify(to).includes('eve@acme.test'));
  assert.equal(others.length, 0);
  assert.match(mail?.text ?? '', /Your card Visa •••• 4242 expires on December 31, 2099\./);
});

test('a spend limit that is reached is told of once in its period, with the day on which it begins again', async () => {
  const { caller, emails, moveTo, subscriptionId } = await newReader();
  await moveTo('2026-01-31T20:00:00Z');
  await caller.put('/customers/ada', { customer: { billingTerms: { language: 'de' } } });
  await caller.put('/customers/ada/spend-controls', {
    spendControls: { limits: [{ period: 'month', amount: 2000, action: 'notify' }] },
  });
  const use = (transactionId: string) =>
    caller.post('/usage-events', { usageEvent: { subscriptionId, priceSlug: 'call', transactionId, amount: 1500 } });
  await use('first');
  await runJobs();
  assert.deepEqual(await emails('?template=spend_limit_reached'), []);
  await use('second');
  await use('third');
  await runJobs();
  const told = await emails('?template=spend_limit_reached');
  assert.deepEqual(
    told.map(({ status, subject }) => [status, subject]),
    [['sent', 'Sie haben ein Limit bei Acme erreicht']],
  );
  const mail = inbox.received.find(({ messageId }) => messageId === `<${told[0]?.id}@acme.test>`);
  assert.match(
    mail?.text ?? '',
    /Limit von 2\.000 vollständig verbraucht\. Es wird am 1\. Februar 2026 zurückgesetzt\./,
  );
  assert(mail?.text?.includes(`${publicUrl}/portal?key=`));
  for (const template of ['spend_limit_reached', 'top_up_action_required'])
    for (const language of ['en', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pt']) {
      const { preview } = await caller.get(`/email-templates/${template}/preview?language=${language}`);
      assert.doesNotMatch(`${preview.subject} ${preview.text}`, /[{}]/);
    }
});

test('an address that the mail server refuses bounces, and another refusal is tried again', async () => {
  const { emails, environmentId } = await newReader();
  inbox.refusal = { message: 'try later', responseCode: 451 };
  await runJobs();
  const [waiting] = await emails('?template=receipt');
  assert.deepEqual([waiting.status, waiting.attempts], ['queued', 1]);
  assert.match(waiting.lastError, /try later/);
  inbox.refusal = { message: 'no such user', responseCode: 550 };
  await app.tasks.send_email?.(app, { environmentId, emailId: waiting.id });
  const [bounced] = await emails('?template=receipt');
  assert.deepEqual([bounced.status, bounced.attempts, bounced.sentAt], ['bounced', 2, null]);
  assert.deepEqual(bounced.bouncedRecipients, bounced.recipients);
});

test('an address that bounced gets nothing more, until it is another one or an email to it is sent again', async () => {
  const { caller, emails } = await newReader();
  const issue = async () => {
    const lines = [{ description: 'Workshop', unitAmount: 45000 }];
    const { invoice } = await caller.post('/invoices', { invoice: { customerExternalId: 'ada', lines } });
    await caller.post(`/invoices/${invoice.id}/finalize`, {});
    await runJobs();
    return (await emails('?template=invoice_issued')).at(-1) as Body;
  };
  const old = (await caller.get('/customers/ada')).customer.email;
  inbox.refusal = { message: '5.1.1 no such user', responseCode: 550 };
  await runJobs();
  inbox.refusal = null;
  const suppressed = await issue();
  assert.equal(suppressed.status, 'suppressed');
  assert.match(suppressed.lastError, /^Not sent, .+ The mail server refused \S+@acme\.test: 550 5\.1\.1 no such user$/);
  await caller.put('/customers/ada', { customer: { email: 'Other@acme.test' } });
  assert.equal((await issue()).status, 'sent');
  await caller.put('/customers/ada', { customer: { email: old } });
  assert.equal((await issue()).status, 'suppressed');
  await caller.post(`/emails/${suppressed.id}/resend`, {});
  await runJobs();
  assert.equal((await issue()).status, 'sent');
  await assertSound(app);
});

test('one recipient of several bounces, and later emails go to the others', async () => {
  const { caller, emails, environmentId } = await newReader();
  const invoiceEmails = ['gone@acme.test', 'ap@acme.test'];
  await caller.put('/customers/ada', { customer: { billingTerms: { invoiceEmails } } });
  // A mail server that blocks the sender says nothing about the address.
  inbox.refusal = { message: '5.7.1 blocked', responseCode: 550 };
  await runJobs();
  const [receipt] = await emails('?template=receipt');
  assert.deepEqual([receipt.status, receipt.bouncedRecipients], ['queued', []]);
  inbox.refusal = { message: '5.1.1 no such user', responseCode: 550 };
  inbox.refused = 'gone@acme.test';
  const lines = [{ description: 'Workshop', unitAmount: 45000 }];
  for (const expected of [invoiceEmails, ['ap@acme.test']]) {
    const { invoice } = await caller.post('/invoices', { invoice: { customerExternalId: 'ada', lines } });
    await caller.post(`/invoices/${invoice.id}/finalize`, {});
    await runJobs();
    const last = (await emails('?template=invoice_issued')).at(-1) as Body;
    assert.deepEqual([last.status, last.recipients], ['sent', expected]);
    const isFirst = expected.length === 2;
    assert.deepEqual(last.bouncedRecipients, isFirst ? ['gone@acme.test'] : []);
    assert.equal(last.lastError, isFirst ? 'gone@acme.test: 550 5.1.1 no such user' : null);
  }
  await app.tasks.send_email?.(app, { environmentId, emailId: receipt.id });
  assert.equal((await emails('?template=receipt'))[0].status, 'sent');
});

test('a charge that the bank wants to have confirmed asks the customer for it, with the page where it is paid', async () => {
  const { moveTo, swapCard, emails, caller } = await newReader();
  await swapCard('pm_card_authenticationRequired');
  await moveTo('2026-02-01');
  await runJobs();
  assert.deepEqual(await emails('?template=payment_failed'), []);
  const [asked] = await emails('?template=payment_action_required');
  const mail = inbox.received.find(({ messageId }) => messageId === `<${asked.id}@acme.test>`);
  assert.match(mail?.text ?? '', /Your bank asks you to confirm the payment of \$30\.75 for invoice /);
  const { data: invoices } = await caller.get('/invoices?status=open');
  assert(mail?.text?.includes(`${publicUrl}/pay/${invoices[0].id}?key=`));
});

test('an email has the logo of the seller as a part of it, its colour and its legal text', async () => {
  const logo = new PNG({ width: 400, height: 100, fill: true });
  const branding = {
    logo: `data:image/png;base64,${PNG.sync.write(logo).toString('base64')}`,
    ...{ primaryColor: '#1f5aa0', legalFooter: 'Acme GmbH\nHRB 1' },
  };
  const { caller } = await newReader();
  await caller.put('/settings', { settings: { branding } });
  await runJobs();
  const [mail] = inbox.received;
  // The parser puts the part in the place where the HTML names it.
  assert.match(String(mail?.html), /<img src="data:image\/png;base64,[^"]+" alt="Acme" width="220" height="55"/);
  assert.deepEqual(
    mail?.attachments.map(({ cid, related, contentType }) => [contentType, cid, related]),
    [
      ['image/png', 'brand@tollkeeper', true],
      ['application/pdf', undefined, undefined],
    ],
  );
  assert.match(String(mail?.html), /background:#1f5aa0.+Acme GmbH<br>HRB 1/s);
  assert.match(mail?.text ?? '', /\nAcme\n\nAcme GmbH\nHRB 1\n$/);
  const { preview } = await caller.get('/email-templates/payment_failed/preview');
  assert.match(preview.html, /<img src="data:image\/png;base64,/);
});

test('test mode sends to addresses on its list only, and an email is sent again on request', async () => {
  const { caller, emails, send } = await newReader({ testRecipients: ['jo@acme.example'] });
  await runJobs();
  const [suppressed] = await emails('?template=receipt');
  assert.deepEqual([suppressed.status, inbox.received.length], ['suppressed', 0]);
  await caller.put('/settings', { settings: { mail: { testRecipients: ['@ACME.test'] } } });
  const { email: repeat } = await caller.post(`/emails/${suppressed.id}/resend`, {});
  assert.deepEqual([repeat.status, repeat.resentFrom, repeat.eventId], ['queued', suppressed.id, suppressed.eventId]);
  assert.equal(
    (await send(`/emails/${repeat.id}/resend`, {})).body.message,
    `Email ${repeat.id} is queued: it is sent without a request.`,
  );
  await runJobs();
  assert.equal((await caller.get(`/emails/${repeat.id}`)).email.status, 'sent');
  assert.equal(inbox.received.length, 1);
});

test('nothing is sent before emails are enabled, which needs a mail server', async () => {
  const { emails } = await newReader({ enabled: false });
  assert.deepEqual(await emails(), []);
  const refused = await withoutServer.request('PUT', '/settings', { settings: { mail: { enabled: true } } });
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /TOLLKEEPER_SMTP_URL/);
});

test('own texts take the place of the usual ones, and name their placeholders', async () => {
  const { caller } = await newReader({
    texts: { receipt: { subject: 'Danke, {customer}', text: 'Betrag: {amount}' } },
  });
  const { preview } = await caller.get('/email-templates/receipt/preview?language=de');
  assert.equal(preview.subject, 'Danke, Ada Lovelace');
  assert.match(preview.text, /^Guten Tag Ada Lovelace,\n\nBetrag: 49,00\s\$/);
  const refused = await app.request('PUT', '/settings', {
    settings: { mail: { texts: { receipt: { text: '{plan}' } } } },
  });
  assert.equal(refused.status, 400);
  assert.match(
    JSON.stringify(refused.body),
    /no other placeholders than \{seller\}, \{customer\}, \{number\}, \{amount\}, \{date\}/,
  );
  const { settings } = await caller.put('/settings', { settings: { mail: { texts: { receipt: null } } } });
  assert.deepEqual(settings.mail.texts, {});
});

test('a payment that waits for an hour for its confirmation reminds its customer once, with the page to confirm it', async () => {
  const { caller, emails, environmentId, moveTo } = await newReader();
  const { product } = await caller.post('/products', {
    product: { name: 'Book', slug: 'book', active: true },
    price: { type: 'single_payment', slug: 'book', unitPrice: 999, isDefault: true, active: true },
  });
  assert(product);
  const buy = async () => {
    const { checkoutSession } = await caller.post('/checkout-sessions', {
      checkoutSession: {
        ...{ type: 'product', customerExternalId: 'ada', priceSlug: 'book' },
        ...{ successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test/plans' },
      },
    });
    const place = { environmentId, publicUrl, sessionId: checkoutSession.id };
    return { view: await performCheckout(app, place, { token: 'pm_card_threeDSecure2Required' }), ...place };
  };
  const { view, sessionId } = await buy();
  assert.equal(view.status, 'pending');
  await moveTo('2026-01-01T03:00:00Z');
  await moveTo('2026-01-01T06:00:00Z');
  await runJobs();
  const [reminder, ...others] = await emails('?template=payment_waiting');
  assert.deepEqual([reminder.status, others], ['sent', []]);
  const mail = inbox.received.find(({ messageId }) => messageId === `<${reminder.id}@acme.test>`);
  assert.equal(mail?.subject, 'Your payment to Acme is waiting for you');
  assert.match(mail?.text ?? '', /the payment of \$9\.99 that you began on January 1, 2026/);
  assert(mail?.text?.includes(`${publicUrl}/checkout/${sessionId}?key=`));
  // Nobody has confirmed it after 22 hours.
  await moveTo('2026-01-01T23:30:00Z');
  assert.equal((await caller.get(`/checkout-sessions/${sessionId}`)).checkoutSession.status, 'open');
});
