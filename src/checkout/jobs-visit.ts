import { type PortalPass, readPortalKey } from '../customers/portal-link.ts';
import { findCustomer } from '../customers/store.ts';
import { cellsOf } from '../database/cells.ts';
import { runInEnvironment } from '../database/work.ts';
import type { Cookie, Page, PageAnswer, PageContext, PageRequest } from '../http/page.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { runEffects } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { createProcessors } from '../payments/actions.ts';
import { type AttemptOutcome, outcomeOfError } from '../payments/actions-attempts.ts';
import type { Wording } from '../wording/wording.ts';
import type { Visitor } from './actions-portal-view.ts';
import { buyerText } from './buyer-text.ts';
import { portalLink, withAttempt } from './jobs-attempts.ts';
import type { Visited } from './portal-parts.ts';

const cookieName = 'tollkeeper_portal';
const cookiePath = '/portal';
const formContext = 'portal form';

/** A request of a visitor with a valid link. */
export interface Visit extends Visited {
  readonly context: PageContext;
  readonly request: PageRequest;
  readonly pass: PortalPass;
  /** Whether it may change something: everything else only reads. */
  readonly isForm: boolean;
}

/** Handles the link: stores its pass in a cookie, so that the address no longer grants access. */
export function beginVisit(context: PageContext, { query }: PageRequest): PageAnswer | null {
  const { key } = query;
  if (key === undefined) return null;
  const pass = readPortalKey(encryptionOf(context.services), key, Date.now());
  if (pass === null) throw new Problem('portalClosed');
  return { goTo: cookiePath, cookies: [cookieOf(key, Math.ceil((pass.expiresAt - Date.now()) / 1000))] };
}

function cookieOf(value: string, maxAgeSeconds: number): Cookie {
  return { name: cookieName, value, path: cookiePath, maxAgeSeconds };
}

/** Deletes the cookie. */
export const endedCookie: Cookie = cookieOf('', 0);

/** The visit of the cookie. Refuses a form that no page of the same visit has created. */
async function visitOf(received: PageContext, request: PageRequest, isForm: boolean): Promise<Visit> {
  const encryption = encryptionOf(received.services);
  const key = request.cookies[cookieName] ?? '';
  const pass = readPortalKey(encryption, key, Date.now());
  if (pass === null) throw new Problem('portalClosed');
  if (isForm && !encryption.isMac(key, formContext, request.form.formToken ?? '')) throw new Problem('portalClosed');
  const context = await received.inCellOf(pass.customerId);
  context.admit('link', `${pass.customerId} ${pass.expiresAt}`);
  context.admit('visitor', pass.customerId);
  const { returnUrl } = pass;
  return { context, request, pass, isForm, returnUrl, formToken: encryption.mac(key, formContext) };
}

/** A page of the portal, limited to the data of the visit's customer. */
export function portalPage(
  method: Page['method'],
  path: Page['path'],
  handle: (visit: Visit) => Promise<PageAnswer>,
): Page {
  return {
    method,
    path,
    handle: async (context, request) => handle(await visitOf(context, request, method === 'POST')),
  };
}

/** Runs one unit of work for the customer of the visit, then its effects. Without a form it cannot write. */
export async function inVisit<Answer>(
  { context, pass, request, isForm }: Visit,
  act: (at: Visitor) => Promise<Answer>,
): Promise<Answer> {
  const { database, services, slots } = context;
  const outcome = await runInEnvironment(
    database,
    { environmentId: pass.environmentId },
    async (work) => {
      const customer = await findCustomer(work, pass.customerId);
      const isOpen = customer !== null && !customer.archived && customer.portalVersion === pass.version;
      if (!isOpen) throw new Problem('portalClosed');
      const { language } = request;
      const encryption = encryptionOf(services);
      return act({ work, customer, processors: createProcessors(work.db, services), encryption, language });
    },
    {
      publicUrl: request.publicUrl,
      attended: true,
      auditContext: context.auditContext,
      readOnly: !isForm,
      slots,
      cells: cellsOf(services),
    },
  );
  if (outcome === null) throw new Problem('portalClosed');
  await runEffects(context, outcome.effects);
  return outcome.answer;
}

/**
 * Does something that may charge or attach a card, as an attempt of the link. Declined cards count, and the last one
 * that is allowed closes the links of the customer.
 */
export function countedIn<Answer>(
  { context, request, pass }: Visit,
  act: () => Promise<Answer>,
  outcomeOf: (answer: Answer) => AttemptOutcome = () => 'passed',
): Promise<Answer> {
  return withAttempt(context, portalLink(pass, request.network), act, (result) => {
    if ('answer' in result) return outcomeOf(result.answer);
    // Another form may use up the links while this one charges a card, whose outcome is then refused.
    return isPortalClosed(result.error) ? 'unknown' : outcomeOfError(result.error);
  });
}

function isPortalClosed(error: unknown): boolean {
  return error instanceof Problem && error.problem === 'portalClosed';
}

/** The message of a refusal that the customer can act on. Other errors are thrown on. */
export function refusalText(error: unknown, wording: Wording): string {
  if (error instanceof Problem && error.status < 500 && error.code !== 'NOT_FOUND' && !isPortalClosed(error))
    return buyerText(error, wording);
  throw error;
}
