import { syncPayment } from '../billing/settle-payment.ts';
import { cellsOf } from '../database/cells.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects, runInJob } from '../jobs/queue.ts';
import type { Language } from '../kernel/language.ts';
import { invalid, Problem, type ProblemName } from '../kernel/problem.ts';
import { createProcessors, findPayment } from '../payments/actions.ts';
import { type AttemptOutcome, outcomeOfError } from '../payments/actions-attempts.ts';
import type { CardConfirmation, Processors } from '../payments/processor.ts';
import { viewCheckout } from './actions.ts';
import { confirmCheckout, draftOf } from './actions-confirm.ts';
import type { CheckoutConfirmation, CheckoutView } from './checkout-view.ts';
import { sessionLink, withAttempt } from './jobs-attempts.ts';
import { bankAnswers } from './page-card.ts';

/** The checkout to confirm: its environment, from the link's key, and the service's address. */
interface CheckoutPlace {
  readonly environmentId: number;
  readonly publicUrl: string;
  readonly sessionId: string;
  /** The network of the buyer's address; absent where nobody came by one. */
  readonly network?: string | null;
  /** The language of the browser. */
  readonly language?: Language;
  /** The slots that it is about, where customers live in several cells. */
  readonly slots?: readonly string[];
}

/**
 * Confirms a checkout: stores the card, buys, charges, and returns the outcome. Call it outside any transaction.
 * Confirming twice, concurrently or later, pays once and returns the current state.
 *
 * Returns a view with the status `succeeded`, `pending` (payment in progress), `open` with its `failure` (declined: try
 * another card) or its `refusal`, `expired` or `failed`. Refuses with `checkoutSessionNotFound`, and with
 * `invalidRequest` invalid input, naming the field (`name`, `email`, `billingAddress`, `discountCode`, `quantity`,
 * `token`, `dueNow`). Refuses with `tooManyAttempts` after too many declined cards.
 */
export async function performCheckout(
  context: JobContext,
  place: CheckoutPlace,
  confirmation: CheckoutConfirmation,
): Promise<CheckoutView> {
  const confirm = async () => {
    const failure = await tryToConfirm(context, place, confirmation);
    const { answer: view } = await run(context, { ...place, readOnly: true }, (work, processors) =>
      viewCheckout(work, processors, place.sessionId, draftOf(confirmation), place.language),
    );
    return failure !== null && view.status === 'open' ? { ...view, ...failure } : view;
  };
  return withAttempt(context, sessionLink(place, 'payment'), confirm, outcomeOf);
}

/** Refused input has tried nothing. A card that must be confirmed first counts when its bank has refused it. */
function outcomeOf(result: { readonly answer: CheckoutView } | { readonly error: unknown }): AttemptOutcome {
  if ('error' in result) return outcomeOfError(result.error);
  const { status, failure, refusal, cardToConfirm, dueNow } = result.answer;
  if (status === 'succeeded') return dueNow > 0n ? 'paid' : 'passed';
  if (status === 'pending') return 'passed';
  return status === 'open' && refusal === null && failure !== null && cardToConfirm === null ? 'failed' : 'untried';
}

type Failure = Pick<CheckoutView, 'failure' | 'cardToConfirm'>;

/** Returns the reason why no card could be charged, null if one was or none was required. */
async function tryToConfirm(
  context: JobContext,
  place: CheckoutPlace,
  confirmation: CheckoutConfirmation,
): Promise<Failure | null> {
  const { sessionId } = place;
  let attachedId: string | null = null;
  try {
    do {
      const { answer, effects } = await run(context, place, (work, processors) =>
        confirmCheckout(work, processors, sessionId, confirmation, attachedId),
      );
      await runEffects(context, effects);
      attachedId = answer.awaits;
    } while (attachedId !== null);
    return null;
  } catch (error) {
    return failureOf(error);
  }
}

async function run<Answer>(
  context: JobContext,
  {
    environmentId,
    publicUrl,
    sessionId,
    slots = [],
    readOnly = false,
  }: CheckoutPlace & { readonly readOnly?: boolean },
  act: (work: Work, processors: Processors) => Promise<Answer>,
) {
  const outcome = await runInEnvironment(
    context.database,
    { environmentId },
    (work) => act(work, createProcessors(work.db, context.services)),
    {
      publicUrl,
      attended: true,
      auditContext: context.auditContext,
      readOnly,
      slots,
      cells: cellsOf(context.services),
    },
  );
  if (outcome === null) throw new Problem('checkoutSessionNotFound', { id: sessionId });
  return outcome;
}

/** Problems of the card or its processor, which become a failure instead of a refusal: the buyer may try again. */
const failures: ReadonlySet<ProblemName> = new Set<ProblemName>(['paymentMethodDeclined', 'processorUnavailable']);

function failureOf(error: unknown): Failure {
  if (!(error instanceof Problem)) throw error;
  // The code before the message is for programs.
  const failure = error.message.replace(/^\w+(?: \(\w+\))?: /, '');
  if (failures.has(error.problem)) return { failure, cardToConfirm: cardToConfirmOf(error) };
  const issue = error.issues.find(({ path }) => path.join('.') === 'paymentMethod.token');
  throw issue === undefined ? error : invalid(['token'], issue.message);
}

/** The confirmation with the bank that would allow storing the card; null if that does not help. */
export function cardToConfirmOf({ data }: Problem): CardConfirmation | null {
  return (data.nextAction as CardConfirmation | undefined) ?? null;
}

/**
 * Queries the status of a charge after its confirmation attempt, and applies the consequences. The buyer
 * gives its `answer` on a page of ours, which stands in for its bank.
 */
export async function performConfirmed(
  context: JobContext,
  environmentId: number,
  { paymentId, answer }: { readonly paymentId: string; readonly answer: string | undefined },
): Promise<void> {
  const processors = createProcessors(context.database, context.services);
  if (answer !== undefined) {
    const found = await runInJob(context, environmentId, async (work) => ({
      payment: await findPayment(work, paymentId),
      now: work.now,
    }));
    const { processor = '', processorReference = null } = found?.payment ?? {};
    if (found !== null && processorReference !== null)
      await processors.named(processor).answerBank?.(processorReference, answer === bankAnswers.confirm, found.now);
  }
  await syncPayment(context, processors, environmentId, paymentId);
}
