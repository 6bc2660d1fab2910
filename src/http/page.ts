import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { cellOfRecord, refusedSlots, type WithCells } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import type { PageShare } from '../database/page-share.ts';
import { mayReach } from '../jobs/address-guard.ts';
import type { JobContext } from '../jobs/queue.ts';
import { type Html, html } from '../kernel/html.ts';
import { slotOf } from '../kernel/id.ts';
import { jsonIssues } from '../kernel/json.ts';
import { type Language, languageAsked } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { addressAsked, isFromOurPages } from './connections.ts';
import { sayWhenToRetry } from './load-shedding.ts';
import { networkOf, type RateLimit } from './rate-limit.ts';

interface PagesContext extends JobContext, WithCells {
  /** The public address of the service; when absent, the address that the request was sent to. */
  readonly publicUrl?: string | null;
  /** The limits of pages; unlimited when absent. */
  readonly rateLimit?: RateLimit;
  readonly pageShare?: PageShare;
}

/** The context of a page, besides the request. Its database is a share of that of the process. */
export interface PageContext extends JobContext {
  /** Counts a look or a form of a link that has proven valid, or of the visitor it is for. Refuses with `tooManyPages`. */
  readonly admit: (of: 'link' | 'visitor', name: string) => void;
  /** Lays out a document, of which pages may lay out few at a time. */
  readonly layOut: <Document>(act: () => Promise<Document>) => Promise<Document>;
  /** The slots that the request is about, where customers live in several cells. */
  readonly slots: readonly string[];
  /** The same in the cell of a record. */
  readonly inCellOf: (id: string) => Promise<PageContext>;
}

type Texts = Readonly<Record<string, string>>;

/** The browser's request. Only the first of repeated parameters counts. */
export interface PageRequest {
  readonly params: Texts;
  readonly query: Texts;
  /** The submitted form; empty for a GET. */
  readonly form: Texts;
  readonly cookies: Texts;
  /** The public address of the service, without a path. */
  readonly publicUrl: string;
  /** The network of the browser's address. Null for one that is not public, because it is that of a proxy. */
  readonly network: string | null;
  /** The address of the browser and its name of itself, for agreements that must note them. */
  readonly browser: { readonly ipAddress: string; readonly userAgent: string };
  /** The first language of the browser in which pages are written. */
  readonly language: Language;
}

/** A page as the browser shows it. It loads the resources named here and nothing else. */
export interface PageDocument {
  readonly language: Language;
  readonly title: string;
  readonly style: string;
  readonly body: Html;
  /** The sign of the window, as a data URI. */
  readonly icon?: string | null;
  /** Script URLs: on this server, or on an origin listed in `sources`. */
  readonly scripts?: readonly string[];
  /** Additional allowed origins by CSP directive: { 'frame-src': 'https://js.example.com' }. */
  readonly sources?: Texts;
  /** An address to redirect to immediately. */
  readonly goOnTo?: string | null;
}

/** An HttpOnly cookie. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  /** The path prefix that the cookie is sent to. */
  readonly path: string;
  readonly maxAgeSeconds: number;
}

export type PageAnswer =
  | { readonly show: PageDocument; readonly status?: number; readonly cookies?: readonly Cookie[] }
  /** A redirect after a form, so that a reload does not submit it again. */
  | { readonly goTo: string; readonly cookies?: readonly Cookie[] }
  | {
      readonly file: string | Buffer;
      readonly contentType: string;
      readonly securityPolicy?: string;
      /** Whether the address names the contents, so that browsers keep them. */
      readonly isPublic?: boolean;
    };

/**
 * A page for browsers. There is no API key: the address, or a cookie that it has set, proves the access. A POST is
 * accepted from our own pages only.
 */
export interface Page {
  readonly method: 'GET' | 'POST';
  /** With parameters as `:name`. */
  readonly path: `/${string}`;
  readonly handle: (context: PageContext, request: PageRequest) => Promise<PageAnswer>;
}

/** The reason why the requested page is not shown. */
export interface Refusal {
  readonly status: number;
  /** Null for an internal error. */
  readonly problem: Problem | null;
  readonly requestId: string;
  readonly language: Language;
}

export interface Pages {
  readonly pages: readonly Page[];
  readonly showRefusal: (refusal: Refusal) => PageDocument;
}

