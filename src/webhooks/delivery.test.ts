import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { instant } from '../kernel/calendar.ts';
import {
  decideAfterAttempt,
  disablingReason,
  type EndpointAnswer,
  maxAttempts,
  retryDelaysMs,
  signedHeaders,
} from './delivery.ts';

const at = instant('2026-04-01T12:00');

const fresh = { attempts: 0, failures: 0, isSample: false };
/** After an attempt that other failures came before, without a random part. */
const decide = (failures: number, answer: EndpointAnswer, random = 0) =>
  decideAfterAttempt({ ...fresh, attempts: failures, failures }, answer, at, random);
const answered = (statusCode: number, retryAfter: string | null = null) => ({ statusCode, retryAfter });

describe('after an attempt', () => {
  test('any 2xx is success', () => {
    for (const statusCode of [200, 201, 204, 299]) {
      assert.deepEqual(decide(0, answered(statusCode)), {
        status: 'succeeded',
        attempts: 1,
        failures: 0,
        nextAttemptAt: null,
        lastAttemptAt: at,
        lastStatusCode: statusCode,
        lastError: null,
      });
    }
  });

  test('a redirect, a refusal and a crash are failures, tried again five seconds later', () => {
    for (const statusCode of [199, 301, 307, 400, 500]) {
      assert.deepEqual(decide(0, answered(statusCode)), {
        status: 'pending',
        attempts: 1,
        failures: 1,
        nextAttemptAt: instant('2026-04-01T12:00:05'),
        lastAttemptAt: at,
        lastStatusCode: statusCode,
        lastError: `The endpoint responded with ${statusCode}.`,
      });
    }
  });

  test('silence keeps its reason', () => {
    const outcome = decide(1, { failure: 'No response: ECONNREFUSED' });
    assert.equal(outcome.lastStatusCode, null);
    assert.equal(outcome.lastError, 'No response: ECONNREFUSED');
    assert.equal(outcome.nextAttemptAt, instant('2026-04-01T12:05'));
  });

  test('the tenth failure is the last', () => {
    assert.equal(maxAttempts, 10);
    assert.equal(decide(8, answered(500)).nextAttemptAt, instant('2026-04-02T12:00'));
    const last = decide(9, answered(500));
    assert.equal(last.status, 'failed');
    assert.equal(last.nextAttemptAt, null);
  });

  test('a delivery that was begun anew has the whole schedule before it', () => {
    const outcome = decideAfterAttempt({ attempts: 10, failures: 0, isSample: false }, answered(500), at, 0);
    assert.deepEqual([outcome.attempts, outcome.failures, outcome.status], [11, 1, 'pending']);
    assert.equal(outcome.nextAttemptAt, at + 5_000);
  });

  test('what failed together is not sent again together: a delay is longer by up to a tenth', () => {
    assert.equal(decide(1, answered(500), 0.5).nextAttemptAt, at + 5 * 60_000 * 1.05);
    assert.equal(decide(0, answered(500), 0.999_999).nextAttemptAt, at + 5_500);
  });

  test('Retry-After is obeyed, in seconds and as a date, up to a day and never sooner than the schedule', () => {
    const next = (retryAfter: string) => (decide(0, answered(429, retryAfter)).nextAttemptAt ?? 0) - at;
    assert.equal(next('120'), 120_000);
    assert.equal(next('Wed, 01 Apr 2026 12:02:00 GMT'), 120_000);
    assert.equal(next('1'), 5_000);
    assert.equal(next('999999999'), 24 * 60 * 60_000);
    assert.equal(next('soon'), 5_000);
    assert.equal(next('-5'), 5_000);
  });

  test('410 ends it, and so does any failure of a sample', () => {
    assert.equal(decide(0, answered(410)).status, 'failed');
    assert.equal(decideAfterAttempt({ ...fresh, isSample: true }, answered(500), at, 0).status, 'failed');
  });

  test('the attempts stretch over 75 hours, 35 minutes and 5 seconds', () => {
    // 5 s + 5 min + 30 min + (2 + 5 + 10 + 14 + 20 + 24) h
    const totalMs = retryDelaysMs.reduce((sum, delayMs) => sum + delayMs, 0);
    assert.equal(totalMs, ((75 * 60 + 35) * 60 + 5) * 1000);
  });
});

describe('an endpoint is switched off', () => {
  const day = 24 * 60 * 60_000;
  test('an endpoint is switched off at once when it answers 410', () => {
    assert.match(disablingReason(answered(410), at, at) ?? '', /410/);
  });
  test('an endpoint is switched off when every attempt has failed for five days', () => {
    assert.equal(disablingReason(answered(500), at - 5 * day + 1, at), null);
    assert.equal(
      disablingReason(answered(500), at - 5 * day, at),
      'Every attempt has failed for five days. Last error: The endpoint responded with 500.',
    );
  });
  test('an endpoint is never switched off by a success', () => {
    assert.equal(disablingReason(answered(200), at - 5 * day, at), null);
  });
});

describe('the signature', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = '{"id": "cust_1", "name": "Zoë"}';

  test('the signature stands under both header names and is checked by the public verifier', () => {
    const now = Date.now();
    const headers = signedHeaders([secret], 'event_1', body, now);
    assert.deepEqual(new Verifier(secret).verify(body, headers), { id: 'cust_1', name: 'Zoë' });
    for (const part of ['id', 'timestamp', 'signature'])
      assert.equal(headers[`svix-${part}`], headers[`webhook-${part}`]);
    assert.equal(headers['webhook-timestamp'], String(Math.floor(now / 1000)));
  });

  test('another body, id or secret does not pass', () => {
    const headers = signedHeaders([secret], 'event_1', body, Date.now());
    assert.throws(() => new Verifier(secret).verify(`${body} `, headers));
    assert.throws(() => new Verifier(secret).verify(body, { ...headers, 'webhook-id': 'event_2' }));
    assert.throws(() => new Verifier(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).verify(body, headers));
  });
});
