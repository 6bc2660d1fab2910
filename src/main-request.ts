import { z } from 'zod';
import type { Config } from './config.ts';

export interface ServiceOptions {
  /** The address of the service; this machine at PORT when absent. */
  readonly url?: string;
  readonly key?: string;
}

/** The connection to a running service. */
export interface Service {
  readonly address: string;
  readonly key: string;
}

// A service responds faster than this, also to a large pricing model.
const serviceTimeoutMs = 30_000;
const Refusal = z.object({ message: z.string() });

/** The service and key that the options name. */
export function serviceOf(config: Config, { url, key }: ServiceOptions): Service {
  const given = key ?? config.client.key;
  if (given === null) throw new Error('An API key is required: --key <key>, or TOLLKEEPER_KEY.');
  const address = url ?? config.client.url ?? `http://127.0.0.1:${config.port}`;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new Error(`--url: ${address} is not a URL such as http://127.0.0.1:3000`);
  // It must fit into a header.
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(given))
    throw new Error('--key: must consist of printable characters');
  return { address: address.replace(/\/+$/, ''), key: given };
}

/** Sends one request to the service. Throws without a response. */
export async function ask({ address, key }: Service, method: string, path: string, body?: unknown) {
  try {
    const response = await fetch(`${address}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(serviceTimeoutMs),
    });
    const text = await response.text();
    return { status: response.status, body: parsed(text) };
  } catch (error) {
    // `fetch failed` is uninformative; its cause has the reason.
    const { cause = error } = error as Error;
    const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new Error(`No service responds at ${address} (${reason}).`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Adds to a missing response where the service may be. */
export function unreachable(error: Error): never {
  throw new Error(`${error.message} Start it with npm start, or give its address with --url <url>.`);
}

/** The message of a refusal. Throws where the service does not know the key, or is another one. */
export function refusalOf({ address }: Service, { status, body }: { status: number; body: unknown }): string {
  const refusal = Refusal.safeParse(body);
  if (!refusal.success) throw new Error(`${address} does not respond like Tollkeeper (${status}).`);
  if (status === 401) throw new Error(`${address} does not know this key. List the keys with: tollkeeper keys list`);
  return refusal.data.message;
}
