import type { Plan } from './catalogue.ts';
import { monthly } from './catalogue-usage.ts';
import { isSameInterval } from './oracle-arithmetic.ts';
import type { Invoice } from './oracle-records.ts';
import type { Random } from './random.ts';
import type { Wish } from './step.ts';
import type { StepKind } from './steps.ts';

/**
 * A plot: the steps by which a customer gets into situations that free draws hardly reach. Other steps come between
 * them, so none can rely on the one before. A step that is not possible then is left out.
 */
export type Plot = readonly Scene[];

/** `renewal`: to the next one of the customer of the plot. */
export type ClockMove = 'hours' | 'days' | 'due' | 'weeks' | 'renewal';

/** A step of a plot, or a move of the clock. */
export type Scene =
  | { readonly kind: StepKind; readonly wish: Wish }
  | { readonly kind: 'clock'; readonly move: ClockMove };

const step = (kind: StepKind, wish: Wish = {}): Scene => ({ kind, wish });
const clock = (move: ClockMove): Scene => ({ kind: 'clock', move });

const isPack = ({ reason }: Invoice) => reason === 'purchase';
const isPlan = ({ reason, total }: Invoice) => reason !== 'purchase' && reason !== 'one_off' && total > 0;
const isWritten = ({ reason }: Invoice) => reason === 'one_off';
const isAny = () => true;
const isOfLastPlan = (invoice: Invoice) => invoice === invoice.customer.invoices.findLast(isPlan);
const begins = ({ trialDays }: Plan) => trialDays === 0;
const isInvoicedBetween = (plan: Plan) => begins(plan) && plan.billsOverage && !isSameInterval(plan, monthly);
const endsWithMore = (plan: Plan) => begins(plan) && plan.commitment !== undefined;
const isMonthly = (plan: Plan) => begins(plan) && plan.unit === 'month' && plan.count === 1 && plan.recurring > 0;
const isDearer = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && plan.unitPrice >= before.unitPrice;
const isCheaper = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && plan.unitPrice < before.unitPrice;
const hasRhythm = ({ grantInterval }: Plan) => grantInterval !== undefined;
const hasOtherRhythm = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && hasRhythm(plan) !== hasRhythm(before);
const hasTrial = ({ trialDays }: Plan) => trialDays > 0;
const hasOtherInterval = (plan: Plan, before: Plan | null) => before !== null && !isSameInterval(plan, before);
const subscribes = step('subscribe', { plan: begins, isDiscounted: false });
const measures = step('recordOthers', { isMeasured: true });
const useUp = step('consume', { isMuch: true });

/** Changes and packs under net terms, a pack that is refunded before it is paid, declines, unpaid and recovered. */
const paysLater: Plot = [
  step('changeNetTerms', { isGood: true }),
  step('subscribe', { plan: isMonthly, isDiscounted: false }),
  // Without a payment the first decline ends the plan.
  step('recordPayment', { invoice: isPlan, isPart: false }),
  step('buyPack'),
  step('recordPayment', { invoice: isPack, isPart: true }),
  step('refundPayment', { invoice: isPack, isPart: true }),
  step('recordPayment', { invoice: isPack, isPart: false }),
  step('changePlan', { isNow: true, plan: isDearer }),
  clock('hours'),
  step('changePlan', { isNow: true, plan: isDearer }),
  step('newMethod', { isGood: false }),
  step('payInvoice', { invoice: isPlan }),
  step('payInvoice', { invoice: isAny }),
  clock('weeks'),
  clock('weeks'),
  clock('weeks'),
  clock('weeks'),
  step('recordPayment', { invoice: isAny, isPart: false }),
  step('recordPayment', { invoice: isAny, isPart: false }),
  step('newMethod', { isGood: true }),
  step('payInvoice', { invoice: isAny }),
  step('payInvoice', { invoice: isAny }),
  step('payInvoice', { invoice: isAny }),
  step('payInvoice', { invoice: isAny }),
];

/** Changes of interval with a discount, kept value of a pause, and credits used ahead or taken back by hand. */
const changesInterval: Plot = [
  step('newMethod', { isGood: true }),
  step('buyPack'),
  step('subscribe', { plan: isMonthly, isDiscounted: true }),
  clock('days'),
  step('takeCreditBack', { isMuch: true }),
  step('recordUsage', { isMuch: true }),
  step('pause', { isNow: true }),
  clock('hours'),
  step('resume'),
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
  step('recordUsage', { isMuch: true }),
  clock('hours'),
  step('changePlan', { isNow: true, anchor: 'now', plan: hasOtherInterval }),
  step('pause', { isNow: true }),
  clock('hours'),
  step('resume'),
  step('recordUsage', { isMuch: true }),
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
];

