import assert from 'node:assert/strict';
import { renderCustomer } from '../customers/actions.ts';
import { findCustomer } from '../customers/store.ts';
import { type DomainEvent, publish } from '../customers/store-events.ts';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { encryptionOf, type WithEncryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { chargeTask } from './actions.ts';
import { attachTask } from './actions-attach.ts';
import {
  type Attempt,
  type AttemptReport,
  type AttemptScope,
  attemptLimits,
  attemptScopes,
  secondsUntil,
  type WithAttemptLimits,
} from './attempt.ts';
import type { PaymentMethod } from './payment-method.ts';
import * as store from './store-attempts.ts';

type Services = WithAttemptLimits & WithEncryption;

/** The record that the event about a limit is about. */
export type AttemptSubject = Omit<DomainEvent, 'type' | 'attempts'>;

/**
 * `paid`: money has come. `passed`: a card or code was accepted. `untried`: refused before anything was tried. `unknown`: the
 * service failed, perhaps after a card was charged.
 */
export type AttemptOutcome = 'paid' | 'passed' | 'untried' | 'failed' | 'unknown';

/** The outcome of an attempt that was refused with this error. */
export function outcomeOfError(error: unknown): AttemptOutcome {
  if (!(error instanceof Problem) || error.status >= 500) return 'unknown';
  return error.code === 'PAYMENT_REQUIRED' ? 'failed' : 'untried';
}

const networkContext = 'network of an attempt';

function subjectIn(scope: AttemptScope, { link, customerId, network }: Attempt, services: Services): string | null {
  switch (scope) {
    case 'link':
      return link ?? null;
    case 'customer':
      return customerId ?? null;
    case 'network':
      // An address is personal, so only a MAC of it is stored.
      return network == null ? null : encryptionOf(services).mac(network, networkContext);
    case 'environment':
      return 'all';
    default:
      assert.fail(`unknown scope: ${scope satisfies never}`);
  }
}

function scopesOf(attempt: Attempt, services: Services): store.CountedScope[] {
  const limits = services.attemptLimits ?? attemptLimits;
  return attemptScopes.flatMap((scope) => {
    const subject = subjectIn(scope, attempt, services);
    return subject === null || limits[scope] === 0 ? [] : { scope, subject, limit: limits[scope] };
  });
}

/**
 * Counts an attempt before it is made, in the commit of this work. Publishes an event with the last one that is allowed.
 * Refuses with `tooManyAttempts` one that a scope does not allow now; the caller lets the work roll back.
 */
export async function takeAttempt(
  work: Work,
  services: Services,
  attempt: Attempt,
  subject: () => Promise<AttemptSubject | null>,
): Promise<void> {
  const scopes = scopesOf(attempt, services);
  if (scopes.length === 0) return;
  const taken = await store.takeAttempt(work, attempt.kind, scopes);
  const refused = taken.find(({ isRefused }) => isRefused);
  if (refused !== undefined) throw refusal(work, services, attempt, refused);
  const reached = taken.filter(({ isLast }) => isLast);
  const about = reached.length === 0 ? null : await subject();
  for (const { scope } of reached) report(work, services, attempt, { scope, result: 'limit_reached' });
  if (about === null) return;
  const { kind } = attempt;
  await publish(
    work,
    reached.map(({ scope }) => ({ ...about, type: 'attempts.limit_reached', attempts: { kind, scope } })),
  );
}

/** Refuses with `tooManyAttempts` what would be refused now, before anything is read for it. Takes nothing. */
export async function requireAttempt(work: Work, services: Services, attempt: Attempt): Promise<void> {
  const scopes = scopesOf(attempt, services);
  const refused = scopes.length === 0 ? null : await store.findRefusal(work, attempt.kind, scopes);
  if (refused !== null) throw refusal(work, services, attempt, refused);
}

function refusal(
  work: Work,
  services: Services,
  attempt: Attempt,
  { scope, until }: { readonly scope: AttemptScope; readonly until: Instant },
): Problem {
  report(work, services, attempt, { scope, result: 'refused' });
  const seconds = secondsUntil(until, work.now);
  return new Problem('tooManyAttempts', { seconds }, [], { retryAfterSeconds: seconds });
}

function report(
  { organizationId, environmentId }: Work,
  { onLimitedAttempt = () => undefined }: Services,
  { kind, link, customerId = null, network = null }: Attempt,
  what: Pick<AttemptReport, 'scope' | 'result'>,
): void {
  onLimitedAttempt({ organizationId, environmentId, kind, link: link ?? null, customerId, network, ...what });
}

/**
 * Takes an attempt off the counts again, unless it failed: then the next one waits. An unknown one stays counted. One that is
 * paid takes a failure with it: otherwise the usual declines of a busy seller would add up to a limit.
 */
export async function endAttempt(
  work: Work,
  services: Services,
  attempt: Attempt,
  outcome: AttemptOutcome,
): Promise<void> {
  const scopes = scopesOf(attempt, services);
  if (scopes.length === 0 || outcome === 'unknown') return;
  if (outcome === 'failed') return store.delayNextAttempt(work, attempt.kind, scopes);
  const count = outcome === 'paid' ? 2 : 1;
  await store.giveBackAttempt(work, attempt.kind, scopes, { count, endsWait: outcome !== 'untried' });
}

/** Whether the link has no attempt left, so that it is closed. */
export async function isLinkUsedUp(work: Work, services: Services, attempt: Attempt): Promise<boolean> {
  const link = scopesOf(attempt, services).find(({ scope }) => scope === 'link');
  return link !== undefined && store.isUsedUp(work, attempt.kind, link);
}

/** An event about the customer. */
export async function customerSubject(work: Work, customerId: string): Promise<AttemptSubject | null> {
  const customer = await findCustomer(work, customerId);
  if (customer === null) return null;
  const { id, externalId, pricingModelId } = customer;
  return {
    object: 'customer',
    objectId: id,
    pricingModelId,
    customer: { id, externalId },
    data: renderCustomer(work, customer),
  };
}

/** An attempt of a program of the seller. It has neither link nor address. */
function programAttempt(customerId: string): Attempt {
  return { kind: 'payment', customerId };
}

/**
 * Counts the charge that this work has requested for a customer. Call it at the end of the work: it locks the count of the
 * environment. Refuses with `tooManyAttempts`.
 */
export async function takeProgramAttempt(work: Work, services: Services = {}, customerId: string): Promise<void> {
  if (!work.effects.some(({ task }) => task === chargeTask)) return;
  await takeAttempt(work, services, programAttempt(customerId), () => customerSubject(work, customerId));
}

/**
 * Attaches a payment method as an attempt of a program. One that is declined at once is returned as its problem, before
 * anything of it was stored, so that the commit keeps it counted. Refuses with `tooManyAttempts`.
 */
export async function attachAsAttempt(
  work: Work,
  services: Services = {},
  customerId: string,
  attach: () => Promise<PaymentMethod>,
): Promise<PaymentMethod | Problem> {
  const attempt = programAttempt(customerId);
  await takeAttempt(work, services, attempt, () => customerSubject(work, customerId));
  try {
    const method = await attach();
    // An outside processor is asked after the commit, and `reportAsAttempt` ends the attempt.
    if (!work.effects.some(({ task }) => task === attachTask)) await endAttempt(work, services, attempt, 'passed');
    return method;
  } catch (error) {
    if (error instanceof Problem && error.problem === 'paymentMethodDeclined') return error;
    throw error;
  }
}

/**
 * Takes the attempt off the counts again. A declined one is not reported here and makes nobody wait, because a program may
 * sell one customer several things at once.
 */
export async function endProgramAttempt(
  work: Work,
  services: Services = {},
  { customerId, isPaid }: { readonly customerId: string; readonly isPaid: boolean },
): Promise<void> {
  await endAttempt(work, services, programAttempt(customerId), isPaid ? 'paid' : 'passed');
}

/**
 * Ends the attempt of a program to attach a payment method that an outside processor has been asked about. A refusal that
 * no card was tried for, such as of an unknown token, is returned as its problem, so that the commit takes it off the
 * counts.
 */
export async function reportAsAttempt(
  work: Work,
  services: Services = {},
  customerId: string,
  report: () => Promise<PaymentMethod>,
): Promise<PaymentMethod | Problem> {
  try {
    const method = await report();
    await endAttempt(work, services, programAttempt(customerId), 'passed');
    return method;
  } catch (error) {
    if (!(error instanceof Problem) || outcomeOfError(error) !== 'untried') throw error;
    await endAttempt(work, services, programAttempt(customerId), 'untried');
    return error;
  }
}

// A batch that is deleted at once without holding locks for long.
const forgetAtOnce = 10_000;

/** Deletes a batch of counts that nobody needs any more. Returns their number. */
export function forgetAttemptsOnce(database: Database): Promise<number> {
  return store.forgetAttempts(database, Date.now(), forgetAtOnce);
}