// Forms are filled in by hand, so they are small.
const maxFormBytes = 64 * 1024;
// Browsers send shorter ones.
const maxUserAgent = 500;
const formType = 'application/x-www-form-urlencoded';

// Its client should come again after a second; one that does not wait would keep the process busy with refusals.
const holdMs = 1_000;
// As many connections as one address may have.
const mostHeld = 1_000;

// The name of a public file changes with its contents.
const publicCaching = 'public, max-age=31536000, immutable';

/** Answers refusals late, so that a client asks once a second on each connection, whatever it intends. */
class Refusals {
  #held = 0;

  async hold(gone: AbortSignal): Promise<void> {
    if (this.#held >= mostHeld) return;
    this.#held += 1;
    await sleep(holdMs, undefined, { signal: gone }).catch(() => undefined);
    this.#held -= 1;
  }
}

/** Adds the pages to the server. `problemOf` maps an error to its refusal. */
export function registerPages(
  server: FastifyInstance,
  context: PagesContext,
  { pages, showRefusal }: Pages,
  problemOf: (error: unknown) => Problem | null,
): void {
  const refusals = new Refusals();
  server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      formType,
      { parseAs: 'buffer', bodyLimit: maxFormBytes },
      async (_: unknown, body: Buffer) => textsOf(new URLSearchParams(body.toString('utf8'))),
    );
    scope.setErrorHandler(async (error, request, reply) => {
      const problem = problemOf(error);
      if (problem?.problem === 'tooManyPages' || problem?.problem === 'overloaded')
        await refusals.hold(untilGone(reply));
      if (problem === null) request.log.error({ err: error }, 'page failed');
      const status = problem?.status ?? 500;
      sayWhenToRetry(reply, problem);
      const language = languageAsked(request.headers['accept-language']);
      return sendDocument(reply.code(status), showRefusal({ status, problem, requestId: request.id, language }));
    });
    for (const page of pages) {
      scope.route({
        method: page.method,
        url: page.path,
        bodyLimit: maxFormBytes,
        handler: async (request, reply) => {
          context.rateLimit?.admitPage('address', request.raw.socket.remoteAddress ?? '');
          const publicUrl = (context.publicUrl ?? addressAsked(request)).replace(/\/+$/, '');
          if (page.method === 'POST' && !isFromOurPages(request, publicUrl)) throw new Problem('formFromElsewhere');
          const handle = () => page.handle(contextOf(context, page, request, reply), pageRequest(request, publicUrl));
          const answer = await handle().catch(async (error: unknown) => {
            if (refusedSlots(error) === null) throw error;
            // Its customer may have moved a moment ago.
            await context.cells?.refresh();
            return handle();
          });
          return send(reply, answer, publicUrl.startsWith('https:'));
        },
      });
    }
    done();
  });
}

function contextOf(context: PagesContext, page: Page, request: FastifyRequest, reply: FastifyReply): PageContext {
  const { cells, pageShare: share, rateLimit } = context;
  const gone = untilGone(reply);
  const within = (slots: readonly string[], whole: Database, pool?: pg.Pool): PageContext => ({
    ...withDoing(context, page, request),
    slots,
    database: share?.database(gone, page.method === 'GET', pool) ?? whole,
    admit: (of, name) => rateLimit?.admitPage(of, name),
    async layOut(act) {
      const giveBack = await share?.documents.take(gone);
      return act().finally(giveBack);
    },
    async inCellOf(id) {
      const cell = await cellOfRecord(context, id);
      const slots = cells === undefined || cells.others()?.length === 0 ? [] : [slotOf(id)];
      return cell === null || cells === undefined
        ? within(slots, context.database)
        : within(slots, await cells.open(cell), await cells.poolOf(cell));
    },
  });
  return within([], context.database);
}

/** Aborted when the client closes the connection before it has the response. */
function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const end = () => gone.abort(new Problem('invalidRequest', { reason: 'The request ended early.' }));
  if (raw.destroyed || raw.socket?.destroyed) end();
  else raw.once('close', end);
  return gone.signal;
}

