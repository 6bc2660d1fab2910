import { type Customer, isInTheWay } from './oracle-records.ts';
import type { Draw, Drawing, Step } from './step.ts';
import { changePlan, changePrices, moveBillingAnchor, moveTrial, takeChangeBack } from './steps-changes.ts';
import { claimSeats, releaseSeats, setLimit } from './steps-claims.ts';
import { buyPack, grantByHand, takeCreditBack } from './steps-credits.ts';
import { changeOfAddress, changeOfFortune, eraseOne, newCustomer, newMethod } from './steps-customers.ts';
import { putDiscountOn, takeDiscountOff } from './steps-discounts.ts';
import {
  addItem,
  changeMoney,
  changeTerms,
  creditLine,
  removeItem,
  settleDraft,
  takeNoteBack,
  writeInvoice,
} from './steps-documents.ts';
import { releaseHold, settleHold, takeHold } from './steps-holds.ts';
import { askWrongly } from './steps-invalid.ts';
import { limitSpending } from './steps-limits.ts';
import { recordOthers } from './steps-meters.ts';
import {
  changeAccess,
  changeNetTerms,
  changeThreshold,
  payInvoice,
  recordPayment,
  refundPayment,
  retryPayment,
  sayHowItEnded,
  takeInvoiceBack,
  writeInvoiceOff,
} from './steps-money.ts';
import { changeInPortal, chooseQuantity, guessCodes, testCards } from './steps-pages.ts';
import { bookNext, cancel, pauseIt, resumeIt, subscribeTo, takeCancelBack } from './steps-plans.ts';
import { grantInPool, takePoolCreditBack } from './steps-pools.ts';
import { askForQuote } from './steps-quotes.ts';
import { changeConsolidation, changeReview, reviewDraft } from './steps-reviews.ts';
import { setAutoTopUp } from './steps-top-ups.ts';
import { consume, recordUsage } from './steps-usage.ts';
import { grantUsers, tellUser } from './steps-users.ts';

interface Kind {
  readonly draw: Draw;
  readonly weight: number;
}

/** All steps with their relative frequency. */
const kinds = {
  newCustomer: { draw: newCustomer, weight: 10 },
  newMethod: { draw: newMethod, weight: 9 },
  changeOfAddress: { draw: changeOfAddress, weight: 2 },
  changeOfFortune: { draw: changeOfFortune, weight: 3 },
  subscribe: { draw: subscribeTo, weight: 12 },
  cancel: { draw: cancel, weight: 6 },
  bookNext: { draw: bookNext, weight: 8 },
  takeCancelBack: { draw: takeCancelBack, weight: 3 },
  pause: { draw: pauseIt, weight: 4 },
  resume: { draw: resumeIt, weight: 4 },
  changePlan: { draw: changePlan, weight: 40 },
  changePrices: { draw: changePrices, weight: 8 },
  moveBillingAnchor: { draw: moveBillingAnchor, weight: 14 },
  moveTrial: { draw: moveTrial, weight: 5 },
  takeChangeBack: { draw: takeChangeBack, weight: 2 },
  recordUsage: { draw: recordUsage, weight: 16 },
  recordOthers: { draw: recordOthers, weight: 12 },
  consume: { draw: consume, weight: 6 },
  grantUsers: { draw: grantUsers, weight: 3 },
  tellUser: { draw: tellUser, weight: 7 },
  takeHold: { draw: takeHold, weight: 6 },
  settleHold: { draw: settleHold, weight: 4 },
  releaseHold: { draw: releaseHold, weight: 2 },
  buyPack: { draw: buyPack, weight: 6 },
  grantByHand: { draw: grantByHand, weight: 5 },
  takeCreditBack: { draw: takeCreditBack, weight: 4 },
  grantInPool: { draw: grantInPool, weight: 6 },
  takePoolCreditBack: { draw: takePoolCreditBack, weight: 3 },
  limitSpending: { draw: limitSpending, weight: 9 },
  setAutoTopUp: { draw: setAutoTopUp, weight: 7 },
  claimSeats: { draw: claimSeats, weight: 5 },
  releaseSeats: { draw: releaseSeats, weight: 3 },
  setLimit: { draw: setLimit, weight: 3 },
  sayHowItEnded: { draw: sayHowItEnded, weight: 12 },
  retryPayment: { draw: retryPayment, weight: 4 },
  takeInvoiceBack: { draw: takeInvoiceBack, weight: 3 },
  writeInvoiceOff: { draw: writeInvoiceOff, weight: 2 },
  changeNetTerms: { draw: changeNetTerms, weight: 6 },
  changeThreshold: { draw: changeThreshold, weight: 3 },
  changeAccess: { draw: changeAccess, weight: 1 },
  recordPayment: { draw: recordPayment, weight: 4 },
  payInvoice: { draw: payInvoice, weight: 5 },
  refundPayment: { draw: refundPayment, weight: 4 },
  writeInvoice: { draw: writeInvoice, weight: 7 },
  settleDraft: { draw: settleDraft, weight: 9 },
  creditLine: { draw: creditLine, weight: 8 },
  takeNoteBack: { draw: takeNoteBack, weight: 3 },
  changeMoney: { draw: changeMoney, weight: 6 },
  changeTerms: { draw: changeTerms, weight: 4 },
  changeReview: { draw: changeReview, weight: 4 },
  changeConsolidation: { draw: changeConsolidation, weight: 3 },
  reviewDraft: { draw: reviewDraft, weight: 9 },
  addItem: { draw: addItem, weight: 8 },
  removeItem: { draw: removeItem, weight: 2 },
  putDiscountOn: { draw: putDiscountOn, weight: 10 },
  takeDiscountOff: { draw: takeDiscountOff, weight: 4 },
  guessCodes: { draw: guessCodes, weight: 2 },
  testCards: { draw: testCards, weight: 2 },
  chooseQuantity: { draw: chooseQuantity, weight: 3 },
  changeInPortal: { draw: changeInPortal, weight: 3 },
  askForQuote: { draw: askForQuote, weight: 4 },
  askWrongly: { draw: askWrongly, weight: 4 },
  erase: { draw: eraseOne, weight: 2 },
} as const satisfies Readonly<Record<string, Kind>>;
export type StepKind = keyof typeof kinds;

