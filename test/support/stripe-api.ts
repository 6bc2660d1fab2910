import type { ServerResponse } from 'node:http';
import { type Params, type StripeObjects, StripeRefusal } from './stripe-objects.ts';

/** What is answered to a request over HTTP. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Sends an answer as Stripe does. */
export function reply(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_standin' }).end(body);
}

/** A refusal in the shape of Stripe's. */
export function errorAnswer(status: number, error: Readonly<Record<string, unknown>>): Answer {
  return { status, body: JSON.stringify({ error }) };
}

/** `metadata[a]=1&expand[0]=b` is `{ metadata: { a: '1' }, expand: { 0: 'b' } }`. */
export function paramsOf(encoded: URLSearchParams): Params {
  const params: Record<string, unknown> = {};
  for (const [name, value] of encoded) {
    const path = name.split(/\[|\]\[?/).filter((part) => part !== '');
    let at = params;
    for (const part of path.slice(0, -1)) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ''] = value;
  }
  return params as Params;
}

/** What Stripe's API answers to a request, and does to the objects. */
export function answerOf(objects: StripeObjects, method: string, path: string, params: Params): Answer {
  try {
    return { status: 200, body: JSON.stringify(perform(objects, method, path.split('/').slice(2), params)) };
  } catch (error) {
    if (error instanceof StripeRefusal) return errorAnswer(error.status, error.error);
    throw error;
  }
}

function perform(objects: StripeObjects, method: string, [kind, id = '', verb]: string[], params: Params): unknown {
  const intentId = String(params.payment_intent);
  switch (`${method} ${kind}`) {
    case 'POST customers':
      return objects.createCustomer(params);
    case 'DELETE customers':
      return objects.deleteCustomer(id);
    case 'POST setup_intents':
      return objects.createSetupIntent(params);
    case 'POST payment_intents':
      if (verb !== 'cancel') return objects.createIntent(params);
      objects.cancel(id);
      return objects.expanded(id);
    case 'POST refunds':
      return objects.createRefund(params);
    case 'POST payment_methods':
      return objects.detachMethod(id);
    case 'GET payment_methods':
      return objects.retrieveMethod(id);
    case 'GET payment_intents':
      return id === '' ? listOf(objects.listIntents(String(params.customer))) : objects.expanded(id);
    case 'GET refunds':
      return listOf(objects.refunds.filter((refund) => refund.payment_intent === intentId));
    case 'GET disputes':
      return listOf(objects.disputes.filter((dispute) => dispute.payment_intent === intentId));
    default:
      throw new StripeRefusal(404, {
        type: 'invalid_request_error',
        message: `Unrecognized request URL (${method} ${kind}).`,
      });
  }
}

function listOf(data: readonly unknown[]) {
  return { object: 'list', data, has_more: false, url: '/' };
}
