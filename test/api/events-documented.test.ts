import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { publish } from '../../src/customers/store-events.ts';
import { eventMeanings, eventTypes } from '../../src/webhooks/event.ts';
import { samplePayload } from '../../src/webhooks/sample.ts';
import { anyId } from '../support/any-id.ts';
import { createValidator, resolved } from '../support/document.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const ajv = createValidator(document);

/** What openapi.json says that a receiver of this type gets; what is wrong with a body, or null. */
function wrongWith(type: string, body: unknown): string | null {
  const pointer = `openapi.json#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
  const validate = ajv.getSchema(pointer);
  assert(validate, `${type} is not documented`);
  return validate(body) ? null : ajv.errorsText(validate.errors);
}

/** A message of each type, as a receiver got it. */
const sample = { eventId: anyId('event'), pricingModelId: 'pricing_model_1', occurredAt: 0, livemode: false };
const { pricingModelId } = await insertFixture(app);
const receiver = await startReceiver();
await app.post('/webhooks', {
  webhook: { name: 'All', url: receiver.url, filterTypes: [...eventTypes], pricingModelId },
});
await app.inEnvironment((work) =>
  publish(
    work,
    eventTypes.map((type) => {
      const { object } = eventMeanings[type];
      const usageMeterId = type === 'usage_balance.low' ? { usageMeterId: anyId('usageMeter') } : {};
      const attempts = type === 'attempts.limit_reached' ? { attempts: { kind: 'payment', scope: 'link' } } : {};
      const refund = type === 'refund.created' ? { refund: { id: 'refund_1', amount: 100n } } : {};
      const limit = samplePayload({ ...sample, type }).spendLimit;
      const spendLimit = limit === undefined ? {} : { spendLimit: limit };
      const customer = { id: anyId('customer'), externalId: 'acme' };
      const data = { id: `${object}_1`, note: 'x'.repeat(256 * 1024) };
      return {
        type,
        object,
        objectId: `${object}_1`,
        pricingModelId,
        customer,
        ...usageMeterId,
        ...attempts,
        ...refund,
        ...spendLimit,
        data,
      };
    }),
  ),
);
await app.sendWebhooks();
const messages = receiver.received.map(({ headers, body }) => ({ headers, body: JSON.parse(body.toString()) as Body }));

test('the document has an entry for each type of event, and a message of each has come', () => {
  assert.deepEqual(Object.keys(document.webhooks).toSorted(), [...eventTypes].toSorted());
  assert.deepEqual(messages.map(({ body }) => body.type).toSorted(), [...eventTypes].toSorted());
});

for (const type of eventTypes) {
  describe(type, () => {
    const { post } = document.webhooks[type];
    const message = messages.find(({ body }) => body.type === type);
    assert(message);

    test('a message that came is as documented, also with a field that is added later', () => {
      assert.equal(wrongWith(type, message.body), null);
      assert.equal(wrongWith(type, { ...message.body, added: 1 }), null);
    });

    test('an event without one of its fields, of another type or about another object is not as documented', () => {
      for (const key of Object.keys(message.body)) {
        const { [key]: _, ...rest } = message.body;
        assert.match(wrongWith(type, rest) ?? '', new RegExp(`required property '${key}'`));
      }
      const otherType = eventTypes.find((each) => each !== type);
      assert.notEqual(wrongWith(type, { ...message.body, type: otherType }), null);
      assert.notEqual(wrongWith(type, { ...message.body, object: 'taxRate' }), null);
    });

    test('each documented header came, the svix ones with the same values', () => {
      const headers: Body[] = post.parameters.map((each: Body) => resolved(document, each));
      assert.deepEqual(
        new Set(headers.map(({ in: place, required }) => `${place} ${required}`)),
        new Set(['header true']),
      );
      const names = headers.map(({ name }) => name as string);
      const [ours, svix] = ['webhook', 'svix'].map((kind) =>
        ['id', 'timestamp', 'signature'].map((of) => `${kind}-${of}`),
      );
      assert.deepEqual(names.toSorted(), [...(ours ?? []), ...(svix ?? [])].toSorted());
      const came = (some: readonly string[] | undefined) => some?.map((name) => message.headers[name]);
      assert.deepEqual(came(svix), came(ours));
      assert.match(message.headers['webhook-timestamp']?.toString() ?? '', /^\d{10}$/);
    });

    test('says what a receiver answers, and that its receiver needs no key of ours', () => {
      assert.deepEqual(Object.keys(post.responses), ['410', '2XX', '3XX', 'default']);
      assert.deepEqual(post.security, []);
    });
  });
}
