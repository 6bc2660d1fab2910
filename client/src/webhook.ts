import type { WebhookPayload } from './generated-types.ts';
import { webCrypto } from './web-crypto.ts';

/** The message is not from the service, was altered, or is too old. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** Headers as the Fetch API or as Node has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** The maximum clock difference in seconds, which prevents replays. 300 when absent. */
  readonly toleranceSeconds?: number;
}

/**
 * Verifies a message to a webhook and returns its payload. The message must be signed with the webhook's secret
 * (`whsec_...`), in the headers `webhook-*` of Standard Webhooks or `svix-*`. `payload` is the raw body, not parsed.
 * Throws a WebhookVerificationError otherwise.
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookPayload> {
  const prefix = headerOf(headers, 'webhook-id') === undefined ? 'svix' : 'webhook';
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((part) => {
    const value = headerOf(headers, `${prefix}-${part}`);
    if (value === undefined) throw new WebhookVerificationError(`The header ${prefix}-${part} is missing.`);
    return value;
  }) as [string, string, string];
  checkTime(timestamp, toleranceSeconds);
  const body = bytesOf(payload);
  const signed = concatenated(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  if (!(await isSigned(signed, signatures, secret))) {
    throw new WebhookVerificationError(
      'No signature of the message is right: check the secret, and pass the body as it came.',
    );
  }
  return JSON.parse(new TextDecoder().decode(body));
}

function checkTime(timestamp: string, toleranceSeconds: number): void {
  if (!/^\d{1,15}$/.test(timestamp)) throw new WebhookVerificationError('The timestamp is not a number of seconds.');
  const age = Date.now() / 1000 - Number(timestamp);
  if (Math.abs(age) > toleranceSeconds) {
    throw new WebhookVerificationError(
      `The message was signed ${Math.round(age)} seconds ago, and ${toleranceSeconds} are allowed.`,
    );
  }
}

/** During a rotation there are two signatures, of which one must be valid. */
async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string, secret: string): Promise<boolean> {
  const { subtle } = await webCrypto();
  const keyBytes = fromBase64(secret.replace(/^whsec_/, ''));
  if (keyBytes === null || keyBytes.length === 0)
    throw new TypeError('secret must be the secret of a webhook: whsec_...');
  const key = await subtle.importKey('raw', keyBytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const candidates = signatures.split(' ').filter((each) => each.startsWith('v1,'));
  // The platform compares in constant time.
  const results = await Promise.all(
    candidates.map(async (candidate) => {
      const signature = fromBase64(candidate.slice('v1,'.length));
      return signature !== null && (await subtle.verify('HMAC', key, signature, signed));
    }),
  );
  return results.includes(true);
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const key = Object.keys(record).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : record[key];
  return typeof value === 'object' ? value.join(',') : value;
}

function bytesOf(payload: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload);
  return payload instanceof Uint8Array ? payload : new Uint8Array(payload);
}

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The decoded bytes, or null if the text is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
