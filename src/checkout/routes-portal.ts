import { cancelScheduledAdjustment } from '../billing/adjust.ts';
import { cancelSubscription, uncancelSubscription } from '../billing/cancel.ts';
import { payInvoice, reportPaid, reportRetry, retryPayment } from '../billing/collect-by-hand.ts';
import { changeDetails } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { advancePortalVersion } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { documentHtml, documentPdf } from '../documents/actions.ts';
import type { PrintedDocument } from '../documents/document.ts';
import { releaseResource } from '../entitlements/actions-claims.ts';
import type { Page, PageAnswer } from '../http/page.ts';
import { getDocument } from '../invoicing/actions-document.ts';
import { findInvoice } from '../invoicing/store.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { documentPolicy } from '../kernel/html.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { findPaymentMethod, getPayment } from '../payments/actions.ts';
import { attachPaymentMethod, makeDefaultPaymentMethod, reportAttachment } from '../payments/actions-attach.ts';
import { deletePaymentMethod } from '../payments/actions-change-method.ts';
import type { PaymentRow } from '../payments/store.ts';
import { customerReasons } from '../subscriptions/cancellation.ts';
import { type Wording, wordingOf } from '../wording/wording.ts';
import { requireOffered, viewOverview, viewPortal } from './actions-portal-view.ts';
import { declinedText } from './buyer-text.ts';
import { readMethod } from './card-entry.ts';
import { cardToConfirmOf, performConfirmed } from './jobs.ts';
import { beginVisit, countedIn, endedCookie, inVisit, portalPage, refusalText, type Visit } from './jobs-visit.ts';
import { plainPage } from './page-layout.ts';
import { enteredBilling, knownBilling, readBilling } from './portal-details.ts';
import { overviewPage } from './portal-page.ts';
import { billingPage, type CardStep, cancelPage, type EnteredCancellation, newCardPage } from './portal-step.ts';
import {
  chartDays,
  mayCancel,
  mayKeep,
  mayPay,
  mayUncancel,
  type PortalSubscription,
  type PortalView,
} from './portal-view.ts';

function view(visit: Visit): Promise<PortalView> {
  return inVisit(visit, viewPortal);
}

function idOf({ request }: Visit): string {
  return request.params.id ?? '';
}

function done(word: string): PageAnswer {
  return { goTo: `/portal?done=${word}` };
}

type Say = (wording: Wording) => string;

// About a month, as most plans are billed.
const usualDays = 30;

/** The overview, with the reason why something was not done. */
async function showOverview(visit: Visit, problem: Say | null = null, status = 200): Promise<PageAnswer> {
  const { query } = visit.request;
  const days = chartDays.find((count) => String(count) === query.days) ?? usualDays;
  const shown = await inVisit(visit, (visitor) => viewOverview(visitor, days));
  const message = problem === null ? null : problem(shown.wording);
  return { show: overviewPage(shown, visit, query.done ?? '', message), status };
}

/** The overview with a refusal that the customer can act on. Other errors are thrown on. */
function showRefused(visit: Visit, error: unknown): Promise<PageAnswer> {
  return showOverview(visit, (wording) => refusalText(error, wording), 409);
}

const overview = portalPage('GET', '/portal', (visit) => showOverview(visit));

/** Handles the link itself before looking for a cookie. */
const entrance: Page = {
  ...overview,
  handle: async (context, request) => beginVisit(context, request) ?? overview.handle(context, request),
};

/** Closes the links too, because the cookie is one and the history of the browser has it. */
const leave = portalPage('POST', '/portal/leave', async (visit) => {
  await inVisit(visit, ({ work, customer }) => advancePortalVersion(work, customer.id));
  return { goTo: '/portal/left', cookies: [endedCookie] };
});
const left: Page = {
  method: 'GET',
  path: '/portal/left',
  async handle(_, { language }) {
    const wording = wordingOf(language);
    const { signedOut, signedOutText } = wording.words.portal;
    return { show: plainPage(wording, signedOut, signedOutText) };
  },
};

function ownDocument(visit: Visit) {
  return inVisit(visit, async ({ work, customer }) => {
    await requireOwnInvoice(work, customer, idOf(visit));
    return getDocument(work, idOf(visit), {
      encryption: encryptionOf(visit.context.services),
      publicUrl: work.publicUrl,
    });
  });
}

type Render<Form> = (document: PrintedDocument) => Promise<Form>;

/** Renders a document in the share of the threads that pages have. */
function layOut<Form>({ context }: Visit, render: Render<Form>, document: PrintedDocument): Promise<Form> {
  return context.layOut(() => render(document));
}

async function requireOwnInvoice(work: Work, customer: CustomerRow, id: string): Promise<void> {
  const invoice = await findInvoice(work, id);
  if (invoice?.customerId !== customer.id || invoice.status === 'draft') throw new Problem('invoiceNotFound', { id });
}

