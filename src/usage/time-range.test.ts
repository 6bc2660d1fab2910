import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hourMs, splitAtHours } from './event-query.ts';

test('from 1:30 to 4:20 there are two whole hours, half an hour before them and twenty minutes after', () => {
  const minute = 60_000;
  const split = splitAtHours({ from: 90 * minute, to: 260 * minute });
  assert.deepEqual(split, {
    hours: { from: 120 * minute, to: 240 * minute },
    edges: [
      { from: 90 * minute, to: 120 * minute },
      { from: 240 * minute, to: 260 * minute },
    ],
  });
});

test('a range within an hour holds no whole one, an end on the hour leaves nothing, and an open end stays open', () => {
  assert.deepEqual(splitAtHours({ from: 1, to: 2 }), { hours: null, edges: [{ from: 1, to: 2 }] });
  assert.deepEqual(splitAtHours({ from: 1, to: hourMs }), { hours: null, edges: [{ from: 1, to: hourMs }] });
  assert.deepEqual(splitAtHours({ from: 0, to: hourMs }), { hours: { from: 0, to: hourMs }, edges: [] });
  assert.deepEqual(splitAtHours({ from: null, to: null }), { hours: { from: null, to: null }, edges: [] });
  assert.deepEqual(splitAtHours({ from: null, to: 1 }), { hours: { from: null, to: 0 }, edges: [{ from: 0, to: 1 }] });
});

test('hours and edges tile the range, before 1970 too', () => {
  const instant = fc.integer({ min: -10 * hourMs, max: 10 * hourMs });
  fc.assert(
    fc.property(instant, fc.integer({ min: 1, max: 5 * hourMs }), (from, length) => {
      const { hours, edges } = splitAtHours({ from, to: from + length });
      const parts = [...edges, ...(hours === null ? [] : [hours])]
        .map((part) => ({ from: Number(part.from), to: Number(part.to) }))
        .sort((a, b) => a.from - b.from);
      assert.equal(parts[0]?.from, from);
      assert.equal(parts.at(-1)?.to, from + length);
      for (const [index, part] of parts.entries()) {
        assert(part.from < part.to);
        if (index > 0) assert.equal(part.from, parts[index - 1]?.to);
      }
      assert(hours === null || (Number(hours.from) % hourMs === 0 && Number(hours.to) % hourMs === 0));
      for (const edge of edges) assert(edge.to - edge.from < hourMs);
    }),
  );
});
