import assert from 'node:assert/strict';
import type { PaymentProcessor } from './processor.ts';

/** Money received and returned by bank transfer or in cash: people record it, and no processor can be queried. */
export const manualProcessor: PaymentProcessor = {
  name: 'manual',
  async attachPaymentMethod() {
    return { result: 'unknown', known: [] };
  },
  async charge() {
    return { result: 'awaiting' };
  },
  async retrieve(reference) {
    assert.fail(`charge ${reference} was recorded manually and is not known to a processor`);
  },
  async refund({ idempotencyKey }) {
    return { result: 'succeeded', reference: `manual_${idempotencyKey}` };
  },
};