const invoiceHtml = portalPage('GET', '/portal/invoices/:id', async (visit) => ({
  file: await layOut(visit, documentHtml, await ownDocument(visit)),
  contentType: 'text/html; charset=utf-8',
  securityPolicy: documentPolicy,
}));
const invoiceFile = portalPage('GET', '/portal/invoices/:id/pdf', async (visit) => ({
  file: await layOut(visit, documentPdf, await ownDocument(visit)),
  contentType: 'application/pdf',
}));

/** Changes a subscription if the portal offers that, and shows the result or the refusal on the overview. */
async function changeOwn(
  visit: Visit,
  { word, may }: { readonly word: string; readonly may: (subscription: PortalSubscription) => boolean },
  act: (work: Work, subscription: PortalSubscription) => Promise<unknown>,
): Promise<PageAnswer> {
  try {
    await inVisit(visit, async ({ work, customer }) => {
      await act(work, await requireOffered(work, customer, idOf(visit), may));
    });
    return done(word);
  } catch (error) {
    return showRefused(visit, error);
  }
}

const isEnding = ({ status }: PortalSubscription) => status === 'cancellation_scheduled';

async function showCancel(visit: Visit, entered?: EnteredCancellation): Promise<PageAnswer> {
  const frame = await view(visit);
  const subscription = frame.subscriptions.find(({ id }) => id === idOf(visit));
  if (subscription === undefined) throw new Problem('subscriptionNotFound', { id: idOf(visit) });
  if (!mayCancel(subscription)) return { goTo: '/portal' };
  return { show: cancelPage(frame, visit, subscription, entered), status: entered === undefined ? 200 : 422 };
}
const askCancel = portalPage('GET', '/portal/subscriptions/:id/cancel', (visit) => showCancel(visit));
/** A form that is sent twice, or behind a request of the seller, finds the end scheduled and keeps it. */
const cancel = portalPage('POST', '/portal/subscriptions/:id/cancel', (visit) => {
  const may = (subscription: PortalSubscription) => isEnding(subscription) || mayCancel(subscription);
  const { reason: chosen = '', comment: text = '' } = visit.request.form;
  // A form breaks lines by two characters, of which a browser counts one.
  const comment = text.replaceAll('\r\n', '\n').trim();
  if (comment.length > textLimits.description) return showCancel(visit, { reason: chosen, comment });
  return changeOwn(visit, { word: 'canceled', may }, async (work, subscription) => {
    if (isEnding(subscription)) return;
    const reason = customerReasons.find((each) => each === chosen);
    const said = { reason, comment: comment === '' ? null : comment };
    await cancelSubscription(work, subscription.id, { timing: 'at_end_of_current_billing_period', ...said }, true);
  });
});
const uncancel = portalPage('POST', '/portal/subscriptions/:id/uncancel', (visit) =>
  changeOwn(visit, { word: 'uncanceled', may: mayUncancel }, (work) => uncancelSubscription(work, idOf(visit))),
);
/** Releases what somebody holds of a resource. A form that is sent twice finds it released. */
const release = portalPage('POST', '/portal/subscriptions/:id/release', (visit) => {
  const { resourceSlug = '', claimId = '' } = visit.request.form;
  return changeOwn(visit, { word: 'released', may: mayCancel }, (work) =>
    releaseResource(work, idOf(visit), { resourceSlug, claimIds: [claimId] }),
  );
});
const keep = portalPage('POST', '/portal/subscriptions/:id/keep', (visit) =>
  changeOwn(visit, { word: 'kept', may: mayKeep }, (work) => cancelScheduledAdjustment(work, idOf(visit))),
);

/** Charges the amount owed to the subscription's payment method. A decline takes back and ends nothing. */
const pay = portalPage('POST', '/portal/subscriptions/:id/pay', async (visit) => {
  try {
    return await paying(visit, async () => {
      const requested = await inVisit(visit, async ({ work, customer }) => {
        await requireOffered(work, customer, idOf(visit), mayPay);
        return retryPayment(work, idOf(visit), null, { onRequest: true });
      });
      return inVisit(visit, ({ work }) => reportRetry(work, requested));
    });
  } catch (error) {
    return showRefused(visit, error);
  }
});

/** Charges the amount that the button has named, or less, of an open invoice to the customer's default payment method. */
const payOne = portalPage('POST', '/portal/invoices/:id/pay', async (visit) => {
  const id = idOf(visit);
  const { shownDue = '' } = visit.request.form;
  try {
    return await paying(visit, async () => {
      const requested = await inVisit(visit, async ({ work, customer }) => {
        await requireOwnInvoice(work, customer, id);
        const asked = await payInvoice(work, id, null);
        if (!/^\d{1,20}$/.test(shownDue) || asked.payment.amount > BigInt(shownDue))
          throw invalid(['shownDue'], isMore);
        return asked;
      });
      return inVisit(visit, ({ work }) => reportPaid(work, requested));
    });
  } catch (error) {
    const isOther = error instanceof Problem && error.issues.some(({ path }) => path[0] === 'shownDue');
    return isOther ? showOverview(visit, ({ words }) => words.portal.amountChanged, 409) : showRefused(visit, error);
  }
});

