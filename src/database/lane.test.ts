import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { type Gathering, Lane, type Turn, type Waiting } from './lane.ts';

interface Ask {
  readonly subject: string;
  readonly weight: number;
}

/** A group that the lane has begun: the test says when it is answered and when it ends. */
interface Group extends Turn {
  readonly asks: readonly unknown[];
  readonly end: () => void;
}

const rules: Gathering<Ask> = { most: 1_000, subjectOf: ({ subject }) => subject };

function laneOf(given: Gathering<Ask> = rules): { groups: Group[]; add: (asks: readonly Ask[]) => Promise<void> } {
  const groups: Group[] = [];
  const run = (group: readonly Waiting[], turn: Turn) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    groups.push({ ...turn, asks: group.map(({ ask }) => ask), end: resolve });
    return promise;
  };
  const lane = new Lane(given, run, () => undefined);
  const add = async (asks: readonly Ask[]) => {
    const nobody = { action: null, resolve: () => undefined, reject: () => undefined };
    for (const ask of asks) lane.add({ ask, weight: ask.weight, ...nobody });
    await setImmediate();
    await setImmediate();
  };
  return { groups, add };
}

const different = (count: number): Ask[] => Array.from({ length: count }, (_, at) => ({ subject: `${at}`, weight: 1 }));
const same = (count: number): Ask[] => Array.from({ length: count }, () => ({ subject: 'one', weight: 1 }));
const sizes = (groups: readonly Group[]) => groups.map(({ asks }) => asks.length);

test('who comes alone begins at once', async () => {
  const { groups, add } = laneOf();
  await add(different(1));
  assert.deepEqual(sizes(groups), [1]);
});

test('half of those who ask again are answered while the others are written', async () => {
  const { groups, add } = laneOf();
  const asks = different(64);
  await add(asks);
  assert.deepEqual(sizes(groups), [32], 'the second waits until the first is answered');
  groups[0]?.answered();
  assert.deepEqual(sizes(groups), [32, 32], 'and begins before the first has ended');
  assert.deepEqual(
    groups.flatMap((group) => group.asks),
    asks,
  );
  groups[1]?.answered();
  await add(different(32));
  assert.deepEqual(sizes(groups), [32, 32], 'no third while two are under way');
  groups[0]?.end();
  while (groups.length < 3) await setImmediate();
  assert.deepEqual(sizes(groups), [32, 32, 32]);
});

test('those who would wait for one another are one group', async () => {
  const { groups, add } = laneOf();
  await add(same(64));
  assert.deepEqual(sizes(groups), [64]);
  groups[0]?.answered();
  await add(same(64));
  assert.deepEqual(sizes(groups), [64], 'who comes now would wait for what the first has locked');
  groups[0]?.end();
  while (groups.length < 2) await setImmediate();
  assert.deepEqual(sizes(groups), [64, 64]);
});

test('up to 32 are one group', async () => {
  const { groups, add } = laneOf();
  await add(different(32));
  assert.deepEqual(sizes(groups), [32]);
});

test('what is heavy begins beside another one, and holds about as much as one transaction takes', async () => {
  const { groups, add } = laneOf();
  await add(Array.from({ length: 5 }, (_, at) => ({ subject: `${at}`, weight: 400 })));
  assert.deepEqual(sizes(groups), [2, 2], 'the fifth is less than half of what one takes');
});

test('with leave to begin beside another, it does once so many wait', async () => {
  const { groups, add } = laneOf({ ...rules, enoughBeside: 16 });
  await add(different(4));
  await add(different(15));
  assert.deepEqual(sizes(groups), [4]);
  await add(different(1));
  assert.deepEqual(sizes(groups), [4, 16]);
});

test('after a large group, nearly all are waited for; who has had their time begins without the others', async () => {
  const { groups, add } = laneOf();
  await add(different(20));
  groups[0]?.end();
  await add(different(17));
  assert.deepEqual(sizes(groups), [20], '17 are less than nine of ten');
  await add(different(1));
  assert.deepEqual(sizes(groups), [20, 18]);
  groups[1]?.end();
  await add(different(3));
  while (groups.length < 3) await setImmediate();
  assert.deepEqual(sizes(groups), [20, 18, 3]);
});

test('a group that is complete does not wait until others are read', async () => {
  const { groups, add } = laneOf();
  await add(different(64));
  groups[0]?.answered();
  for (const { end } of groups) end();
  await setImmediate();
  const added = add(different(64));
  assert.deepEqual(sizes(groups), [32, 32, 32]);
  await added;
});

describe('in line', () => {
  const inLine = { ...rules, mostInLine: 100 };
  /** Who has 64 callers of this weight, of whom the first half is under way and the second is, too, once the first is answered. */
  async function under(given: Gathering<Ask>, weight = 1) {
    const { groups, add } = laneOf(given);
    await add(Array.from({ length: 64 }, (_, at) => ({ subject: `${at}`, weight })));
    groups[0]?.answered();
    return { groups, add };
  }

  test('are the groups that weigh little', async () => {
    const lines = async (given: Gathering<Ask>, weight?: number) =>
      (await under(given, weight)).groups.map(({ isInLine }) => isInLine);
    assert.deepEqual(await lines(inLine), [true, true]);
    assert.deepEqual(await lines(inLine, 4), [false, false]);
    assert.deepEqual(await lines(rules), [false, false]);
  });

  test('one that takes long lets others begin in its place, up to four', async () => {
    const { groups, add } = await under(inLine);
    await add(different(32));
    assert.equal(groups.length, 2, 'two are under way');
    while (groups.length < 3) await setImmediate();
    // Nobody is answered, and each that begins takes long as well.
    for (let more = 0; more < 8; more++) {
      await add(different(32));
      await setTimeout(60);
    }
    assert.equal(groups.length, 5, 'four that take long, and one that is not answered yet');
    for (const { end } of groups) end();
    while (groups.length < 6) await setImmediate();
  });

  test('one that goes beside is waited for, however long it takes', async () => {
    const { groups, add } = await under(rules);
    await add(different(32));
    await setTimeout(250);
    assert.equal(groups.length, 2);
  });
});
