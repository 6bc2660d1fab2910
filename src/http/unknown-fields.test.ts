import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { findUnknownFields, ignoredHeader, nearestOf } from './unknown-fields.ts';

test('the nearest name is found through case, slips of the keyboard and prefixes', () => {
  const known = ['customerId', 'externalId', 'status', 'limit'];
  assert.equal(nearestOf('customerid', known), 'customerId');
  assert.equal(nearestOf('statsu', known), 'status');
  assert.equal(nearestOf('customerExternalId', known), 'externalId');
  assert.equal(nearestOf('tiers', known), null);
  assert.equal(nearestOf('x'.repeat(10_000), known), null);
});

test('fields are found in objects of lists and of variants, and not in records, whose keys are free', () => {
  const Variant = z.discriminatedUnion('type', [
    z.object({ type: z.literal('a'), one: z.string().optional() }),
    z.object({ type: z.literal('b'), two: z.string().optional() }).refine(() => true),
  ]);
  const schema = z.object({
    list: z.array(Variant.nullish()).optional(),
    free: z.record(z.string(), z.unknown()).optional(),
    open: z.looseObject({}).optional(),
  });
  const value = { list: [{ type: 'a', two: '' }, null, { type: 'b', two: '' }], free: { x: { y: 1 } }, open: { z: 1 } };
  const paths = (given: unknown) => findUnknownFields('body', schema, given).map(({ path }) => path.join('.'));
  assert.deepEqual(paths(value), ['list.0.two']);
  assert.deepEqual(paths({ toString: 1 }), ['toString']);
  assert.deepEqual(paths([1]), []);
});

test('a header names at most twenty fields, in ASCII', () => {
  const field = (name: string) => ({ part: 'body' as const, path: [name], known: [] });
  assert.equal(ignoredHeader([field('a\r\nb'), field('ü')]), 'a%0D%0Ab, %C3%BC');
  assert.match(ignoredHeader(Array.from({ length: 21 }, () => field('a'))), /^(a, ){20}\.\.\.$/);
});
