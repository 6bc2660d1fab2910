import type { Draw, Drawing, Step } from './step.ts';
import { changeQuantityOf } from './steps-changes.ts';
import { changeOfFortune, newCustomer, newMethod } from './steps-customers.ts';
import { askWrongly } from './steps-invalid.ts';
import { recordPayment, refundPayment, retryPayment, takeInvoiceBack } from './steps-money.ts';
import { cancel, pauseIt, resumeIt, subscribeTo, takeCancelBack } from './steps-plans.ts';
import { claimSeats, consume, grantByHand, recordUsage, releaseSeat } from './steps-usage.ts';

interface Kind {
  readonly draw: Draw;
  readonly weight: number;
}

/** Everything that may be done, and how often in comparison. */
const kinds = {
  newCustomer: { draw: newCustomer, weight: 6 },
  newMethod: { draw: newMethod, weight: 6 },
  changeOfFortune: { draw: changeOfFortune, weight: 3 },
  subscribe: { draw: subscribeTo, weight: 12 },
  cancel: { draw: cancel, weight: 4 },
  takeCancelBack: { draw: takeCancelBack, weight: 3 },
  pause: { draw: pauseIt, weight: 4 },
  resume: { draw: resumeIt, weight: 4 },
  changeQuantity: { draw: changeQuantityOf, weight: 8 },
  recordUsage: { draw: recordUsage, weight: 16 },
  consume: { draw: consume, weight: 6 },
  grantByHand: { draw: grantByHand, weight: 3 },
  claimSeats: { draw: claimSeats, weight: 5 },
  releaseSeat: { draw: releaseSeat, weight: 3 },
  retryPayment: { draw: retryPayment, weight: 4 },
  takeInvoiceBack: { draw: takeInvoiceBack, weight: 3 },
  recordPayment: { draw: recordPayment, weight: 4 },
  refundPayment: { draw: refundPayment, weight: 4 },
  askWrongly: { draw: askWrongly, weight: 6 },
} as const satisfies Readonly<Record<string, Kind>>;
export type StepKind = keyof typeof kinds;

const weights = Object.fromEntries(Object.entries(kinds).map(([kind, { weight }]) => [kind, weight])) as Readonly<
  Record<StepKind, number>
>;

/** A kind, and a step of it where there is one now. */
export function drawStep(drawing: Drawing): [StepKind, Step | null] {
  const kind = drawing.random.weighted(weights);
  return [kind, kinds[kind].draw(drawing)];
}