/** Pauses after refunds, and refunds of what a pause keeps. */
const getsMoneyBack: Plot = [
  step('newMethod', { isGood: true }),
  step('buyPack'),
  step('subscribe', { plan: begins }),
  clock('days'),
  step('refundPayment', { invoice: isOfLastPlan, isPart: true }),
  step('pause', { isNow: true }),
  step('refundPayment', { invoice: isOfLastPlan, isPart: true }),
  clock('hours'),
  step('resume'),
  step('refundPayment', { invoice: isPack, isPart: true }),
  clock('weeks'),
  step('refundPayment', { invoice: isOfLastPlan, isPart: true }),
  clock('hours'),
  step('pause', { isNow: true }),
  step('refundPayment', { invoice: isOfLastPlan, isPart: false }),
  clock('weeks'),
  step('resume'),
];

/** First payments that fail, and returns to the free plan. */
const comesAndGoes: Plot = [
  step('newMethod', { isGood: false }),
  step('grantByHand'),
  step('subscribe', { plan: begins, isDiscounted: false }),
  step('newMethod', { isGood: true }),
  step('buyPack'),
  step('subscribe', { plan: begins, isDiscounted: false }),
  step('recordUsage', { isMuch: true }),
  step('cancel', { isNow: true }),
  step('changeOfFortune', { isGood: false }),
  step('subscribe', { plan: begins, isDiscounted: false }),
  step('changeOfFortune', { isGood: true }),
  step('subscribe', { plan: begins, isDiscounted: false }),
  step('cancel', { isNow: false }),
  clock('weeks'),
  step('refundPayment', { invoice: isPack }),
];

/** Usage that is invoiced within long periods, and failures, pauses, changes and the end in the middle of its month. */
const usesBetweenRenewals: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: isInvoicedBetween }),
  step('changePrices'),
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('changeThreshold'),
  clock('weeks'),
  clock('weeks'),
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('changeOfFortune', { isGood: false }),
  clock('weeks'),
  clock('weeks'),
  step('changeOfFortune', { isGood: true }),
  clock('days'),
  step('recordUsage', { isMuch: true }),
  step('pause', { isNow: true }),
  clock('weeks'),
  step('recordUsage', { isMuch: true }),
  step('resume'),
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('changePlan', { isNow: true, plan: hasOtherInterval }),
  step('recordUsage', { isMuch: true }),
  clock('weeks'),
  step('recordOthers'),
  clock('weeks'),
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('cancel', { isNow: true }),
];

/** Credits that come by an interval of their own, through a failed renewal, pauses, the end and a return. */
const getsCreditsOften: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: hasRhythm, isDiscounted: false }),
  step('recordUsage', { isMuch: true }),
  clock('weeks'),
  step('recordUsage', {}),
  clock('due'),
  step('pause', { isNow: true }),
  clock('days'),
  step('resume'),
  step('recordUsage', { isMuch: true }),
  clock('weeks'),
  step('changeOfFortune', { isGood: false }),
  clock('weeks'),
  clock('weeks'),
  step('changeOfFortune', { isGood: true }),
  step('payInvoice', { invoice: isAny }),
  step('recordUsage', { isMuch: true }),
  step('pause', { isNow: true }),
  clock('weeks'),
  step('resume'),
  step('recordUsage', { isMuch: true }),
  clock('due'),
  step('cancel', { isNow: true }),
  step('subscribe', { plan: hasRhythm }),
  clock('weeks'),
  step('recordUsage', { isMuch: true }),
  clock('weeks'),
];

/** Changes between credits by the period and by an interval of their own, used up, through pauses and moves of the anchor. */
const changesRhythm: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: begins, isDiscounted: false }),
  step('recordUsage', { isMuch: true }),
  clock('days'),
  step('changePlan', { isNow: true, plan: hasRhythm }),
  step('recordUsage', {}),
  clock('due'),
  step('changePlan', { isNow: true, plan: hasOtherRhythm }),
  useUp,
  clock('days'),
  step('pause', { isNow: true }),
  clock('weeks'),
  step('resume'),
  step('changePlan', { isNow: true, plan: hasRhythm }),
  step('moveBillingAnchor'),
  clock('due'),
  useUp,
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
  clock('weeks'),
  step('changePlan', { isNow: false, plan: hasRhythm }),
  clock('weeks'),
  step('askForQuote'),
  useUp,
  clock('due'),
  step('changePlan', { isNow: true, plan: hasOtherRhythm }),
  clock('weeks'),
];

