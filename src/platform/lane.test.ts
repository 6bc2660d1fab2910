import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
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

describe('in turn', () => {
  const inTurn = { ...rules, mostInTurn: 100 };
  /** Two groups of 32, of which the first is under way in the database while the second is made ready. */
  async function twoGroups(asks: readonly Ask[] = different(64)) {
    const { groups, add } = laneOf(inTurn);
    await add(asks);
    groups[0]?.answered();
    const [first, second] = groups;
    assert(first && second);
    let hasCome = second.comes === null;
    void second.comes?.then(() => {
      hasCome = true;
    });
    return { first, second, hasCome: () => hasCome };
  }

  test('the second group comes when the first has ended in the database, and before those of the first are told', async () => {
    const { first, second, hasCome } = await twoGroups();
    assert.deepEqual(sizes([first, second]), [32, 32]);
    assert.equal(first.comes, null, 'nothing is before it');
    await setImmediate();
    assert(!hasCome());
    await first.ended();
    assert(hasCome());
  });

  test('who waits long for something itself holds nobody else up', async () => {
    const { second } = await twoGroups();
    await second.comes;
  });

  test('a group that fails is over too', async () => {
    const { first, second } = await twoGroups();
    first.end();
    await second.comes;
    await second.ended();
  });

  test('what weighs more than that goes beside', async () => {
    const { hasCome } = await twoGroups(Array.from({ length: 64 }, (_, at) => ({ subject: `${at}`, weight: 4 })));
    assert(hasCome());
  });
});