/** The audit log names a form by its page, like an API operation: `POST /checkout/{id}`. */
function withDoing(context: JobContext, { method, path }: Page, { id: requestId }: FastifyRequest): JobContext {
  if (method === 'GET') return context;
  const action = `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
  return { ...context, auditContext: { action, requestId, actor: 'customer' } };
}

function pageRequest(request: FastifyRequest, publicUrl: string): PageRequest {
  const texts = {
    params: request.params as Texts,
    query: firstOfEach(request.query as Record<string, string | string[]>),
    form: (request.body ?? {}) as Texts,
    cookies: cookiesOf(request.headers.cookie ?? ''),
  };
  const issues = jsonIssues(texts);
  if (issues.length > 0)
    throw new Problem('invalidRequest', { reason: issues.map(({ message }) => message).join('; ') }, issues);
  const network = mayReach(request.ip, []) ? networkOf(request.ip) : null;
  const userAgent = (request.headers['user-agent'] ?? '').slice(0, maxUserAgent);
  const browser = { ipAddress: request.ip, userAgent };
  return { ...texts, publicUrl, network, browser, language: languageAsked(request.headers['accept-language']) };
}

function textsOf(parameters: URLSearchParams): Texts {
  const texts: Record<string, string> = Object.create(null);
  for (const [name, value] of parameters) texts[name] ??= value;
  return texts;
}

function firstOfEach(query: Readonly<Record<string, string | string[]>>): Texts {
  return ownTexts(
    Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? (value[0] ?? '') : value]),
  );
}

function cookiesOf(header: string): Texts {
  const pairs = header.split(';').map((pair): [string, string] => {
    const [name = '', ...value] = pair.split('=');
    return [name.trim(), value.join('=').trim()];
  });
  return ownTexts(pairs.filter(([name]) => name !== '').reverse());
}

/** Texts without a prototype, so that a name finds only what was sent. */
function ownTexts(pairs: readonly (readonly [string, string])[]): Texts {
  return Object.assign(Object.create(null), Object.fromEntries(pairs));
}

function send(reply: FastifyReply, answer: PageAnswer, isSecure: boolean): FastifyReply {
  if ('file' in answer) {
    const { file, contentType, securityPolicy = "default-src 'none'; frame-ancestors 'none'", isPublic } = answer;
    withHeaders(reply, securityPolicy).type(contentType);
    return (isPublic === true ? reply.header('cache-control', publicCaching) : reply).send(file);
  }
  for (const cookie of answer.cookies ?? []) reply.header('set-cookie', cookieText(cookie, isSecure));
  if ('goTo' in answer) return withHeaders(reply, "default-src 'none'").redirect(answer.goTo, 303);
  return sendDocument(reply.code(answer.status ?? 200), answer.show);
}

function cookieText({ name, value, path, maxAgeSeconds }: Cookie, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** Headers of all pages: no caching, and no referrer, because the address itself grants access. */
function withHeaders(reply: FastifyReply, securityPolicy: string): FastifyReply {
  return reply
    .header('content-security-policy', securityPolicy)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
    .header('x-robots-tag', 'noindex');
}

function sendDocument(reply: FastifyReply, page: PageDocument): FastifyReply {
  return withHeaders(reply, securityPolicyOf(page)).type('text/html; charset=utf-8').send(textOf(page));
}

/** Allows only the resources that the page names. Its style is allowed by hash, so no other style applies. */
function securityPolicyOf({ style, scripts = [], sources = {} }: PageDocument): string {
  const origins = scripts.map((address) => (address.startsWith('/') ? "'self'" : new URL(address).origin));
  const directives: Record<string, string> = {
    'default-src': "'none'",
    'style-src': `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    ...(scripts.length > 0 ? { 'script-src': [...new Set(origins)].join(' ') } : {}),
    ...sources,
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
  };
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}

function textOf({ language, title, style, body, icon, scripts = [], goOnTo = null }: PageDocument): string {
  const goOn = goOnTo === null ? null : html`<meta http-equiv="refresh" content="${`0; url=${goOnTo}`}">`;
  const head = html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${icon && html`<link rel="icon" href="${icon}">`}${goOn}${scripts.map((address) => html`<script src="${address}" defer></script>`)}`;
  // The style is a constant of ours; CSS cannot be escaped like text.
  return `<!doctype html>
<html lang="${language}">
<head>
${head.text}
<style>${style}</style>
</head>
<body>
${body.text}
</body>
</html>
`;
}
