import { lookAtPayment } from '../billing/sync-payment.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { invalid, Problem, type ProblemName } from '../kernel/problem.ts';
import { createProcessors } from '../payments/actions.ts';
import type { CardConfirmation, Processors } from '../payments/processor.ts';
import { viewCheckout } from './actions.ts';
import { confirmCheckout, draftOf } from './actions-confirm.ts';
import type { CheckoutConfirmation, CheckoutView } from './checkout-view.ts';

/** Where a checkout is confirmed: the environment that the link's key names, and where the service is reached. */
export interface CheckoutPlace {
  readonly environmentId: number;
  readonly publicUrl: string;
  readonly sessionId: string;
}

/**
 * Confirms a checkout: keeps the card, buys, charges, and answers how that ended. Its transactions are its own, so call
 * it outside of any. Who confirms twice, at once or later, pays once and is answered how it is.
 *
 * Answers a view whose status is `succeeded`, `pending` (the money is under way), `open` with its `failure` (declined:
 * try another card) or its `refusal`, `expired` or `failed`. Refuses with `checkoutSessionNotFound`, and what was
 * entered wrongly with `invalidRequest` that names the field (`name`, `email`, `billingAddress`, `discountCode`,
 * `quantity`, `token`, `dueNow`).
 */
export async function performCheckout(
  context: JobContext,
  place: CheckoutPlace,
  confirmation: CheckoutConfirmation,
): Promise<CheckoutView> {
  const { sessionId } = place;
  const failure = await tryToConfirm(context, place, confirmation);
  const { answer: view } = await run(context, place, (work, processors) =>
    viewCheckout(work, processors, sessionId, draftOf(confirmation)),
  );
  return failure !== null && view.status === 'open' ? { ...view, ...failure } : view;
}

type Failure = Pick<CheckoutView, 'failure' | 'cardToConfirm'>;

/** Answers why no card could be charged, null where one could or none was needed. */
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
  { environmentId, publicUrl, sessionId }: CheckoutPlace,
  act: (work: Work, processors: Processors) => Promise<Answer>,
) {
  const outcome = await runInEnvironment(
    context.database,
    { environmentId },
    (work) => act(work, createProcessors(work.db, context.services)),
    { publicUrl, customerPresent: true, doing: context.doing },
  );
  if (outcome === null) throw new Problem('checkoutSessionNotFound', { id: sessionId });
  return outcome;
}

/** What is the card's or its processor's doing, in place of a refusal: the buyer may try again. */
const failures: ReadonlySet<ProblemName> = new Set<ProblemName>(['paymentMethodDeclined', 'processorUnavailable']);

function failureOf(error: unknown): Failure {
  if (!(error instanceof Problem)) throw error;
  // The code before the words is for programs.
  const failure = error.message.replace(/^\w+(?: \(\w+\))?: /, '');
  if (failures.has(error.problem)) return { failure, cardToConfirm: cardToConfirmOf(error) };
  const issue = error.issues.find(({ path }) => path.join('.') === 'paymentMethod.token');
  throw issue === undefined ? error : invalid(['token'], issue.message);
}

/** What the buyer has to confirm to its bank so that the card can be kept after all; null where that does not help. */
export function cardToConfirmOf({ data }: Problem): CardConfirmation | null {
  return (data.nextAction as CardConfirmation | undefined) ?? null;
}

/** Asks the processor how a charge is that was just confirmed, or was not, and does what follows. */
export async function performConfirmed(context: JobContext, environmentId: number, paymentId: string): Promise<void> {
  await lookAtPayment(context, createProcessors(context.database, context.services), environmentId, paymentId);
}
