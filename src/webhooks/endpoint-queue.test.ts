import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EndpointLane, mostAtOnce } from './endpoint-queue.ts';

const at = 1_000;
const message = (id: string, objectId: string, failures = 0) => ({ id, objectId, failures });
type Message = ReturnType<typeof message>;

function laneWith(...messages: Message[]): EndpointLane<Message> {
  const lane = new EndpointLane<Message>();
  lane.look();
  lane.add(messages, 64);
  return lane;
}

const nextId = (lane: EndpointLane<Message>) => lane.next(at)?.id ?? null;

test('messages about different objects go at once, those about one go one after the other', () => {
  const [a1, a2, b1] = [message('1', 'a'), message('2', 'a'), message('3', 'b')];
  const lane = laneWith(a1, a2, b1);
  assert.deepEqual([nextId(lane), nextId(lane), nextId(lane)], ['1', '3', null]);
  lane.ended(a1, true, at);
  assert.equal(nextId(lane), '2');
});

test('behind one that failed, those about the same object are let go and looked for again', () => {
  const [a1, a2, b1] = [message('1', 'a'), message('2', 'a'), message('3', 'b')];
  const lane = laneWith(a1, a2, b1);
  assert.equal(nextId(lane), '1');
  lane.ended(a1, false, at);
  // Until it is written down that it failed, nothing about the object is sent.
  lane.add([message('4', 'a')], 1);
  assert.deepEqual([nextId(lane), nextId(lane)], ['3', null]);
  lane.saved(a1, false);
  assert.deepEqual(lane.known, ['3']);
  assert(lane.wanted(at) > 0);
});

test('a success after a failure lets look for what waited behind it', () => {
  const retried = message('1', 'a', 1);
  const lane = laneWith(retried);
  assert.equal(nextId(lane), '1');
  lane.ended(retried, true, at);
  assert.equal(lane.wanted(at), 0);
  lane.saved(retried, true);
  assert(lane.wanted(at) > 0);
});

test('no more than sixteen are under way', () => {
  const lane = laneWith(...Array.from({ length: 40 }, (_, index) => message(String(index), `object ${index}`)));
  for (let sent = 0; sent < mostAtOnce; sent++) assert.notEqual(lane.next(at), null);
  assert.equal(lane.next(at), null);
  lane.ended(message('0', 'object 0'), true, at);
  assert.equal(nextId(lane), '16');
});

test('an endpoint that takes nothing is left in peace: nothing is looked for, nothing is sent', () => {
  const messages = Array.from({ length: 6 }, (_, index) => message(String(index), `object ${index}`));
  const lane = laneWith(...messages);
  for (const each of messages.slice(0, 5)) {
    assert.equal(nextId(lane), each.id);
    lane.ended(each, false, at);
    lane.saved(each, false);
  }
  assert.equal(nextId(lane), null);
  assert.equal(lane.wanted(at), 0);
  assert.equal(lane.wanted(at + 5_000), 64);
  lane.beginAnew();
  assert.equal(lane.wanted(at), 64);
});

test('an endpoint has no more under way than it is granted, and one that failed tries with one message', () => {
  const messages = Array.from({ length: 5 }, (_, index) => message(String(index), `object ${index}`));
  const lane = laneWith(...messages);
  const granted = (most: number, now = at) => lane.next(now, most)?.id ?? null;
  assert.deepEqual([granted(2), granted(2), granted(2), granted(3), granted(3)], ['0', '1', null, '2', null]);
  for (const each of messages) {
    granted(16);
    lane.ended(each, false, at);
    lane.saved(each, false);
  }
  lane.look();
  lane.add([message('8', 'a'), message('9', 'b')], 64);
  assert.deepEqual([granted(16), granted(16, at + 5_000), granted(16, at + 5_000)], [null, '8', null]);
});

test('what was looked for while others were let go is dropped: these may belong before it', () => {
  const lane = laneWith(...Array.from({ length: 5 }, (_, index) => message(String(index), `object ${index}`)));
  lane.add([message('5', 'a')], 64);
  for (let index = 0; index < 5; index++) assert.equal(nextId(lane), String(index));
  lane.look();
  for (let index = 0; index < 5; index++) lane.ended(message(String(index), `object ${index}`), false, at);
  // Told after message 5, which waited here and had not to be looked for.
  lane.add([message('6', 'a')], 64);
  assert.deepEqual(lane.known, ['0', '1', '2', '3', '4']);
  assert(lane.wanted(at + 5_000) > 0);
  lane.look();
  lane.add([message('5', 'a'), message('6', 'a')], 64);
  assert.equal(lane.next(at + 5_000)?.id, '5');
});

test('whatever ends in whatever order: each object hears its messages in order, each message is sent once', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 4 }), { maxLength: 60 }),
      fc.infiniteStream(fc.nat({ max: 15 })),
      (objects, choices) => {
        const messages = objects.map((object, index) => message(String(index), String(object)));
        const lane = laneWith(...messages);
        const underWay: Message[] = [];
        const sent: Message[] = [];
        for (;;) {
          for (let next = lane.next(at); next !== null; next = lane.next(at)) {
            assert(underWay.every((other) => other.objectId !== next?.objectId));
            underWay.push(next);
            sent.push(next);
          }
          const [ended] = underWay.splice((choices.next().value as number) % (underWay.length || 1), 1);
          if (ended === undefined) break;
          lane.ended(ended, true, at);
          lane.saved(ended, true);
        }
        const order = (of: Message[]) => Object.groupBy(of, ({ objectId }) => objectId);
        assert.deepEqual({ ...order(sent) }, { ...order(messages) });
        assert(lane.isIdle);
      },
    ),
  );
});
