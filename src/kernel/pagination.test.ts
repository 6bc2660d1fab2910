import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  booleanFilter,
  decodeCursor,
  encodeCursor,
  isAscending,
  page,
  pageQuery,
  pageRequest,
  textFilter,
  withCursorFilters,
} from './pagination.ts';
import { Problem } from './problem.ts';

const row = (n: number) => ({ id: `row_${n}`, createdAt: n });
const query = pageQuery({ status: textFilter, active: booleanFilter });
const read = (raw: Record<string, unknown>) => pageRequest(query.parse(withCursorFilters(raw)));
const isInvalidCursor = (error: unknown) => error instanceof Problem && error.problem === 'invalidCursor';

test('without a query a page is the first ten rows', () => {
  assert.deepEqual(read({}), {
    cursor: null,
    after: null,
    afterAt: null,
    direction: 'forward',
    order: 'asc',
    limit: 10,
    filters: {},
  });
});

test('the limit is a whole number from 1 to 100', () => {
  for (const limit of ['1', '100']) assert.equal(read({ limit }).limit, Number(limit));
  for (const limit of ['0', '101', '-1', '1.5', 'ten', '', '1e1'])
    assert.equal(query.safeParse({ limit }).success, false, limit);
});

test('a further page is told by nextCursor, which leads behind the last row and keeps the filters', () => {
  const request = read({ limit: '2', status: 'active', active: 'true' });
  const first = page(request, [row(1), row(2), row(3)], 5);
  assert.deepEqual(first.data, [row(1), row(2)]);
  assert.equal(first.hasMore, true);
  assert.equal(first.total, 5);
  assert(first.nextCursor);
  assert.deepEqual(read({ cursor: first.nextCursor, limit: '2' }), {
    cursor: first.nextCursor,
    after: 'row_2',
    afterAt: 2,
    direction: 'forward',
    order: 'asc',
    limit: 2,
    filters: { status: 'active', active: true },
  });
});

test('the last page has no nextCursor, and every page a currentCursor', () => {
  const last = page(read({ limit: '2' }), [row(1)], 1);
  assert.equal(last.hasMore, false);
  assert.equal('nextCursor' in last, false);
  assert.deepEqual(read({ cursor: last.currentCursor }).after, null);
  const cursor = encodeCursor({ parameters: {}, createdAt: 1, id: 'row_1', direction: 'forward' });
  assert.equal(page(read({ cursor }), [row(2)], 2).currentCursor, cursor);
});

test('going backward, rows are answered in order of creation and the cursor leads before the first', () => {
  const cursor = encodeCursor({ parameters: {}, createdAt: 9, id: 'row_9', direction: 'backward' });
  const before = page(read({ cursor, limit: '2' }), [row(8), row(7), row(6)], 9);
  assert.deepEqual(before.data, [row(7), row(8)]);
  assert.equal(decodeCursor(before.nextCursor ?? '').id, 'row_7');
});

test('a cursor that was tampered with is refused', () => {
  const good = { parameters: {}, createdAt: 1, id: 'row_1', direction: 'forward' };
  const asCursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
  for (const bad of [
    'cursor',
    '{}',
    '!',
    asCursor({}),
    asCursor({ ...good, extra: 1 }),
    asCursor({ ...good, direction: 'up' }),
    asCursor({ ...good, parameters: { a: {} } }),
    // The database has no such instants and texts.
    asCursor({ ...good, createdAt: 1.5 }),
    asCursor({ ...good, createdAt: 1e300 }),
    asCursor({ ...good, id: 'row\0' }),
    asCursor({ ...good, parameters: { a: '\0' } }),
  ]) {
    assert.throws(() => decodeCursor(bad), isInvalidCursor, bad);
  }
  assert.equal(decodeCursor(asCursor(good)).id, 'row_1');
  const ours = JSON.parse(Buffer.from(encodeCursor({ ...good, direction: 'forward' }), 'base64').toString());
  assert.equal(decodeCursor(asCursor(ours)).id, 'row_1');
  for (const altered of [{ id: 'row_2' }, { createdAt: 2 }, { direction: 'backward' }, { parameters: { a: 'b' } }]) {
    assert.throws(() => decodeCursor(asCursor({ ...ours, ...altered })), isInvalidCursor, JSON.stringify(altered));
  }
});

test('a query may not contradict the filters of its cursor', () => {
  const cursor = encodeCursor({ parameters: { status: 'active' }, createdAt: 1, id: 'row_1', direction: 'forward' });
  assert.throws(() => read({ cursor, status: 'canceled' }), isInvalidCursor);
  assert.equal(read({ cursor, status: 'active' }).filters.status, 'active');
});

test('a list in descending order goes on in it, and its cursor is refused for the other order', () => {
  const first = page(read({ limit: '2', order: 'desc' }), [row(9), row(8), row(7)], 9);
  assert.deepEqual(first.data, [row(9), row(8)]);
  const { nextCursor } = first;
  assert(nextCursor);
  for (const raw of [{ cursor: nextCursor }, { cursor: nextCursor, order: 'desc' }]) {
    assert.equal(read(raw).order, 'desc');
    assert.equal(isAscending(read(raw)), false);
  }
  assert.throws(() => read({ cursor: nextCursor, order: 'asc' }), isInvalidCursor);
  const ascending = page(read({ limit: '1' }), [row(1), row(2)], 9).nextCursor;
  assert.equal(read({ cursor: ascending, order: 'asc' }).order, 'asc');
  assert.throws(() => read({ cursor: ascending, order: 'desc' }), isInvalidCursor);
  const back = encodeCursor({ parameters: { order: 'desc' }, createdAt: 7, id: 'row_7', direction: 'backward' });
  assert.equal(isAscending(read({ cursor: back })), true);
  assert.deepEqual(page(read({ cursor: back, limit: '2' }), [row(8), row(9)], 9).data, [row(9), row(8)]);
});

test('a list whose usual order is descending may be read ascending', () => {
  const readLog = (raw: Record<string, unknown>) => pageRequest(query.parse(withCursorFilters(raw)), 'desc');
  assert.deepEqual([readLog({}).order, readLog({}).filters], ['desc', {}]);
  const { nextCursor } = page(readLog({ order: 'asc', limit: '1' }), [row(1), row(2)], 9);
  assert.equal(readLog({ cursor: nextCursor }).order, 'asc');
  assert.throws(() => readLog({ cursor: nextCursor, order: 'desc' }), isInvalidCursor);
});