/** Commitments and plans that are billed at the end, through changes, pauses and the end. */
const paysAtTheEnd: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: endsWithMore }),
  step('recordOthers'),
  clock('days'),
  step('changeThreshold'),
  step('changePrices'),
  step('changePlan', { isNow: true }),
  step('recordUsage', { isMuch: true }),
  clock('weeks'),
  step('changePlan', { isNow: true, plan: endsWithMore }),
  step('changeOfFortune', { isGood: false }),
  clock('due'),
  step('changeOfFortune', { isGood: true }),
  clock('days'),
  step('pause', { isNow: true }),
  clock('days'),
  step('resume'),
  step('changePlan', { isNow: true, plan: isDearer }),
  step('recordOthers'),
  clock('days'),
  step('cancel', { isNow: true }),
  step('subscribe', { plan: endsWithMore }),
  clock('weeks'),
  step('changePlan', { isNow: true, plan: hasOtherInterval }),
  clock('days'),
  step('cancel', { isNow: false }),
  clock('weeks'),
];

/** Quantities that are held over time, through changes of their prices, of the plan, and of the time that counts. */
const holdsQuantities: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: ({ billsOverage }) => billsOverage }),
  measures,
  clock('days'),
  measures,
  step('changePrices'),
  clock('days'),
  step('changeThreshold'),
  measures,
  clock('due'),
  step('changePlan', { isNow: true }),
  measures,
  step('pause', { isNow: true }),
  measures,
  clock('days'),
  step('resume'),
  measures,
  clock('weeks'),
  step('changePlan', { isNow: false }),
  measures,
  step('takeInvoiceBack'),
  clock('weeks'),
  step('changeOfFortune', { isGood: false }),
  measures,
  clock('due'),
  step('takeInvoiceBack'),
  step('changeOfFortune', { isGood: true }),
  measures,
  clock('weeks'),
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
  clock('days'),
  measures,
  step('moveBillingAnchor'),
  measures,
  clock('weeks'),
  step('cancel', { isNow: true }),
];

/** The tricks of a dishonest customer, who wants more units than it pays for. */
const tricks: readonly Plot[] = [
  // Trial after trial.
  [step('subscribe', { plan: hasTrial }), step('consume', { isMuch: true }), step('cancel', { isNow: true })],
  [step('subscribe', { plan: hasTrial }), step('changePlan', { isNow: true, plan: isDearer }), useUp],
  [step('subscribe', { plan: hasTrial }), step('cancel', { isNow: false }), step('takeCancelBack'), clock('weeks')],
  // Declined cards.
  [step('newMethod', { isGood: false }), subscribes, subscribes, step('buyPack'), subscribes],
  [step('changeOfFortune', { isGood: false }), subscribes, step('buyPack'), clock('due'), useUp],
  [step('testCards'), step('testCards'), clock('hours')],
  // Quantities of pages.
  [step('cancel', { isNow: true }), step('chooseQuantity', { plan: hasTrial }), useUp],
  [step('cancel', { isNow: true }), step('chooseQuantity', { plan: begins }), useUp],
  [step('subscribe', { plan: hasTrial }), step('changeInPortal'), clock('weeks'), step('changeInPortal'), useUp],
  // Codes.
  [step('guessCodes'), step('guessCodes'), step('guessCodes')],
  [step('subscribe', { plan: begins, isDiscounted: true }), useUp, step('cancel', { isNow: true })],
  // Money back after use.
  [step('buyPack'), useUp, step('refundPayment', { invoice: isPack, isPart: false }), useUp],
  [useUp, step('refundPayment', { invoice: isOfLastPlan, isPart: false }), step('pause', { isNow: true })],
  // Pauses to gain time or units.
  [useUp, step('pause', { isNow: true }), clock('days'), step('resume'), useUp],
  [useUp, step('pause', { isNow: true }), clock('weeks'), step('resume'), useUp],
  [useUp, step('pause', { isNow: true }), step('recordUsage', { isMuch: true }), step('cancel', { isNow: true })],
  // Ends, and ends that are undone.
  [step('cancel', { isNow: false }), useUp, step('takeCancelBack'), clock('due'), useUp],
  [useUp, step('cancel', { isNow: true }), useUp, subscribes, useUp],
  // Cheaper after use, and dearer again.
  [
    useUp,
    step('changePlan', { isNow: true, plan: isCheaper }),
    step('changePlan', { isNow: true, plan: isDearer }),
    useUp,
  ],
  [
    useUp,
    step('changePlan', { isNow: true, plan: hasOtherRhythm }),
    step('changePlan', { isNow: true, anchor: 'now', plan: hasOtherInterval }),
    useUp,
  ],
  [useUp, step('changePlan', { isNow: true, anchor: 'now', plan: hasOtherInterval }), useUp],
  [useUp, step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }), useUp],
];
const tricksOfPlot = 7;

