import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { openApiBytes } from './openapi-file.ts';
import type { RateLimit } from './rate-limit.ts';

// The browser blocks everything that the page would load from, or send to, other origins.
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";

const folder = '/docs';
// The document changes with the version only.
const keptSeconds = 300;
const paths = ['/', '/js/scalar.js', '/openapi.json', '/openapi.yaml'].map((path) => folder + path);

interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const front = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tollkeeper</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 36rem; margin: 15vh auto 0; padding: 0 1.25rem; font: 1rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.75rem; margin: 0 0 .5rem; }
a { color: LinkText; }
</style>
</head>
<body>
<main>
<h1>Tollkeeper</h1>
<p>This is a billing and entitlement service: plans, usage, credits, invoices and payments, by an API.</p>
<p><a href="/docs/">Read the API reference</a>, or fetch <a href="/openapi.json">openapi.json</a>.</p>
</main>
</body>
</html>
`;

// Large or costly answers for which nobody needs a key.
const withoutKey = new Set(['/', '/metrics', '/openapi.json', '/api/openapi', ...paths]);

/** Limits how often an address reads the documents that need no key. */
export function limitReaders(server: FastifyInstance, rateLimit: RateLimit): void {
  server.addHook('onRequest', (request, _reply, done) => {
    if (!withoutKey.has(request.routeOptions.url ?? '')) return done();
    try {
      rateLimit.admitReader(request.ip);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Adds `/openapi.json` and `/docs`, and where the dashboard was not built, `/` which says what this is. */
export function registerReference(server: FastifyInstance): void {
  if (!server.hasRoute({ method: 'GET', url: '/' }))
    server.get('/', async (_request, reply) => protect(reply).type('text/html; charset=utf-8').send(front));
  // The second is where existing clients look for it.
  for (const path of ['/openapi.json', '/api/openapi'])
    server.get(path, async (_request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .header('cache-control', `public, max-age=${keptSeconds}`)
        .send(await openApiBytes()),
    );
  let pages: Promise<ReadonlyMap<string, Page>> | undefined;
  for (const path of paths) {
    server.get(path, async (request, reply) => {
      // The page names its script relative to itself, and this server makes no difference between the two addresses.
      if (/^\/docs(\?|$)/.test(request.url)) return protect(reply).redirect(`${folder}/`, 301);
      pages ??= renderPages();
      const page = (await pages).get(path);
      return protect(reply)
        .headers(page?.headers ?? {})
        .send(page?.body);
    });
  }
}

function protect(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', contentSecurityPolicy);
}

/**
 * Loads Scalar and keeps what it serves as bytes. It is megabytes of script that few processes are asked for, so the
 * first request waits for it and the start does not.
 */
async function renderPages(): Promise<ReadonlyMap<string, Page>> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const content = JSON.parse(String(await openApiBytes())) as Record<string, unknown>;
  const scalar = fastify();
  await scalar.register(reference, { routePrefix: folder, configuration: { ...configuration, content } });
  const pages = new Map<string, Page>();
  for (const path of paths) {
    const { headers, rawPayload } = await scalar.inject(path);
    const kept = ['content-type', 'content-disposition', 'access-control-allow-origin', 'access-control-allow-methods'];
    const set = kept.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
    pages.set(path, { headers: Object.fromEntries(set), body: rawPayload });
  }
  await scalar.close();
  return pages;
}

const configuration = {
  pageTitle: 'Tollkeeper API',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  defaultOpenAllTags: false,
} as const;
