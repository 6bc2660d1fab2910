import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Circuit, circuitAfter, closedCircuit, slotsOf } from './circuit.ts';

/** The circuit after failures at these instants, in milliseconds. */
const failed = (...at: number[]): Circuit =>
  at.reduce((circuit, instant) => circuitAfter(circuit, false, instant), closedCircuit);

test('four failures in a row change nothing', () => {
  assert.deepEqual(failed(1, 2, 3, 4), { failuresInARow: 4, openUntil: null });
  assert.equal(slotsOf(failed(1, 2, 3, 4), 5, 16), 16);
});

test('after the fifth the endpoint is left in peace for five seconds, then one message tries it', () => {
  const circuit = failed(1, 2, 3, 4, 1_000);
  assert.equal(circuit.openUntil, 6_000);
  assert.equal(slotsOf(circuit, 5_999, 16), 0);
  assert.equal(slotsOf(circuit, 6_000, 16), 1);
});

test('failures of what was under way when it opened make the pause no longer', () => {
  assert.deepEqual(failed(1, 2, 3, 4, 1_000, 1_001, 1_002, 5_999), failed(1, 2, 3, 4, 1_000));
});

test('each failed try doubles the pause, up to five minutes', () => {
  assert.equal(failed(0, 0, 0, 0, 0, 5_000).openUntil, 15_000);
  assert.equal(failed(0, 0, 0, 0, 0, 5_000, 15_000).openUntil, 35_000);
  const tries = Array.from({ length: 100 }, (_, index) => index * 300_000);
  assert.equal(failed(...tries).openUntil, 99 * 300_000 + 300_000);
});

test('one success closes it', () => {
  assert.deepEqual(circuitAfter(failed(0, 0, 0, 0, 0, 5_000), true, 15_000), closedCircuit);
});

test('an endpoint that asks to be left alone is, from its first failure on, up to five minutes', () => {
  const requested = circuitAfter(closedCircuit, false, 0, 120_000);
  assert.deepEqual([slotsOf(requested, 119_999, 16), slotsOf(requested, 120_000, 16)], [0, 16]);
  // Another that was under way asks for less, and later for more.
  assert.equal(circuitAfter(requested, false, 1, 1_000).openUntil, 120_000);
  assert.equal(circuitAfter(requested, false, 1, 24 * 3_600_000).openUntil, 300_001);
  assert.deepEqual(circuitAfter(requested, true, 120_000), closedCircuit);
});
