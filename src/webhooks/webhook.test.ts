import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndpointUrl, NewWebhook } from './webhook.ts';

test('an endpoint is an absolute http or https address', () => {
  for (const url of [
    'https://example.com',
    'http://127.0.0.1:8080/hook?a=1#b',
    'HTTPS://EXAMPLE.COM/',
    'https://münchen.example/ü',
  ])
    assert.equal(isEndpointUrl(url), true, url);
  for (const url of [
    '',
    '/hook',
    'example.com',
    'ftp://example.com',
    'https:example.com',
    'https://',
    ' https://example.com',
    'https://a b',
    'https:\\\\example.com',
    'javascript:alert(1)',
    'https://example.com:99999',
  ])
    assert.equal(isEndpointUrl(url), false, url);
});

test('an endpoint address with user name or password is refused', () => {
  for (const url of ['https://me@example.com', 'https://me:secret@example.com', 'https://:secret@example.com'])
    assert.equal(isEndpointUrl(url), false, url);
});

test('a new webhook is active, and its filter types are folded', () => {
  const webhook = NewWebhook.parse({
    name: ' Ours ',
    url: 'https://example.com',
    filterTypes: ['payment.failed', 'customer.created', 'payment.failed'],
  });
  assert.deepEqual(webhook, {
    name: 'Ours',
    url: 'https://example.com',
    filterTypes: ['payment.failed', 'customer.created'],
    active: true,
  });
});
