import {
  createEntitlementReader,
  type EntitlementReader,
  type EntitlementReaderOptions,
} from './entitlement-reader.ts';
import { Families } from './generated-operations.ts';
import { Transport } from './transport.ts';

export interface TollkeeperOptions {
  /** A secret key. It belongs on a server: who has it may do everything. */
  readonly key: string;
  /** Where the service is, such as `https://billing.example.com`. */
  readonly baseUrl: string;
  /** What requests are sent with; the global one when absent. */
  readonly fetch?: typeof fetch;
  /** How often a request that failed is sent again: without an answer, or with 408, 429 or 5xx. 2 when absent. */
  readonly maxRetries?: number;
  /** How long one attempt may take. 60,000 when absent. */
  readonly timeoutMs?: number;
}

/** The API of a Tollkeeper service, a family of operations at a time: `tollkeeper.customers.create(...)`. */
export class Tollkeeper extends Families {
  readonly #transport: Transport;

  /** Throws a TypeError when there is no key or the address is not one. */
  constructor({ key, baseUrl, fetch = globalThis.fetch, maxRetries = 2, timeoutMs = 60_000 }: TollkeeperOptions) {
    // What cannot stand in a header would be shown in the error of whoever refuses it.
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key must be a key of the API');
    const { protocol, host, pathname } = new URL(baseUrl);
    const transport = new Transport({
      key,
      baseUrl: `${protocol}//${host}${pathname.replace(/\/+$/, '')}`,
      // Called as a method of something else, the one of browsers refuses.
      fetch: (...request) => fetch(...request),
      maxRetries,
      timeoutMs,
    });
    super(transport);
    this.#transport = transport;
  }

  /** Reads what customers are entitled to and remembers it for a while, for code that asks often. */
  entitlementReader(options: EntitlementReaderOptions = {}): EntitlementReader {
    return createEntitlementReader(this.#transport, options);
  }
}
