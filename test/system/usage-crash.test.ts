import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { checkInvariants } from '../../src/invariants/check-invariants.ts';
import type { Answer, Body } from '../support/harness.ts';
import { type Kill, Killable } from '../support/killable.ts';
import { type Ask, longestWaitMs, MixedUsage, type SentEvent } from '../support/mixed-usage.ts';
import { seededRandom } from '../support/seed.ts';

// Real processes, killed at random moments. Which moments, and what is sent, comes from the seed.
const random = seededRandom();

const customers = ['ann', 'bob', 'cy'];
// Ten small credits that are used up on the way, and one that is not.
const [creditsByHand, creditByHand, creditOfPlan] = [10, 500, 10_000_000];
const granted = creditsByHand * creditByHand + creditOfPlan;

const tollkeeper = await Killable.create();
const subscriptionIds: string[] = [];
let usage: MixedUsage;

before(async () => {
  await tollkeeper.start();
  await post('/pricing-models/setup', plan);
  for (const externalId of customers) subscriptionIds.push(await subscribe(externalId));
  usage = new MixedUsage({ send: sendUsage, subscriptionIds, random });
});

after(() => tollkeeper.remove());

test('a service that is killed again and again while usage comes in loses nothing that it answered, and counts nothing twice', async () => {
  for (let kill = 0; kill < 3; kill++) {
    await killUnderLoad(async () => async () => {
      await tollkeeper.killService();
      await tollkeeper.start();
    });
    await assertCounted();
  }
});

test('when a process of PostgreSQL is killed the service goes on by itself as soon as PostgreSQL has recovered', async () => {
  await killUnderLoad(() => tollkeeper.aimAtBackend());
  await assertCounted();
  await tollkeeper.withOwner(async (owner) => {
    await sql`select add_job('forget_old_answers', job_key => 'after a crash')`.execute(owner);
    const job = sql`select from _private_jobs where key = 'after a crash'`;
    await until('the queue is worked again', async () => (await job.execute(owner)).rows.length === 0);
  });
});

test('when PostgreSQL is killed the service starts it again by itself, and then everything is there', async () => {
  const { address } = tollkeeper;
  await killUnderLoad(() => tollkeeper.aimAtPostgres());
  await assertCounted();
  assert.deepEqual([tollkeeper.isRunning, tollkeeper.address], [true, address]);
});

test('when PostgreSQL and the service are killed at once, the next start brings everything back', async () => {
  await killUnderLoad(async () => {
    const killPostgres = await tollkeeper.aimAtPostgres();
    return async () => {
      await Promise.all([killPostgres(), tollkeeper.killService()]);
      await tollkeeper.start();
    };
  });
  await assertCounted();
});

test('everything that was ever sent is sent again and answered, and then each use is there exactly once', async () => {
  assert(tollkeeper.isRunning, 'an earlier test has left nothing to ask');
  await usage.sendAllAgain();
  const asks = [...usage.asks];
  assert.deepEqual(
    asks.filter(({ answer }) => answer === null),
    [],
  );
  await assertCounted();
  // The same uses in another way: what was consumed or settled is recorded in bulk.
  const answered = new Map(
    asks.flatMap(({ events, answer }) => events.map((event, i) => [event, eventsOf(answer)[i]])),
  );
  for (let index = 0; index < answered.size; index += 1000) {
    const usageEvents = [...answered.keys()].slice(index, index + 1000);
    const again = await post('/usage-events/bulk', { usageEvents });
    assert.deepEqual(
      again.usageEvents,
      usageEvents.map((event) => answered.get(event)),
    );
  }
  await assertCounted();
  await tollkeeper.stop();
});

