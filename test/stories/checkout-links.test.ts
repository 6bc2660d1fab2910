import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkoutUrl, readCheckoutKey } from '../../src/checkout/checkout.ts';
import { portalKey, portalUrl, readPortalKey } from '../../src/customers/portal-link.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';

const [key, olderKey] = [randomBytes(keyBytes), randomBytes(keyBytes)];
const encryption = createEncryption([key]);

/** The key in a link, as a browser sends it. */
function keyOf(url: string): string {
  return new URL(url).searchParams.get('key') ?? '';
}

test('a mac holds for its text in its context, and for nothing else', () => {
  const text = fc.string();
  fc.assert(
    fc.property(text, text, text, text, (said, context, otherText, otherContext) => {
      const mac = encryption.mac(said, context);
      assert.match(mac, /^[\w-]{43}$/);
      assert(encryption.isMac(said, context, mac));
      assert.equal(encryption.isMac(otherText, otherContext, mac), otherText === said && otherContext === context);
    }),
  );
});

test('where a context ends and its text begins is part of the mac', () => {
  assert.notEqual(encryption.mac('b', 'a'), encryption.mac('', 'a b'));
  assert.notEqual(encryption.mac('c', 'a b'), encryption.mac('b c', 'a'));
});

test('a mac is written in one way only', () => {
  const mac = encryption.mac('text', 'context');
  // The last of 43 characters carries two bits that say nothing: another character there would be read as the same bytes.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const accepted = [...alphabet].filter((last) => encryption.isMac('text', 'context', mac.slice(0, -1) + last));
  assert.deepEqual(accepted, [mac.slice(-1)]);
  for (const other of ['', `${mac}=`, `${mac}A`, mac.slice(1), `${mac.slice(0, 42)}+`, 'ü'.repeat(43)])
    assert.equal(encryption.isMac('text', 'context', other), false, other);
});

test('what an older key has signed holds while that key is there', () => {
  const mac = createEncryption([olderKey]).mac('text', 'context');
  assert(createEncryption([key, olderKey]).isMac('text', 'context', mac));
  assert.equal(createEncryption([key]).isMac('text', 'context', mac), false);
});

test('what signs is another key than the one that seals', () => {
  const withSealingKey = createHmac('sha256', key).update('7 context text').digest('base64url');
  assert.equal(encryption.isMac('text', 'context', withSealingKey), false);
});

test('a checkout link opens its session in its environment, and no other', () => {
  const place = { environmentId: 1234, sessionId: 'chckt_session_1' };
  const url = checkoutUrl('https://billing.acme.test/base/', encryption, place);
  assert.match(url, /^https:\/\/billing\.acme\.test\/base\/checkout\/chckt_session_1\?key=ya\.[\w-]{43}$/);
  const opened = keyOf(url);
  assert.equal(readCheckoutKey(encryption, 'chckt_session_1', opened), 1234);
  assert.equal(readCheckoutKey(encryption, 'chckt_session_2', opened), null);
  assert.equal(readCheckoutKey(createEncryption([olderKey]), 'chckt_session_1', opened), null);
  const [, mac = ''] = opened.split('.');
  for (const forged of [`yb.${mac}`, `YA.${mac}`, `ya .${mac}`, mac, `.${mac}`, `ya.${mac}.x`, '', '.', 'ya.'])
    assert.equal(readCheckoutKey(encryption, 'chckt_session_1', forged), null, forged);
});

test('the link of the page that adds a card is the same session by another name', () => {
  const place = { environmentId: 1, sessionId: 'chckt_session_1' };
  const [page, other] = [
    checkoutUrl('https://a.test', encryption, place, 'add-payment-method'),
    checkoutUrl('https://a.test', encryption, place),
  ];
  assert.match(page, /^https:\/\/a\.test\/add-payment-method\/chckt_session_1\?key=/);
  assert.equal(keyOf(page), keyOf(other));
});

test('a portal link is a pass for one customer until it expires', () => {
  const pass = {
    environmentId: 7,
    customerId: 'cust_1',
    version: 3,
    expiresAt: 1000,
    returnUrl: 'https://app.test/ü?a=b&c=d',
  };
  const key = keyOf(portalUrl('https://a.test', encryption, pass));
  assert.match(key, /^[\w-]+\.[\w-]{43}$/);
  assert.deepEqual(readPortalKey(encryption, key, 999), pass);
  assert.equal(readPortalKey(encryption, key, 1000), null);
  const longer = portalKey(createEncryption([olderKey]), { ...pass, expiresAt: 2000 });
  assert.equal(readPortalKey(encryption, longer, 999), null);
  // The pass of one with the signature of another.
  const forged = `${longer.split('.')[0]}.${key.split('.')[1]}`;
  assert.equal(readPortalKey(encryption, forged, 999), null);
});

test('no link of one kind is one of the other', () => {
  const checkout = keyOf(checkoutUrl('https://a.test', encryption, { environmentId: 1, sessionId: 'portal' }));
  assert.equal(readPortalKey(encryption, checkout, 0), null);
  const portal = portalKey(encryption, {
    environmentId: 1,
    customerId: 'cust_1',
    version: 0,
    expiresAt: 9,
    returnUrl: null,
  });
  assert.equal(readCheckoutKey(encryption, 'portal', portal), null);
});
