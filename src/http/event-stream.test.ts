import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../kernel/problem.ts';
import { EventStream, EventStreams, mostOfOneCaller, mostOfOrganization } from './event-stream.ts';

const open = (streams: EventStreams, caller: string, organizationId: string) => {
  const stream = new EventStream({ caller, organizationId, openedAt: 0, seconds: 60 });
  streams.add(stream);
  return stream;
};
const isRefused = (reason: string) => (error: unknown) => error instanceof Problem && error.reason === reason;

test('a caller, an organization and a process have a limited number of streams, and a closed one makes room', async () => {
  const streams = new EventStreams();
  const ofCaller = Array.from({ length: mostOfOneCaller }, () => open(streams, 'ada', 'acme'));
  assert.throws(() => open(streams, 'ada', 'acme'), isRefused('too_many_streams'));
  for (let count = mostOfOneCaller; count < mostOfOrganization; count++) open(streams, `person ${count}`, 'acme');
  assert.throws(() => open(streams, 'grace', 'acme'), isRefused('too_many_streams'));
  for (let count = 0; count < mostOfOrganization; count++) open(streams, `person ${count}`, `organization ${count}`);
  assert.throws(() => open(streams, 'grace', 'other'), isRefused('overloaded'));
  const [first] = ofCaller;
  first?.destroy();
  await new Promise((resolve) => first?.once('close', resolve));
  open(streams, 'ada', 'acme');
  streams.stop();
  assert.throws(() => open(streams, 'grace', 'other'), isRefused('overloaded'));
});

test('a stream ends after its seconds, and one whose reader takes nothing is closed', () => {
  const stream = new EventStream({ caller: 'ada', organizationId: 'acme', openedAt: 0, seconds: 60 });
  assert.deepEqual([stream.isOver(59_999), stream.isOver(60_000)], [false, true]);
  const unread = new EventStream({ caller: 'ada', organizationId: 'acme', openedAt: 0, seconds: 60 });
  const message = 'x'.repeat(40_000);
  for (let count = 0; count < 3; count++) unread.write(count, message);
  assert.equal(unread.destroyed, true);
});