// A credit note may have been voided, or a payment taken back.
const isMore = 'is less than what is due now: show the customer this amount first';

/** Pays as one attempt of the link. */
async function paying(visit: Visit, pay: () => Promise<{ readonly payment: PaymentRow }>): Promise<PageAnswer> {
  const { payment } = await countedIn(visit, pay, ({ payment: { status } }) =>
    status === 'succeeded' ? 'paid' : 'passed',
  );
  return afterPayment(payment);
}

function afterPayment({ status }: PaymentRow): PageAnswer {
  return status === 'requires_action' ? { goTo: '/portal' } : done(status === 'succeeded' ? 'paid' : 'paying');
}

/** The processor knows the outcome of the customer's confirmation with the bank. */
const confirmed = portalPage('POST', '/portal/payments/:id/confirmed', async (visit) => {
  const toConfirm = (await view(visit)).paymentToConfirm;
  if (toConfirm?.id !== idOf(visit)) return { goTo: '/portal' };
  const { context, pass } = visit;
  const answer = visit.request.form.bankAnswer;
  await performConfirmed(context, pass.environmentId, { paymentId: toConfirm.id, answer });
  const payment = await inVisit(visit, ({ work }) => getPayment(work, toConfirm.id));
  if (payment.status === 'succeeded') return done('paid');
  return payment.status === 'failed' || payment.status === 'canceled'
    ? showOverview(visit, (wording) => declinedText(payment.failureMessage ?? '', wording), 402)
    : { goTo: '/portal' };
});

async function showNewCard(visit: Visit, step: CardStep, status: number) {
  return { show: newCardPage(await view(visit), visit, step), status };
}

const askCard = portalPage('GET', '/portal/payment-methods', (visit) => showNewCard(visit, {}, 200));
const addCard = portalPage('POST', '/portal/payment-methods', async (visit) => {
  const { processor, currency, wording } = await view(visit);
  const card = readMethod(visit.request, { ...processor, currency }, { now: Date.now(), wording });
  if ('errors' in card) return showNewCard(visit, card, 422);
  try {
    await countedIn(visit, async () => {
      const attached = await inVisit(visit, ({ work, processors, customer }) =>
        attachPaymentMethod(work, processors.defaultIn(work), {
          customerId: customer.id,
          ...card,
          default: true,
          automaticallyUpdateSubscriptions: true,
        }),
      );
      await inVisit(visit, ({ work }) => reportAttachment(work, attached));
    });
    return done('added');
  } catch (error) {
    const isDeclined = error instanceof Problem && error.problem === 'paymentMethodDeclined';
    const toConfirm = isDeclined ? cardToConfirmOf(error) : null;
    if (toConfirm !== null) return showNewCard(visit, { toConfirm, message: wording.words.checkout.bankAsksCard }, 200);
    const status = error instanceof Problem && error.status === 429 ? 429 : 402;
    const message = isDeclined ? declinedText(error.message, wording) : refusalText(error, wording);
    return showNewCard(visit, { message }, status);
  }
});
const makeDefault = portalPage('POST', '/portal/payment-methods/:id/default', async (visit) => {
  await inVisit(visit, ({ work, customer }) => makeDefaultPaymentMethod(work, customer.id, idOf(visit)));
  return done('default');
});

/** A card that a subscription is charged on stays. */
const removeCard = portalPage('POST', '/portal/payment-methods/:id/remove', async (visit) => {
  const id = idOf(visit);
  try {
    await inVisit(visit, async ({ work, customer }) => {
      const method = await findPaymentMethod(work, id);
      if (method?.customerId !== customer.id) throw new Problem('paymentMethodNotFound', { id });
      await deletePaymentMethod(work, id);
    });
    return done('removed');
  } catch (error) {
    return showRefused(visit, error);
  }
});

const askDetails = portalPage('GET', '/portal/details', async (visit) => {
  const frame = await view(visit);
  return { show: billingPage(frame, visit, { customer: frame.customer, entered: knownBilling(frame.customer) }) };
});
/** Taxes and documents of the next invoices follow the details. */
const saveDetails = portalPage('POST', '/portal/details', async (visit) => {
  const frame = await view(visit);
  const entered = enteredBilling(visit.request.form);
  const read = readBilling(frame.customer, entered, frame.wording);
  if ('errors' in read)
    return { show: billingPage(frame, visit, { customer: frame.customer, entered, ...read }), status: 422 };
  await inVisit(visit, ({ work, customer }) => changeDetails(work, customer.id, read.details));
  return done('details');
});

/** The pages behind a portal link. Plan changes are in routes-portal-plans.ts. */
export const portalPages: readonly Page[] = [
  entrance,
  leave,
  left,
  invoiceHtml,
  invoiceFile,
  askCancel,
  cancel,
  uncancel,
  keep,
  release,
  pay,
  payOne,
  askCard,
  addCard,
  confirmed,
  makeDefault,
  removeCard,
  askDetails,
  saveDetails,
];