/** A dishonest customer: tricks in any order, and honest payments between them, without which there is little to gain. */
function dishonest(random: Random): Plot {
  const scenes: Scene[] = [step('newMethod', { isGood: true })];
  for (let left = tricksOfPlot; left > 0; left--) {
    if (random.chance(0.4)) scenes.push(step('changeOfFortune', { isGood: true }), step('newMethod', { isGood: true }));
    if (random.chance(0.6)) scenes.push(subscribes);
    if (random.chance(0.5)) scenes.push(clock(random.chance(0.5) ? 'hours' : 'days'));
    scenes.push(...(random.pick(tricks) ?? []));
  }
  return scenes;
}

/** Renewals that a balance pays, and credit notes of invoices that the seller writes. */
const keepsABalance: Plot = [
  step('changeTerms'),
  step('newMethod', { isGood: true }),
  subscribes,
  step('changeMoney', { isGood: true }),
  step('writeInvoice'),
  step('settleDraft', { isNow: true }),
  step('creditLine'),
  clock('due'),
  step('payInvoice', { invoice: isWritten }),
  step('creditLine'),
  step('pause', { isNow: true }),
  clock('days'),
  step('resume'),
  step('creditLine'),
  clock('due'),
  step('takeNoteBack'),
  step('takeInvoiceBack'),
  step('changeMoney', { isGood: true }),
  step('writeInvoice'),
  step('settleDraft', { isNow: true }),
  clock('due'),
  step('refundPayment', { invoice: isWritten, isPart: true }),
  step('cancel', { isNow: true }),
];

/** Several discounts on one subscription, put on and taken off between renewals, changes, usage and pauses. */
const getsDiscounts: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: begins, isDiscounted: true }),
  step('putDiscountOn', { isNow: true }),
  step('putDiscountOn', { isNow: true }),
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('addItem', { isNow: true }),
  clock('due'),
  step('recordOthers'),
  step('changePlan', { isNow: true, plan: isDearer }),
  step('putDiscountOn', { isNow: true }),
  clock('due'),
  step('recordOthers'),
  step('takeDiscountOff'),
  step('pause', { isNow: true }),
  clock('days'),
  step('resume'),
  step('changePlan', { isNow: true, plan: isDearer }),
  step('refundPayment', { invoice: isOfLastPlan, isPart: true }),
  step('recordOthers'),
  step('putDiscountOn', { isNow: true }),
  step('addItem', { isNow: true }),
  step('addItem', { isNow: true }),
  clock('due'),
  step('takeInvoiceBack'),
  step('addItem', { isNow: true }),
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
  clock('due'),
  step('cancel', { isNow: true }),
];

const comesLate = step('recordUsage', { isLate: true });
const othersComeLate = step('recordOthers', { isLate: true });
const isReviewable = (plan: Plan) => begins(plan) && plan.unit !== 'year';

/** Renewals that wait as drafts: with late usage and lines by hand, finalized on time, early, by what comes next, and voided. */
const reviewsRenewals: Plot = [
  step('changeReview', { isGood: true }),
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: isReviewable }),
  useUp,
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('addItem', { isNow: true }),
  clock('renewal'),
  comesLate,
  othersComeLate,
  step('reviewDraft'),
  step('changeOfAddress'),
  clock('due'),
  othersComeLate,
  clock('renewal'),
  comesLate,
  step('pause', { isNow: true }),
  step('reviewDraft', { isNow: true }),
  step('resume'),
  step('recordOthers'),
  step('changeThreshold'),
  step('changeReview', { isGood: true }),
  clock('renewal'),
  othersComeLate,
  step('changePlan', { isNow: true, plan: isDearer }),
  step('moveBillingAnchor'),
  step('changeMoney', { isGood: true }),
  step('changeReview', { isGood: true }),
  step('recordUsage', { isMuch: true }),
  clock('renewal'),
  step('changePrices'),
  comesLate,
  step('changeOfFortune', { isGood: false }),
  clock('due'),
  clock('renewal'),
  step('reviewDraft'),
  clock('due'),
  step('changeOfFortune', { isGood: true }),
  step('payInvoice', { invoice: isAny }),
  step('recordOthers'),
  clock('renewal'),
  othersComeLate,
  step('putDiscountOn', { isNow: true }),
  clock('renewal'),
  step('reviewDraft'),
  comesLate,
  step('cancel', { isNow: true }),
];

