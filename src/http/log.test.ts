import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

/** The lines that a log of this level writes. */
function written(level: string, isTTY: boolean, act: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  act(createLog(level, { isTTY, write: (text: string) => lines.push(text) }));
  return lines;
}

test('a line is JSON with level, time and message where the output is no terminal', () => {
  const [line = '', ...rest] = written('warn', false, ({ log }) => {
    log.info('not wanted');
    log.warn({ webhookId: 'webhook_1' }, 'the endpoint fails');
  });
  const { level, time, msg, webhookId } = JSON.parse(line);
  assert.deepEqual([level, msg, webhookId, rest], ['warn', 'the endpoint fails', 'webhook_1', []]);
  assert.equal(new Date(time).toISOString(), time);
});

test('a line is text where the output is a terminal, with the stack of an error below', () => {
  const [line = ''] = written('info', true, ({ log }) => log.error({ status: 500, err: new Error('lost') }, 'failed'));
  assert.match(line, /^\d\d:\d\d:\d\d ERROR failed status=500\nError: lost\n {4}at /);
});

test('a notice is written at any level, and its long details stand below it', () => {
  const [line = ''] = written('silent', true, ({ notice }) => notice('First start', { testKey: 'sk', next: 'a\nb' }));
  assert.match(line, /^\d\d:\d\d:\d\d INFO {2}First start testKey=sk\na\nb\n$/);
});