const weights = Object.fromEntries(Object.entries(kinds).map(([kind, { weight }]) => [kind, weight])) as Readonly<
  Record<StepKind, number>
>;

/** Independent topics, even for one customer: such steps may run in any order. */
const topics: Readonly<Partial<Record<StepKind, string>>> = {
  recordUsage: 'usage',
  recordOthers: 'usage',
  claimSeats: 'seats',
  releaseSeats: 'seats',
  newMethod: 'methods',
  changeOfAddress: 'address',
};

const attempts: ReadonlySet<StepKind> = new Set([
  'subscribe',
  'buyPack',
  'newMethod',
  'guessCodes',
  'testCards',
  'chooseQuantity',
  'changeInPortal',
]);

/** Whether it may count an attempt to pay or to enter a code. */
export function makesAttempt(kind: StepKind): boolean {
  return attempts.has(kind);
}

export function commute(one: StepKind, other: StepKind): boolean {
  const of = [topics[one], topics[other]];
  // Usage that reaches a threshold is charged, and taxed.
  if (of.includes('usage') && !of.includes('seats')) return false;
  return of[0] !== undefined && of[1] !== undefined && of[0] !== of[1];
}

/** Steps whose rules ask which of several subscriptions they are for. */
const ofOnePlan: ReadonlySet<StepKind> = new Set([
  'buyPack',
  'grantByHand',
  'takeCreditBack',
  'askForQuote',
  'guessCodes',
  'testCards',
  'chooseQuantity',
  'changeInPortal',
]);

function hasOnePlan({ subscriptions }: Customer): boolean {
  return subscriptions.filter((each) => isInTheWay(each) && !each.isFree).length <= 1;
}

/** A kind, and a step of it if one is possible now. */
export function drawStep(drawing: Drawing, wished: StepKind | null = null): [StepKind, Step | null] {
  const kind = wished ?? drawing.random.weighted(weights);
  const customers = ofOnePlan.has(kind) ? drawing.customers.filter(hasOnePlan) : drawing.customers;
  return [kind, kinds[kind].draw({ ...drawing, customers })];
}
