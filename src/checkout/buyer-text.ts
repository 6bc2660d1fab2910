import type { Problem, ProblemName } from '../kernel/problem.ts';
import type { Wording } from '../wording/wording.ts';
import { withoutCode } from './page-text.ts';

type RefusalText = keyof Wording['words']['refusals'];

/** Refusals in the words of a buyer. The message of a problem names records and routes, for the seller's program. */
const texts: Readonly<Partial<Record<ProblemName, RefusalText>>> = {
  currentSubscriptionExists: 'hasPlan',
  nextSubscriptionTooEarly: 'hasPlan',
  nextSubscriptionBooked: 'planBooked',
  discountAlreadyUsed: 'codeUsed',
  priceInactive: 'notForSale',
  priceNotFound: 'notForSale',
  priceNotSold: 'notForSale',
  activePriceNotFound: 'notForSale',
  customerArchived: 'closed',
  subscriptionNotActivatable: 'notActivatable',
  subscriptionTerminal: 'ended',
  subscriptionBehind: 'renewing',
  subscriptionPaused: 'paused',
  subscriptionNotAdjustable: 'notChangeable',
  notOfferedInPortal: 'notOffered',
  adjustmentScheduled: 'changeScheduled',
  adjustmentAwaitsPayment: 'changeUnpaid',
  adjustmentNeedsPeriod: 'notStarted',
  capacityBelowClaims: 'usesMore',
  paymentMethodRequired: 'methodNeeded',
  paymentMethodInUse: 'methodInUse',
  paymentMethodBeingCharged: 'beingPaid',
  nothingHoldsCredits: 'planNeeded',
  tooManyAttempts: 'tooManyAttempts',
  nothingOwed: 'nothingOwed',
  invoiceAlreadyBeingPaid: 'beingPaid',
  invoiceTooLarge: 'tooLarge',
  processorNotConfigured: 'noPayments',
  processorUnavailable: 'noPayments',
  linkInvalid: 'linkInvalid',
  portalClosed: 'accessEnded',
  formFromElsewhere: 'otherForm',
  tooManyPages: 'tooManyPages',
  overloaded: 'tooManyPages',
};

/** The refusal as a page shows it. A code that the order cannot have says so in the words of its field. */
export function buyerText(problem: Problem, wording: Wording): string {
  const isOfField = problem.problem === 'invalidRequest' || problem.problem === 'discountNotApplicable';
  const [issue] = isOfField ? problem.issues : [];
  if (issue !== undefined) return issueText(String(issue.path[0] ?? ''), issue.message, wording);
  const name = texts[problem.problem];
  if (name !== undefined) return wording.words.refusals[name];
  return wording.language === 'en' ? withoutCode(problem.message) : wording.words.refusals.other;
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

/**
 * The issue as a sentence: its message, such as `must be ...`, lacks the subject. It is in English, so the other
 * languages say less.
 */
export function issueText(field: string, message: string, { language, words }: Wording): string {
  if (language !== 'en') return field === 'discountCode' ? words.errors.discountCode : words.errors.other;
  const subject = /^addOn\d+$/.test(field) ? subjects.get('quantity') : subjects.get(field);
  const sentence = `${subject ?? 'This'} ${message}`;
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** The message after a declined card. The reason of the processor is in English. */
export function declinedText(reason: string, { language, words }: Wording): string {
  const { declined, tryAnother } = words.checkout;
  const text = language === 'en' ? withoutCode(reason).replace(/ Use another payment method\.$/, '') : '';
  const glue = language === 'ja' ? '' : ' ';
  return [declined, text, tryAnother].filter((part) => part !== '').join(glue);
}