const usagePrice = { type: 'usage', intervalUnit: 'month', intervalCount: 1, unitPrice: 1, usageEventsPerUnit: 100 };
const meter = (slug: string, aggregationType: string) => ({
  usageMeter: { name: slug, slug, aggregationType },
  prices: [{ ...usagePrice, slug: `${slug}-overage`, isDefault: true }],
});
const credits = (usageMeterSlug: string) => {
  const slug = `${usageMeterSlug}-credits`;
  const often = { renewalFrequency: 'every_billing_period', amount: creditOfPlan, usageMeterSlug };
  return { type: 'usage_credit_grant', slug, name: slug, description: slug, ...often };
};
const plan = {
  name: 'Metered',
  isDefault: true,
  usageMeters: [meter('api-calls', 'sum'), meter('users', 'count_distinct_properties')],
  features: ['api-calls', 'users'].map(credits),
  products: [
    {
      product: { name: 'Free', slug: 'free', default: true },
      price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 0 },
      features: ['api-calls-credits', 'users-credits'],
    },
  ],
};

/** A customer, who has the plan from the start. Answers the subscription's id. */
async function subscribe(externalId: string): Promise<string> {
  const customer = { externalId, email: `${externalId}@acme.test`, name: externalId };
  const { subscription } = (await post('/customers', { customer })).data;
  for (const usageMeterSlug of ['api-calls', 'users']) {
    const usageCredit = { subscriptionId: subscription.id, usageMeterSlug, amount: creditByHand, priority: 1 };
    for (let count = 0; count < creditsByHand; count++) await post('/usage-credits', { usageCredit });
  }
  return subscription.id;
}

