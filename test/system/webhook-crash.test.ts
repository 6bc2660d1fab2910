import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { DB } from '../../src/database/database-types.ts';
import { anyId } from '../support/any-id.ts';
import { send } from '../support/harness.ts';
import { Killable } from '../support/killable.ts';
import { seededRandom } from '../support/seed.ts';
import { type Message, startEndpoint } from '../support/webhook-endpoint.ts';

// A real process, killed at random moments, which come from the seed.
const random = seededRandom();

const [eventsInAll, eventsInACommit, objects, kills] = [3_000, 50, 150, 3];

const tollkeeper = await Killable.create();
after(() => tollkeeper.remove());

/** Down for a third of the time, in turns of three tenths of a second, until it is told to be well. */
let isFlapping = true;
const isDown = () => isFlapping && Math.floor(Date.now() / 300) % 3 === 0;

test('a service that is killed again and again delivers every event to every endpoint, in order, and none that never was', async () => {
  await tollkeeper.start();
  const healthy = await Promise.all(Array.from({ length: 4 }, () => startEndpoint(() => ({ status: 200 }))));
  const flapping = await startEndpoint(() => ({ status: isDown() ? 503 : 204 }));
  for (const { url } of [...healthy, flapping]) await register(url);

  const killing = killNowAndThen();
  const told = await tollkeeper.withOwner(tellEvents);
  await killing;

  for (const endpoint of healthy) {
    await until(() => isEach(told, endpoint.received), 'every event at an endpoint that is well');
    assertInOrder(told, endpoint.received);
  }
  const known = new Set(told.map(({ eventId }) => eventId));
  isFlapping = false;
  await tollkeeper.withOwner(async (owner) => {
    const waiting = owner.updateTable('webhookDeliveries').where('status', '=', 'pending');
    await until(async () => {
      // What has failed is tried again now, and not in hours.
      await waiting.set({ nextAttemptAt: Date.now() }).where('nextAttemptAt', '>', Date.now()).execute();
      return isEach(told, flapping.received);
    }, 'every event at the endpoint that was down now and then');
    assert(
      flapping.received.every(({ eventId }) => known.has(eventId)),
      'an event that never was',
    );
    await until(async () => (await countOthers(owner)) === 0, 'every delivery to be noted as made');
  });
});

async function register(url: string): Promise<void> {
  const webhook = { name: 'Ours', url, filterTypes: [] };
  const { status, body } = await send(tollkeeper.address, 'POST', '/webhooks', { webhook }, { key: tollkeeper.key });
  assert.equal(status, 200, JSON.stringify(body));
}

interface Told {
  readonly eventId: string;
  readonly objectId: string;
}

/** Commits the events, fifty at a time, of objects picked at random. Answers them in the order of their commits. */
async function tellEvents(owner: Kysely<DB>): Promise<Told[]> {
  const told: Told[] = [];
  while (told.length < eventsInAll) {
    const events = Array.from({ length: eventsInACommit }, () => ({
      eventId: anyId('event'),
      objectId: `cust_${Math.floor(random() * objects)}`,
    }));
    await sql`
      insert into events (environment_id, id, pricing_model_id, type, object, object_id, payload, occurred_at, created_at)
      select m.environment_id, new.id, m.id, 'customer.updated', 'customer', new.object_id,
             jsonb_build_object('id', new.object_id, 'eventId', new.id), 0, 0
        from unnest(${events.map(({ eventId }) => eventId)}::text[], ${events.map(({ objectId }) => objectId)}::text[])
               as new (id, object_id)
        join pricing_models m on m.is_default
        join environments e on e.id = m.environment_id and not e.livemode`.execute(owner);
    told.push(...events);
    await sleep(20 + random() * 40);
  }
  return told;
}

async function killNowAndThen(): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    await sleep(200 + random() * 800);
    await tollkeeper.killService();
    await tollkeeper.start();
  }
}

function isEach(told: readonly Told[], received: readonly Message[]): boolean {
  return new Set(received.map(({ eventId }) => eventId)).size >= told.length;
}

/** Each event is one that was told; of each object they came in the order in which they were told, repeats aside. */
function assertInOrder(told: readonly Told[], received: readonly Message[]): void {
  // A set keeps the order in which its members first came.
  const arrived = new Set(received.map(({ objectId, eventId }) => `${objectId} ${eventId}`));
  const byObject = (events: readonly string[]) => Object.groupBy(events, (text) => text.split(' ')[0] ?? '');
  assert.deepEqual(
    { ...byObject([...arrived]) },
    { ...byObject(told.map(({ objectId, eventId }) => `${objectId} ${eventId}`)) },
  );
}

async function countOthers(owner: Kysely<DB>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from webhook_deliveries where status <> 'succeeded'`.execute(owner);
  return Number(rows[0]?.count);
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 60_000; !(await condition()); await sleep(50))
    assert(Date.now() < end, `waited in vain for ${what}`);
}
