import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { instant } from '../kernel/calendar.ts';
import { decideAfterAttempt, maxAttempts, retryDelaysMs, signedHeaders } from './delivery.ts';

const at = instant('2026-04-01T12:00');

describe('after an attempt', () => {
  test('any 2xx is success', () => {
    for (const statusCode of [200, 201, 204, 299]) {
      assert.deepEqual(decideAfterAttempt(1, { statusCode }, at), {
        status: 'succeeded',
        attempts: 1,
        nextAttemptAt: null,
        lastAttemptAt: at,
        lastStatusCode: statusCode,
        lastError: null,
      });
    }
  });

  test('a redirect, a refusal and a crash are failures, tried again five seconds later', () => {
    for (const statusCode of [199, 301, 307, 400, 410, 500]) {
      assert.deepEqual(decideAfterAttempt(1, { statusCode }, at), {
        status: 'pending',
        attempts: 1,
        nextAttemptAt: instant('2026-04-01T12:00:05'),
        lastAttemptAt: at,
        lastStatusCode: statusCode,
        lastError: `The endpoint answered ${statusCode}.`,
      });
    }
  });

  test('silence keeps its reason', () => {
    const outcome = decideAfterAttempt(2, { failure: 'No answer: ECONNREFUSED' }, at);
    assert.equal(outcome.lastStatusCode, null);
    assert.equal(outcome.lastError, 'No answer: ECONNREFUSED');
    assert.equal(outcome.nextAttemptAt, instant('2026-04-01T12:05'));
  });

  test('the tenth failure is the last', () => {
    assert.equal(maxAttempts, 10);
    assert.equal(decideAfterAttempt(9, { statusCode: 500 }, at).nextAttemptAt, instant('2026-04-02T12:00'));
    const last = decideAfterAttempt(10, { statusCode: 500 }, at);
    assert.equal(last.status, 'failed');
    assert.equal(last.nextAttemptAt, null);
  });

  test('the attempts stretch over 75 hours, 35 minutes and 5 seconds', () => {
    // 5 s + 5 min + 30 min + (2 + 5 + 10 + 14 + 20 + 24) h
    const totalMs = retryDelaysMs.reduce((sum, delayMs) => sum + delayMs, 0);
    assert.equal(totalMs, ((75 * 60 + 35) * 60 + 5) * 1000);
  });
});

describe('the signature', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = '{"id": "cust_1", "name": "Zoë"}';

  test('stands under both header names and is checked by the public verifier', () => {
    const now = Date.now();
    const headers = signedHeaders(secret, 'event_1', body, now);
    assert.deepEqual(new Verifier(secret).verify(body, headers), { id: 'cust_1', name: 'Zoë' });
    for (const part of ['id', 'timestamp', 'signature'])
      assert.equal(headers[`svix-${part}`], headers[`webhook-${part}`]);
    assert.equal(headers['webhook-timestamp'], String(Math.floor(now / 1000)));
  });

  test('another body, id or secret does not pass', () => {
    const headers = signedHeaders(secret, 'event_1', body, Date.now());
    assert.throws(() => new Verifier(secret).verify(`${body} `, headers));
    assert.throws(() => new Verifier(secret).verify(body, { ...headers, 'webhook-id': 'event_2' }));
    assert.throws(() => new Verifier(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).verify(body, headers));
  });
});
