import { advancePortalVersion, findCustomer } from '../customers/store.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import type { JobContext } from '../jobs/queue.ts';
import {
  type AttemptOutcome,
  type AttemptSubject,
  customerSubject,
  endAttempt,
  isLinkUsedUp,
  requireAttempt,
  takeAttempt,
} from '../payments/actions-attempts.ts';
import type { Attempt, AttemptKind } from '../payments/attempt.ts';
import { renderSession } from './actions-sessions.ts';
import { type CheckoutSessionRow, statusAt } from './checkout.ts';
import { closeSession, findSession } from './store.ts';

/** The link that an attempt is made with, in its environment. */
interface AttemptedLink {
  readonly environmentId: number;
  /** Reads what is counted; null if the link admits no attempt anyway. */
  readonly read: (work: Work) => Promise<Counted | null>;
}

interface Counted {
  readonly attempt: Attempt;
  readonly subject: () => Promise<AttemptSubject | null>;
  /** Closes the link, for good. */
  readonly close: (work: Work) => Promise<void>;
}

/**
 * Counts an attempt in a transaction of its own, makes it, and takes it off again unless it failed. A crash leaves it
 * counted. The last failure closes the link. Refuses with `tooManyAttempts`.
 */
export async function withAttempt<Answer>(
  context: JobContext,
  link: AttemptedLink,
  act: () => Promise<Answer>,
  outcomeOf: (result: { readonly answer: Answer } | { readonly error: unknown }) => AttemptOutcome,
): Promise<Answer> {
  const counted = await inLink(context, link, async (work) => {
    const read = await link.read(work);
    if (read !== null) await takeAttempt(work, context.services ?? {}, read.attempt, read.subject);
    return read;
  });
  const end = async (outcome: AttemptOutcome) => {
    if (counted !== null) await inLink(context, link, (work) => conclude(work, context, counted, outcome));
  };
  let answer: Answer;
  try {
    answer = await act();
  } catch (error) {
    await end(outcomeOf({ error }));
    throw error;
  }
  await end(outcomeOf({ answer }));
  return answer;
}

/** Refuses with `tooManyAttempts` a link that admits no attempt now, before the page is reckoned. */
export async function requireAttempts(context: JobContext, link: AttemptedLink): Promise<void> {
  await inLink(
    context,
    link,
    async (work) => {
      const read = await link.read(work);
      if (read !== null) await requireAttempt(work, context.services ?? {}, read.attempt);
    },
    true,
  );
}

async function inLink<Answer>(
  { database, auditContext }: JobContext,
  { environmentId }: AttemptedLink,
  act: (work: Work) => Promise<Answer>,
  readOnly = false,
): Promise<Answer | null> {
  const outcome = await runInEnvironment(database, { environmentId }, act, readOnly ? { readOnly } : { auditContext });
  return outcome?.answer ?? null;
}

async function conclude(
  work: Work,
  { services = {} }: JobContext,
  { attempt, close }: Counted,
  outcome: AttemptOutcome,
) {
  await endAttempt(work, services, attempt, outcome);
  if (outcome === 'failed' && (await isLinkUsedUp(work, services, attempt))) await close(work);
}

/** The attempts of a checkout session that is open. */
export function sessionLink({ environmentId, sessionId, network }: SessionPlace, kind: AttemptKind): AttemptedLink {
  return {
    environmentId,
    async read(work) {
      const session = await findSession(work, sessionId);
      if (session === null || statusAt(session, work.now) !== 'open') return null;
      return {
        attempt: { kind, link: sessionId, customerId: session.customerId, network: network ?? null },
        subject: () => sessionSubject(work, session),
        close: (closing) => closeSession(closing, sessionId),
      };
    },
  };
}

interface SessionPlace {
  readonly environmentId: number;
  readonly sessionId: string;
  readonly network?: string | null;
}

async function sessionSubject(work: Work, session: CheckoutSessionRow): Promise<AttemptSubject> {
  const { id, customerId, pricingModelId } = session;
  const customer = customerId === null ? null : await findCustomer(work, customerId);
  return {
    object: 'checkoutSession',
    objectId: id,
    pricingModelId,
    customer: { id: customer?.id ?? id, externalId: customer?.externalId ?? id },
    data: renderSession(work, session),
  };
}

/** The attempts with the link to the page of an invoice. Closing it closes all links of the customer. */
export function invoiceLink(
  { environmentId, invoiceId }: { readonly environmentId: number; readonly invoiceId: string },
  customerId: string,
  network: string | null,
): AttemptedLink {
  return {
    environmentId,
    read: async (work) => ({
      attempt: { kind: 'payment', link: invoiceId, customerId, network },
      subject: () => customerSubject(work, customerId),
      close: (closing) => advancePortalVersion(closing, customerId),
    }),
  };
}

/** The attempts with the portal links of a customer. Closing them makes the seller send a new one. */
export function portalLink(
  { environmentId, customerId, version }: { environmentId: number; customerId: string; version: number },
  network: string | null,
): AttemptedLink {
  return {
    environmentId,
    read: async (work) => ({
      attempt: { kind: 'payment', link: `${customerId} ${version}`, customerId, network },
      subject: () => customerSubject(work, customerId),
      close: (closing) => advancePortalVersion(closing, customerId),
    }),
  };
}
