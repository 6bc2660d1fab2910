import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wordingOf } from '../wording/wording.ts';
import { readCard as readIn } from './card-entry.ts';

const readCard = (form: Parameters<typeof readIn>[0], at: number) => readIn(form, at, wordingOf('en'));
const now = Date.UTC(2026, 3, 15);
const card = { cardNumber: '4242 4242 4242 4242', cardExpiry: '04/26', cardCode: '123' };
const errorsOf = (change: object) => {
  const read = readCard({ ...card, ...change }, now);
  return 'errors' in read ? Object.keys(read.errors) : [];
};

test('a test number stands for its token, however it is written', () => {
  assert.deepEqual(readCard(card, now), { token: 'pm_card_visa' });
  assert.deepEqual(readCard({ ...card, cardNumber: '4000-0000-0000-0002' }, now), { token: 'pm_card_chargeDeclined' });
  assert.deepEqual(errorsOf({ cardExpiry: '4 / 2026' }), []);
  assert.deepEqual(errorsOf({ cardExpiry: '1230' }), []);
  assert.deepEqual(errorsOf({ cardCode: ' 1234 ' }), []);
});

test('a card is good until its month ends', () => {
  assert.deepEqual(errorsOf({ cardExpiry: '04/26' }), []);
  assert.deepEqual(errorsOf({ cardExpiry: '03/26' }), ['cardExpiry']);
  assert.deepEqual(errorsOf({ cardExpiry: '13/26' }), ['cardExpiry']);
  assert.deepEqual(errorsOf({ cardExpiry: '' }), ['cardExpiry']);
});

test('what is wrong is named by its field, all of it at once', () => {
  assert.deepEqual(errorsOf({ cardNumber: '4242424242424241', cardExpiry: 'soon', cardCode: '12' }), [
    'cardNumber',
    'cardExpiry',
    'cardCode',
  ]);
  assert.deepEqual(readCard({}, now), {
    errors: {
      cardNumber: 'Enter the card number.',
      cardExpiry: 'Enter the expiry date as month and year, such as 12 / 34.',
      cardCode: 'Enter the security code, the 3 or 4 digits on the card.',
    },
  });
});

test('what a card says is never repeated in what is wrong with it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{12,19}$/), (cardNumber) => {
      const read = readCard({ ...card, cardNumber }, now);
      if ('errors' in read) assert.doesNotMatch(Object.values(read.errors).join(' '), new RegExp(cardNumber));
    }),
  );
});
