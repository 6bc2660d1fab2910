import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { issuesOf } from './request.ts';

function messagesOf(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  assert(error !== undefined, 'the value is refused');
  return issuesOf(error).map(({ path, message }) => [...path, message].join(': '));
}

const examples: readonly (readonly [schema: z.ZodType, value: unknown, message: string])[] = [
  [z.object({ name: z.string() }), {}, 'name: is required, and must be a string'],
  [z.string(), 5, 'must be a string'],
  [z.array(z.int()), {}, 'must be a list'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.object({}), [], 'must be an object'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.enum(['day', 'month']), 'year', 'must be one of day, month'],
  [z.literal('credit'), 'debit', 'must be credit'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().max(3), 'four', 'must have at most 3 characters'],
  [z.string().length(2), 'USA', 'must have exactly 2 characters'],
  [z.array(z.int()).max(2), [1, 2, 3], 'must have at most 2 elements'],
  [z.number().min(1), 0, 'must be 1 or more'],
  [z.number().max(9), 10, 'must be 9 or less'],
  [z.number().gt(1), 1, 'must be more than 1'],
  [z.number().lt(9), 9, 'must be less than 9'],
  [z.email(), 'a', 'must be an email address'],
  [z.string().regex(/^[a-z]+$/), 'A', 'must match /^[a-z]+$/'],
  [z.string().startsWith('sk_'), 'pk_1', 'must begin with "sk_"'],
  [z.number().multipleOf(5), 7, 'must be a multiple of 5'],
  [z.strictObject({}), { a: 1 }, 'must not have a'],
  [z.union([z.string(), z.boolean()]), 5, 'must be a string, or must be true or false'],
];

for (const [schema, value, message] of examples)
  test(`the refusal of ${JSON.stringify(value)} says that it ${message}`, () => {
    assert.deepEqual(messagesOf(schema, value), [message]);
  });
