import {
  createEntitlementReader,
  type EntitlementReader,
  type EntitlementReaderOptions,
} from './entitlement-reader.ts';
import { Families } from './generated-operations.ts';
import { Transport } from './transport.ts';

export interface TollkeeperOptions {
  /** A secret key. It belongs on a server: it grants full access. */
  readonly key: string;
  /** The address of the service, such as `https://billing.example.com`. */
  readonly baseUrl: string;
  /** The fetch function; the global one when absent. */
  readonly fetch?: typeof fetch;
  /** The number of retries of a failed request: without a response, or with 408, 429 or 5xx. 2 when absent. */
  readonly maxRetries?: number;
  /** The timeout of one attempt in ms. 60,000 when absent. */
  readonly timeoutMs?: number;
}

/** The API of a Tollkeeper service, grouped by resource: `tollkeeper.customers.create(...)`. */
export class Tollkeeper extends Families {
  readonly #transport: Transport;

  /** Throws a TypeError if the key is missing or the address is invalid. */
  constructor({ key, baseUrl, fetch = globalThis.fetch, maxRetries = 2, timeoutMs = 60_000 }: TollkeeperOptions) {
    // A key that is invalid in a header would appear in fetch's error message.
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key must be a key of the API');
    const { protocol, host, pathname } = new URL(baseUrl);
    const transport = new Transport({
      key,
      baseUrl: `${protocol}//${host}${pathname.replace(/\/+$/, '')}`,
      // The fetch of browsers fails when called as a method of another object.
      fetch: (...request) => fetch(...request),
      maxRetries,
      timeoutMs,
    });
    super(transport);
    this.#transport = transport;
  }

  /** Creates a cache of customers' entitlements, for code that checks them often. */
  entitlementReader(options: EntitlementReaderOptions = {}): EntitlementReader {
    return createEntitlementReader(this.#transport, options);
  }
}
