import { mock } from 'node:test';
import type { Body } from './harness.ts';

/** The JSON that a command prints. */
export async function printed(act: () => Promise<unknown>): Promise<Body> {
  const log = mock.method(console, 'log', () => undefined);
  try {
    await act();
    return JSON.parse(String(log.mock.calls.at(-1)?.arguments[0]));
  } finally {
    log.mock.restore();
  }
}
