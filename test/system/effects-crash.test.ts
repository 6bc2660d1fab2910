import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { checkInvariants } from '../../src/invariants/check-invariants.ts';
import { type Body, send } from '../support/harness.ts';
import { Inbox } from '../support/inbox.ts';
import { Killable } from '../support/killable.ts';

// A real process, killed after something was done outside and before that is committed: a charge, or an email.

const inbox = new Inbox(async (taken) => {
  if (taken === 1) await tollkeeper.killService();
});
const tollkeeper = await Killable.create({
  TOLLKEEPER_SMTP_URL: await inbox.open(),
  TOLLKEEPER_MAIL_FROM: 'billing@acme.test',
  TOLLKEEPER_PUBLIC_URL: 'https://billing.acme.test',
});
after(() => tollkeeper.remove());

const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1 };
const grant = (slug: string, amount: number, of: object, renewalFrequency: string) => {
  return { type: 'usage_credit_grant', slug, name: slug, amount, renewalFrequency, ...of };
};
const pack = (slug: string) => ({
  product: { name: slug, slug },
  price: { type: 'single_payment', slug, unitPrice: 1000 },
  features: [slug],
});
const setup = {
  name: 'Refilled',
  isDefault: true,
  usageMeters: ['calls', 'tokens'].map((slug) => ({
    usageMeter: { name: slug, slug },
    prices: [
      { ...monthly, type: 'usage', slug: `${slug}-price`, unitPrice: 1, usageEventsPerUnit: 1, isDefault: true },
    ],
  })),
  creditPools: [{ slug: 'ai', name: 'AI', unit: 'credit', rates: [{ usageMeterSlug: 'tokens', per: 4, cost: '1' }] }],
  features: [
    grant('calls-a-month', 500, { usageMeterSlug: 'calls' }, 'every_billing_period'),
    grant('ai-a-month', 500, { creditPoolSlug: 'ai' }, 'every_billing_period'),
    grant('calls-pack', 1000, { usageMeterSlug: 'calls' }, 'once'),
    grant('ai-pack', 1000, { creditPoolSlug: 'ai' }, 'once'),
  ],
  products: [
    {
      product: { name: 'Free', slug: 'free', default: true },
      price: { ...monthly, slug: 'free', unitPrice: 0 },
      features: ['calls-a-month', 'ai-a-month'],
    },
    pack('calls-pack'),
    pack('ai-pack'),
  ],
};

async function call(method: string, path: string, body?: object): Promise<Body> {
  const answer = await send(tollkeeper.address, method, path, body, { key: tollkeeper.key });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as Body;
}

/** A customer with 500 credits and a top-up. `balance` is that of the meter or pool with the slug. */
async function newUser(usageMeterSlug: string, slug: string, terms: object) {
  const externalId = `user-${usageMeterSlug}`;
  const customer = { externalId, name: usageMeterSlug, email: 'user@example.com' };
  const { data } = await call('POST', '/customers', { customer });
  const customerId: string = data.customer.id;
  await call('POST', '/payment-methods', { paymentMethod: { customerId, token: 'pm_card_visa' } });
  const autoTopUp = { ...terms, below: 300, upTo: 2000, maximumAmountPerMonth: 100_000 };
  await call('PUT', `/customers/${externalId}/spend-controls`, { spendControls: { autoTopUp } });
  const balance = async (): Promise<number> => {
    const { creditBalances } = await call('GET', `/customers/${externalId}/credit-balances`);
    return Number(creditBalances.find((each: Body) => each.slug === slug).availableBalance);
  };
  return { externalId, customerId, usageMeterSlug, balance };
}

/** A lock that stops the grant of bought credits in PostgreSQL, by its number. */
const grantLock = 5_000_001;