/** Lets usage come in, kills at a random moment, and waits until clients that went on trying are served again. */
async function killUnderLoad(aim: () => Promise<Kill>): Promise<void> {
  assert(tollkeeper.isRunning, 'an earlier test has left nothing to kill');
  usage.start();
  try {
    await usage.answered(20 + Math.floor(random() * 40));
    const kill = await aim();
    await usage.answered(1 + Math.floor(random() * 10));
    // At the instant of an answer, which was given too early if it is lost then; or at any other.
    if (random() < 0.4) await sleep(random() * 30);
    await kill();
    await usage.answered(20);
  } finally {
    await usage.stop();
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const begunAt = performance.now();
  while (!(await isSo())) {
    assert(performance.now() - begunAt < longestWaitMs, `${what}: not within ${longestWaitMs} ms`);
    await sleep(20);
  }
}

/** Asserts that what is stored was sent, and once; that what was answered is stored; and that all balances are what is left. */
async function assertCounted(): Promise<void> {
  const { events, holds, broken } = await tollkeeper.withOwner(readStored);
  const asks = [...usage.asks];
  const sent = new Map(asks.flatMap((ask) => ask.events.map((event) => [nameOf(event), event])));
  const stored = new Map(events.map((event) => [nameOf(event), event]));
  assert.equal(stored.size, events.length, 'no use is stored twice');
  for (const { id: _, ...event } of events) assert.deepEqual(event, withoutProperties(sent.get(nameOf(event))));
  for (const ask of asks) {
    const ids = ask.events.map((event) => stored.get(nameOf(event))?.id);
    if (ask.answer !== null)
      assert.deepEqual(
        ids,
        eventsOf(ask.answer).map(({ id }) => id),
        'what was answered is stored',
      );
    else
      assert([0, ids.length].includes(ids.filter(Boolean).length), 'of what was not answered all is stored or nothing');
  }
  assertHeldOnce(asks, holds);
  assert.deepEqual(broken, []);
  const kept = [...stored.keys()].flatMap((name) => sent.get(name) ?? []);
  assert.deepEqual(
    await readBalances(),
    subscriptionIds.map((id) => balancesOf(id, kept, holds)),
  );
}

interface StoredHold {
  readonly id: string;
  readonly subscriptionId: string;
  readonly amount: number;
  readonly status: string;
}

async function readStored(owner: Parameters<typeof checkInvariants>[0]) {
  const { rows: events } = await sql<Omit<SentEvent, 'properties'> & { id: string }>`
    select 'usage_event_' || e.id as id, s.subscription_id, m.slug as usage_meter_slug, e.transaction_id, e.amount
      from usage_events e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
      join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id`.execute(owner);
  const { rows: holds } = await sql<StoredHold>`
    select h.id, a.subscription_id, h.amount, h.status
      from usage_holds h join ledger_accounts a on a.environment_id = h.environment_id and a.id = h.ledger_account_id`.execute(
    owner,
  );
  const checked = await checkInvariants(owner);
  return { events, holds, broken: checked.filter(({ violations }) => violations.count > 0) };
}

/** Each hold that was answered is there, and of those that were not, no more than were asked for. */
function assertHeldOnce(asks: readonly Ask[], holds: readonly StoredHold[]): void {
  const requested = asks.filter(({ path }) => path === '/holds');
  const answered = requested.flatMap(({ answer }) => (answer === null ? [] : [answer.hold.id]));
  const ids = new Set(holds.map(({ id }) => id));
  assert(new Set(answered).isSubsetOf(ids), 'a hold that was answered is stored');
  assert(holds.length <= requested.length, 'no hold is stored twice');
}

/** What is left of what was granted, of both meters of a subscription. */
function balancesOf(subscriptionId: string, kept: readonly SentEvent[], holds: readonly StoredHold[]) {
  const own = kept.filter((event) => event.subscriptionId === subscriptionId);
  const open = holds.filter((hold) => hold.subscriptionId === subscriptionId && hold.status === 'open');
  const used = sum(own.filter(({ usageMeterSlug }) => usageMeterSlug === 'api-calls'));
  const users = new Set(own.flatMap(({ properties }) => properties?.user ?? []));
  return { 'api-calls': granted - used - sum(open), users: granted - users.size };
}

function sum(rows: readonly { readonly amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0);
}

async function readBalances(): Promise<Body[]> {
  return Promise.all(
    customers.map(async (externalId) => {
      const path = `/api/v1/customers/${externalId}/usage-balances`;
      const { usageMeterBalances } = bodyOf(path, await get(path));
      return Object.fromEntries(usageMeterBalances.map((row: Body) => [row.slug, row.availableBalance]));
    }),
  );
}

function nameOf({ usageMeterSlug, transactionId }: { usageMeterSlug: string; transactionId: string }): string {
  return `${usageMeterSlug} ${transactionId}`;
}

function withoutProperties(event: SentEvent | undefined) {
  if (event === undefined) return undefined;
  const { properties: _, ...rest } = event;
  return rest;
}

/** The events that an answer tells of. */
function eventsOf({ usageEvents, usageEvent }: Body): Body[] {
  return usageEvents ?? (usageEvent ? [usageEvent] : []);
}

/**
 * Sends a request of the load. A client learns nothing from a connection that breaks, from a server that fails, and from
 * an answer that it does not wait for.
 */
async function sendUsage({ path, body, key }: Ask, patienceMs: number): Promise<Body | null> {
  const answer = await request('POST', `/api/v1${path}`, { body, key, patienceMs });
  if (answer === null || answer.status >= 500) return null;
  return bodyOf(path, answer);
}

const post = async (path: string, body: unknown) => bodyOf(path, await request('POST', `/api/v1${path}`, { body }));
const get = (path: string) => request('GET', path);

function bodyOf(path: string, answer: Answer | null): Body {
  assert.equal(answer?.status, 200, `${path}: ${JSON.stringify(answer?.body)}`);
  return answer?.body;
}

interface Sending {
  readonly body?: unknown;
  readonly key?: string | undefined;
  readonly patienceMs?: number;
}

/** One request. Answers null when the connection breaks, or the client lets go of it. */
async function request(
  method: string,
  path: string,
  { body, key, patienceMs = longestWaitMs }: Sending = {},
): Promise<Answer | null> {
  try {
    const response = await fetch(tollkeeper.address + path, {
      method,
      headers: {
        authorization: `Bearer ${tollkeeper.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  } catch (error) {
    // What fetch says of every connection that cannot be made or ends too early; everything else is a defect.
    const isBroken = error instanceof TypeError || patienceMs < longestWaitMs;
    assert(isBroken, `${method} ${path}: ${error}`);
    return null;
  }
}
