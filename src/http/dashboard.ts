import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** One built file, with its compressed forms. */
interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<string, Buffer>;
}

/** The built dashboard, in memory: only the files that were there at the start can be asked for. */
export interface Dashboard {
  readonly page: string;
  readonly assets: ReadonlyMap<string, Asset>;
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};
const endings: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' };
// The name of an asset contains its hash.
const assetCaching = 'public, max-age=31536000, immutable';
const noncePlaceholder = 'NONCE';
const nonceBytes = 18;

/** Reads the built dashboard; null where it was not built. */
export async function readDashboard(folder: string): Promise<Dashboard | null> {
  const page = await readFile(join(folder, 'page.html'), 'utf8').catch(() => null);
  if (page === null) return null;
  const place = join(folder, 'assets');
  const names = (await readdir(place)).filter((name) => types[endingOf(name)] !== undefined);
  const assets = await Promise.all(names.map(async (name) => [name, await readAsset(place, name)] as const));
  return { page, assets: new Map(assets) };
}

async function readAsset(place: string, name: string): Promise<Asset> {
  const encoded = new Map<string, Buffer>();
  for (const [encoding, ending] of Object.entries(endings)) {
    const bytes = await readFile(join(place, name + ending)).catch(() => null);
    if (bytes !== null) encoded.set(encoding, bytes);
  }
  return { type: types[endingOf(name)] ?? '', plain: await readFile(join(place, name)), encoded };
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Adds `/` and `/assets/`. */
export function registerDashboard(server: FastifyInstance, dashboard: Dashboard): void {
  server.get('/', async (_request, reply) => sendPage(reply, dashboard));
  server.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const asset = dashboard.assets.get(request.params.name);
    if (asset === undefined) return reply.callNotFound();
    const accepted = String(request.headers['accept-encoding'] ?? '');
    const encoding = Object.keys(endings).find((name) => asset.encoded.has(name) && accepted.includes(name));
    if (encoding !== undefined) reply.header('content-encoding', encoding);
    return reply
      .type(asset.type)
      .header('cache-control', assetCaching)
      .header('vary', 'accept-encoding')
      .header('x-content-type-options', 'nosniff')
      .send(encoding === undefined ? asset.plain : asset.encoded.get(encoding));
  });
}

/**
 * Answers a deep link with the page, which shows what the address names. Null for a request of a program, and for a path
 * whose first segment belongs to a route.
 */
export function answerDeepLink(
  { dashboard, taken }: { readonly dashboard: Dashboard; readonly taken: ReadonlySet<string> },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | null {
  const isForBrowser = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
  const [path = ''] = request.url.split('?');
  const isTaken = taken.has(path.split('/')[1] ?? '');
  return isForBrowser && !isTaken ? sendPage(reply, dashboard) : null;
}

/** The page may run its own script only, and only its own styles or those with the nonce of this answer. */
function sendPage(reply: FastifyReply, { page }: Dashboard): FastifyReply {
  const nonce = randomBytes(nonceBytes).toString('base64url');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    // The typefaces of a document whose preview it shows are in the document.
    "font-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  return reply
    .code(200)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
    .header('x-robots-tag', 'noindex')
    .send(page.replaceAll(noncePlaceholder, nonce));
}