/** Runs `act` while no bought credits can be granted. */
function whileNothingIsGranted(act: (charged: () => Promise<number>) => Promise<void>): Promise<void> {
  return tollkeeper.withOwner(async (owner) => {
    await sql`
      create or replace function wait_for_the_test() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock(${sql.lit(grantLock)});
        return new;
      end $$`.execute(owner);
    await sql`create trigger waits_for_the_test before insert on usage_credits for each row
      when (new.source = 'purchase') execute function wait_for_the_test()`.execute(owner);
    await sql`select pg_advisory_lock(${sql.lit(grantLock)})`.execute(owner);
    await act(async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from test_processor_operations where kind = 'charge'`.execute(owner);
      const waiting = await sql`select from pg_locks where locktype = 'advisory' and not granted`.execute(owner);
      return waiting.rows.length > 0 ? (rows[0]?.count ?? 0) : 0;
    });
    await sql`select pg_advisory_unlock(${sql.lit(grantLock)})`.execute(owner);
    await sql`drop trigger waits_for_the_test on usage_credits`.execute(owner);
  });
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 90_000; !(await condition()); await sleep(100))
    assert(Date.now() < end, `waited for ${what}`);
}

test('a service that is killed between the charge of a top-up and its credits grants them once, of a meter and of a pool', async () => {
  await tollkeeper.start();
  await call('POST', '/pricing-models/setup', setup);
  const users = await Promise.all([
    newUser('calls', 'calls', { priceSlug: 'calls-pack' }),
    newUser('tokens', 'ai', { priceSlug: 'ai-pack' }),
  ]);
  await whileNothingIsGranted(async (charged) => {
    // 4 tokens cost a credit of the pool.
    const usageEvents = users.map(({ externalId, usageMeterSlug }) => {
      const amount = usageMeterSlug === 'calls' ? 300 : 1200;
      return { customerExternalId: externalId, usageMeterSlug, transactionId: externalId, amount };
    });
    await call('POST', '/usage-events/bulk', { usageEvents });
    await until('the charges', async () => (await charged()) === 2);
    for (const { balance } of users) assert.equal(await balance(), 200, 'there are no credits yet');
    await tollkeeper.killService();
  });
  await tollkeeper.start();
  // A charge whose process is gone is looked at again after a minute. Nothing is waited for here.
  const hurry = sql`update _private_jobs set run_at = now() where run_at > now() and locked_at is null`;
  await tollkeeper.withOwner((owner) => hurry.execute(owner));
  for (const { customerId, balance } of users) {
    await until('the credits', async () => (await balance()) !== 200);
    // 2 packs of 1000 close the gap.
    assert.equal(await balance(), 2200);
    const { data } = await call('GET', `/purchases?customerId=${customerId}`);
    assert.deepEqual(
      data.map(({ status, quantity }: Body) => [status, quantity]),
      [['paid', 2]],
    );
  }
  await sleep(500);
  await tollkeeper.withOwner(async (owner) => {
    const { rows } = await sql<{ amount: string; grants: number }>`
      select o.amount::text, (select count(*)::int from usage_credits where source = 'purchase') as grants
        from test_processor_operations o`.execute(owner);
    assert.deepEqual(rows, [
      { amount: '2000', grants: 2 },
      { amount: '2000', grants: 2 },
    ]);
    // Jobs that were hurried may still run.
    await until('the invariants', async () =>
      (await checkInvariants(owner)).every(({ violations }) => violations.count === 0),
    );
  });
});

test('a service that is killed when the mail server has an email, before it is noted, sends it again under the same Message-ID', async () => {
  assert(tollkeeper.isRunning, 'an earlier test has left nothing to kill');
  await call('PUT', '/settings', { settings: { mail: { enabled: true, testRecipients: ['@acme.test'] } } });
  const customer = { externalId: 'reader', name: 'Reader', email: 'reader@acme.test' };
  await call('POST', '/customers', { customer });
  const lines = [{ description: 'Workshop', unitAmount: 45000 }];
  const { invoice } = await call('POST', '/invoices', { invoice: { customerExternalId: 'reader', lines } });
  await call('POST', `/invoices/${invoice.id}/finalize`, {});
  await until('the kill', async () => !tollkeeper.isRunning);
  const readEmails = sql`select status, attempts from emails`;
  const stored = () => tollkeeper.withOwner(async (owner) => (await readEmails.execute(owner)).rows);
  assert.deepEqual(await stored(), [{ status: 'queued', attempts: 0 }]);
  await tollkeeper.start();
  await until('the repeat', async () => (await call('GET', '/emails?status=sent')).data.length === 1);
  const [{ id }] = (await call('GET', '/emails')).data;
  assert.deepEqual(
    inbox.received.map(({ messageId }) => messageId),
    [`<${id}@acme.test>`, `<${id}@acme.test>`],
  );
  assert.deepEqual(await stored(), [{ status: 'sent', attempts: 1 }]);
  await tollkeeper.stop();
});
