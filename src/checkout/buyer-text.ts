import type { Problem, ProblemName } from '../kernel/problem.ts';
import { withoutCode } from './page-text.ts';

const forSale = 'This is no longer for sale.';
const noPayments = 'Payments are not available at the moment. Please try again shortly.';

/** Refusals in the words of a buyer. The message of a problem names records and routes, for the seller's program. */
const texts: Readonly<Partial<Record<ProblemName, string>>> = {
  currentSubscriptionExists: 'You already have a plan.',
  nextSubscriptionTooEarly: 'You already have a plan.',
  nextSubscriptionBooked: 'Your next plan is already booked.',
  discountAlreadyUsed: 'You have already used this code.',
  priceInactive: forSale,
  priceNotFound: forSale,
  priceNotSold: forSale,
  activePriceNotFound: forSale,
  customerArchived: 'This account has been closed.',
  subscriptionNotActivatable: 'This subscription is already active, or its payment is still being processed.',
  subscriptionTerminal: 'This plan has already ended.',
  subscriptionBehind: 'Your plan is just being renewed. Please try again in a minute.',
  subscriptionPaused: 'Your plan is paused, so it cannot be changed right now.',
  subscriptionNotAdjustable: 'This plan cannot be changed right now. Please contact the seller.',
  notOfferedInPortal: 'This cannot be changed here. Please contact the seller.',
  adjustmentScheduled: 'A change of your plan is already scheduled.',
  adjustmentAwaitsPayment: 'The payment for your last change is still being processed.',
  adjustmentNeedsPeriod: 'Your plan has not started yet.',
  capacityBelowClaims: 'You use more than the new plan includes. Please reduce your use first.',
  paymentMethodRequired: 'Please add a card first.',
  nothingHoldsCredits: 'You need a plan before you can buy this.',
  tooManyAttempts: 'There were too many attempts. Nothing was charged. Please wait before you try again.',
  nothingOwed: 'There is nothing to pay.',
  invoiceAlreadyBeingPaid: 'Your payment is already being processed.',
  invoiceTooLarge: 'This amount is too large for a single payment.',
  processorNotConfigured: noPayments,
  processorUnavailable: noPayments,
};

/** The refusal as a page shows it. A code that the order cannot have says so in the words of its field. */
export function buyerText(problem: Problem): string {
  const isOfField = problem.problem === 'invalidRequest' || problem.problem === 'discountNotApplicable';
  const [issue] = isOfField ? problem.issues : [];
  if (issue !== undefined) return issueText(String(issue.path[0] ?? ''), issue.message);
  return texts[problem.problem] ?? withoutCode(problem.message);
}

const subjects = new Map<string, string>(
  Object.entries({
    quantity: 'The quantity',
    items: 'The order',
    discountCode: 'This code',
    name: 'The name',
    email: 'The email address',
    billingAddress: 'The address',
    token: 'The card',
    paymentMethodId: 'The payment method',
  }),
);

/** The issue as a sentence: its message, such as `must be ...`, lacks the subject. */
export function issueText(field: string, message: string): string {
  const subject = /^addOn\d+$/.test(field) ? subjects.get('quantity') : subjects.get(field);
  const words = `${subject ?? 'This'} ${message}`;
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
