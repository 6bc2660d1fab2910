import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reduceToFit } from './actions-images.ts';

test('an image that is too large is reduced: a pixel is the mean of those it covers, by their opacity', () => {
  // Two rows of black, white, red and clear red; each pixel of the result covers two by two.
  const row = [0, 0, 0, 255, 255, 255, 255, 255, 200, 0, 0, 255, 90, 90, 90, 0];
  const image = { width: 4, height: 2, data: Uint8Array.from([...row, ...row]) };
  const reduced = reduceToFit(image, { width: 2, height: 2 });
  assert.deepEqual([reduced.width, reduced.height], [2, 1]);
  assert.deepEqual([...reduced.data], [128, 128, 128, 255, 200, 0, 0, 128]);
  assert.equal(reduceToFit(image, { width: 4, height: 4 }), image);
});
