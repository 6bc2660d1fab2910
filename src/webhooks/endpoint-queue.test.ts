import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EndpointQueue, mostAtOnce } from './endpoint-queue.ts';

const at = 1_000;
const message = (id: string, objectId: string, failures = 0) => ({ id, objectId, failures });
type Message = ReturnType<typeof message>;

function laneWith(...messages: Message[]): EndpointQueue<Message> {
  const endpoint = new EndpointQueue<Message>();
  endpoint.look();
  endpoint.add(messages, 64);
  return endpoint;
}

const nextId = (endpoint: EndpointQueue<Message>) => endpoint.next(at)?.id ?? null;

test('messages about different objects go at once, those about one go one after the other', () => {
  const [a1, a2, b1] = [message('1', 'a'), message('2', 'a'), message('3', 'b')];
  const endpoint = laneWith(a1, a2, b1);
  assert.deepEqual([nextId(endpoint), nextId(endpoint), nextId(endpoint)], ['1', '3', null]);
  endpoint.ended(a1, true, at);
  assert.equal(nextId(endpoint), '2');
});

test('behind one that failed, those about the same object are let go and looked for again', () => {
  const [a1, a2, b1] = [message('1', 'a'), message('2', 'a'), message('3', 'b')];
  const endpoint = laneWith(a1, a2, b1);
  assert.equal(nextId(endpoint), '1');
  endpoint.ended(a1, false, at);
  // Until it is written down that it failed, nothing about the object is sent.
  endpoint.add([message('4', 'a')], 1);
  assert.deepEqual([nextId(endpoint), nextId(endpoint)], ['3', null]);
  endpoint.saved(a1, false);
  assert.deepEqual(endpoint.known, ['3']);
  assert(endpoint.wanted(at) > 0);
});

test('a success after a failure lets look for what waited behind it', () => {
  const retried = message('1', 'a', 1);
  const endpoint = laneWith(retried);
  assert.equal(nextId(endpoint), '1');
  endpoint.ended(retried, true, at);
  assert.equal(endpoint.wanted(at), 0);
  endpoint.saved(retried, true);
  assert(endpoint.wanted(at) > 0);
});

test('no more than sixteen are under way', () => {
  const endpoint = laneWith(...Array.from({ length: 40 }, (_, index) => message(String(index), `object ${index}`)));
  for (let sent = 0; sent < mostAtOnce; sent++) assert.notEqual(endpoint.next(at), null);
  assert.equal(endpoint.next(at), null);
  endpoint.ended(message('0', 'object 0'), true, at);
  assert.equal(nextId(endpoint), '16');
});

test('an endpoint that takes nothing is left in peace: nothing is looked for, nothing is sent', () => {
  const messages = Array.from({ length: 6 }, (_, index) => message(String(index), `object ${index}`));
  const endpoint = laneWith(...messages);
  for (const each of messages.slice(0, 5)) {
    assert.equal(nextId(endpoint), each.id);
    endpoint.ended(each, false, at);
    endpoint.saved(each, false);
  }
  assert.equal(nextId(endpoint), null);
  assert.equal(endpoint.wanted(at), 0);
  assert.equal(endpoint.wanted(at + 5_000), 64);
  endpoint.reset();
  assert.equal(endpoint.wanted(at), 64);
});

test('an endpoint has no more under way than it is granted, and one that failed tries with one message', () => {
  const messages = Array.from({ length: 5 }, (_, index) => message(String(index), `object ${index}`));
  const endpoint = laneWith(...messages);
  const granted = (most: number, now = at) => endpoint.next(now, most)?.id ?? null;
  assert.deepEqual([granted(2), granted(2), granted(2), granted(3), granted(3)], ['0', '1', null, '2', null]);
  for (const each of messages) {
    granted(16);
    endpoint.ended(each, false, at);
    endpoint.saved(each, false);
  }
  endpoint.look();
  endpoint.add([message('8', 'a'), message('9', 'b')], 64);
  assert.deepEqual([granted(16), granted(16, at + 5_000), granted(16, at + 5_000)], [null, '8', null]);
});

test('what was looked for while others were let go is dropped: these may belong before it', () => {
  const endpoint = laneWith(...Array.from({ length: 5 }, (_, index) => message(String(index), `object ${index}`)));
  endpoint.add([message('5', 'a')], 64);
  for (let index = 0; index < 5; index++) assert.equal(nextId(endpoint), String(index));
  endpoint.look();
  for (let index = 0; index < 5; index++) endpoint.ended(message(String(index), `object ${index}`), false, at);
  // Told after message 5, which waited here and had not to be looked for.
  endpoint.add([message('6', 'a')], 64);
  assert.deepEqual(endpoint.known, ['0', '1', '2', '3', '4']);
  assert(endpoint.wanted(at + 5_000) > 0);
  endpoint.look();
  endpoint.add([message('5', 'a'), message('6', 'a')], 64);
  assert.equal(endpoint.next(at + 5_000)?.id, '5');
});

test('whatever ends in whatever order: each object hears its messages in order, each message is sent once', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 4 }), { maxLength: 60 }),
      fc.infiniteStream(fc.nat({ max: 15 })),
      (objects, choices) => {
        const messages = objects.map((object, index) => message(String(index), String(object)));
        const endpoint = laneWith(...messages);
        const inFlight: Message[] = [];
        const sent: Message[] = [];
        for (;;) {
          for (let next = endpoint.next(at); next !== null; next = endpoint.next(at)) {
            assert(inFlight.every((other) => other.objectId !== next?.objectId));
            inFlight.push(next);
            sent.push(next);
          }
          const [ended] = inFlight.splice((choices.next().value as number) % (inFlight.length || 1), 1);
          if (ended === undefined) break;
          endpoint.ended(ended, true, at);
          endpoint.saved(ended, true);
        }
        const order = (of: Message[]) => Object.groupBy(of, ({ objectId }) => objectId);
        assert.deepEqual({ ...order(sent) }, { ...order(messages) });
        assert(endpoint.isIdle);
      },
    ),
  );
});