const besides = step('subscribe', { plan: isMonthly, isBeside: true });

/** Several subscriptions whose renewals of one day are one invoice: paid, declined and tried again, void, with a balance. */
const consolidates: Plot = [
  step('changeConsolidation', { isGood: true }),
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: isMonthly, isBeside: true, isDiscounted: true }),
  besides,
  besides,
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  step('addItem', { isNow: true }),
  clock('renewal'),
  othersComeLate,
  clock('due'),
  clock('due'),
  step('changeReview', { isGood: true }),
  step('changeMoney', { isGood: true }),
  step('recordOthers'),
  clock('renewal'),
  comesLate,
  step('changePlan', { isNow: false }),
  clock('due'),
  clock('due'),
  step('pause', { isNow: true }),
  step('changeOfFortune', { isGood: false }),
  clock('weeks'),
  step('recordPayment', { invoice: isPlan, isPart: true }),
  step('resume'),
  step('changeOfFortune', { isGood: true }),
  step('payInvoice', { invoice: isPlan }),
  besides,
  clock('renewal'),
  step('recordOthers'),
  step('reviewDraft'),
  clock('due'),
  step('changePlan', { isNow: true, plan: isDearer }),
  step('changeOfFortune', { isGood: false }),
  clock('renewal'),
  clock('due'),
  clock('due'),
  step('takeInvoiceBack'),
  step('changeOfFortune', { isGood: true }),
  clock('renewal'),
  clock('due'),
  step('cancel', { isNow: true }),
  step('changeOfFortune', { isGood: false }),
  clock('weeks'),
  step('cancel', { isNow: true }),
  clock('weeks'),
  step('changeOfFortune', { isGood: true }),
  step('payInvoice', { invoice: isPlan }),
];

const creditsPlan = step('creditLine', { invoice: isPlan });

/** Credit notes of invoices of a subscription: by refund and balance once they are paid, by offset while they are open. */
const creditsRenewals: Plot = [
  step('newMethod', { isGood: true }),
  step('subscribe', { plan: begins, isDiscounted: true }),
  useUp,
  step('recordUsage', { isMuch: true }),
  step('recordOthers'),
  clock('days'),
  creditsPlan,
  step('changePlan', { isNow: true, plan: isDearer }),
  clock('renewal'),
  creditsPlan,
  creditsPlan,
  step('pause', { isNow: true }),
  creditsPlan,
  clock('days'),
  step('resume'),
  step('takeNoteBack'),
  step('recordOthers'),
  step('changeOfFortune', { isGood: false }),
  clock('renewal'),
  creditsPlan,
  creditsPlan,
  step('takeNoteBack'),
  step('recordPayment', { invoice: isPlan, isPart: true }),
  creditsPlan,
  step('changeOfFortune', { isGood: true }),
  clock('due'),
  step('payInvoice', { invoice: isAny }),
  creditsPlan,
  step('recordOthers'),
  step('changePlan', { isNow: true, anchor: 'unchanged', plan: hasOtherInterval }),
  creditsPlan,
  clock('renewal'),
  step('takeInvoiceBack'),
  creditsPlan,
  step('cancel', { isNow: true }),
  creditsPlan,
];

const plots: readonly ((random: Random) => Plot)[] = [
  () => paysLater,
  () => changesInterval,
  () => getsMoneyBack,
  () => comesAndGoes,
  () => usesBetweenRenewals,
  () => paysAtTheEnd,
  () => getsCreditsOften,
  () => changesRhythm,
  () => holdsQuantities,
  () => keepsABalance,
  () => getsDiscounts,
  () => reviewsRenewals,
  () => creditsRenewals,
  () => consolidates,
  dishonest,
];

/** An endless sequence in which each plot comes as often as the others. Some steps of a plot are missing. */
export function* plotsInTurn(random: Random): Generator<Plot, never> {
  for (;;) {
    const left = [...plots];
    while (left.length > 0) {
      const [plot] = left.splice(random.below(left.length), 1);
      yield (plot?.(random) ?? []).filter(() => random.chance(0.95));
    }
  }
}
