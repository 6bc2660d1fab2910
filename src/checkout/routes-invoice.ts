import { payInvoice, reportPaid } from '../billing/collect-by-hand.ts';
import { type InvoicePass, readInvoiceKey } from '../customers/portal-link.ts';
import { findCustomer } from '../customers/store.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { documentPdf } from '../documents/actions.ts';
import type { Page, PageAnswer, PageContext, PageRequest } from '../http/page.ts';
import { getDocument, readLinesOfPage } from '../invoicing/actions-document.ts';
import { amountDue } from '../invoicing/invoice.ts';
import { findInvoice } from '../invoicing/store.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { runEffects } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { createProcessors } from '../payments/actions.ts';
import { attachPaymentMethod, reportAttachment } from '../payments/actions-attach.ts';
import { outcomeOfError } from '../payments/actions-attempts.ts';
import type { MandateAcceptance } from '../payments/payment-method.ts';
import type { Processors } from '../payments/processor.ts';
import { findPaymentToConfirm, pageProcessor, readPageLook } from './actions.ts';
import { declinedText } from './buyer-text.ts';
import { readMethod } from './card-entry.ts';
import { performConfirmed } from './jobs.ts';
import { invoiceLink, requireAttempts, withAttempt } from './jobs-attempts.ts';
import { refusalText } from './jobs-visit.ts';
import { type InvoiceView, invoicePayPage } from './page-invoice.ts';

/** A request with a valid link to an invoice. */
interface Opened {
  readonly context: PageContext;
  readonly request: PageRequest;
  readonly pass: InvoicePass;
  readonly path: string;
  readonly key: string;
}

async function open(received: PageContext, request: PageRequest): Promise<Opened> {
  const { id = '' } = request.params;
  const { key = '' } = request.query;
  const pass = readInvoiceKey(encryptionOf(received.services), id, key);
  if (pass === null) throw new Problem('linkInvalid');
  const context = await received.inCellOf(id);
  context.admit('link', id);
  return { context, request, pass, path: `/pay/${id}`, key };
}

/** Runs one unit of work for a link that is still valid, then its effects. Without a form it cannot write. */
async function inInvoice<Answer>(
  { context, request, pass }: Opened,
  act: (work: Work, processors: Processors) => Promise<Answer>,
  readOnly = false,
): Promise<Answer> {
  const { environmentId, invoiceId, version } = pass;
  const outcome = await runInEnvironment(
    context.database,
    { environmentId },
    async (work) => {
      const invoice = await findInvoice(work, invoiceId);
      const customer = invoice && (await findCustomer(work, invoice.customerId));
      if (invoice === null || invoice.status === 'draft' || customer?.portalVersion !== version)
        throw new Problem('linkInvalid');
      context.admit('visitor', customer.id);
      return act(work, createProcessors(work.db, context.services));
    },
    {
      publicUrl: request.publicUrl,
      attended: true,
      auditContext: context.auditContext,
      readOnly,
      slots: context.slots,
    },
  );
  if (outcome === null) throw new Problem('linkInvalid');
  await runEffects(context, outcome.effects);
  return outcome.answer;
}

function look(opened: Opened): Promise<InvoiceView> {
  const { request } = opened;
  const { invoiceId } = opened.pass;
  return inInvoice(
    opened,
    async (work, processors) => {
      const processor = processors.defaultIn(work);
      const invoice = await findInvoice(work, invoiceId);
      if (invoice === null) throw new Problem('linkInvalid');
      const customer = await findCustomer(work, invoice.customerId);
      const { invoiceNumber, customerId, status, dueDate, total, currency } = invoice;
      const due = status === 'void' || status === 'uncollectible' ? 0n : amountDue(invoice);
      const look = await readPageLook(work, customer, request.language);
      return {
        ...look,
        ...(await readLinesOfPage(work, invoice, look.wording.language)),
        ...{ currency, customerId, number: invoiceNumber ?? '', status, dueDate, total, due },
        instructions: (await readSettings(work)).paymentInstructions,
        processor: pageProcessor(work, processor),
        paymentToConfirm: await findPaymentToConfirm(work, processor, { invoiceId }),
      };
    },
    true,
  );
}

async function show(opened: Opened, step: Partial<Parameters<typeof invoicePayPage>[1]> = {}, status = 200) {
  const { path, key } = opened;
  return { show: invoicePayPage(await look(opened), { path, key, ...step }), status };
}

/** Charges the amount that the page has shown, or less, to a card. The link counts the attempts that fail. */
async function pay(opened: Opened): Promise<PageAnswer> {
  const { context, request, pass } = opened;
  const { form, network } = request;
  const { processor, currency, customerId, wording } = await look(opened);
  const link = invoiceLink(pass, customerId, network);
  const card = readMethod(request, { ...processor, currency }, { now: Date.now(), wording });
  if ('errors' in card) return show(opened, card, 422);
  const shownDue = /^\d{1,20}$/.test(form.shownDue ?? '') ? BigInt(form.shownDue ?? '') : 0n;
  try {
    await requireAttempts(context, link);
    const payment = await withAttempt(
      context,
      link,
      () => chargeCard(opened, { customerId, ...card, shownDue }),
      (result) => {
        if ('error' in result) return outcomeOfError(result.error);
        return result.answer?.status === 'succeeded' ? 'paid' : 'passed';
      },
    );
    // The amount can only rise when a credit note is voided or a payment is taken back.
    if (payment === null) return show(opened, { message: wording.words.checkout.amountChanged }, 409);
    return { goTo: afterPaying(opened) };
  } catch (error) {
    const isDeclined =
      error instanceof Problem && (error.problem === 'paymentMethodDeclined' || error.problem === 'paymentFailed');
    const message = isDeclined ? declinedText(error.message, wording) : refusalText(error, wording);
    return show(opened, { message }, isDeclined ? 402 : 409);
  }
}

interface CardCharge {
  readonly customerId: string;
  readonly token: string;
  readonly acceptance?: MandateAcceptance;
  readonly shownDue: bigint;
}

/** The payment; null if more is due than was shown, and nothing was charged. */
async function chargeCard(opened: Opened, { shownDue, ...method }: CardCharge) {
  const { invoiceId } = opened.pass;
  const isAsFirst = await inInvoice(opened, async (work) => {
    const invoice = await findInvoice(work, invoiceId);
    return invoice !== null && amountDue(invoice) <= shownDue;
  });
  if (!isAsFirst) return null;
  const request = { ...method, default: false, automaticallyUpdateSubscriptions: false };
  const attached = await inInvoice(opened, (work, processors) =>
    attachPaymentMethod(work, processors.defaultIn(work), request),
  );
  const kept = await inInvoice(opened, (work) => reportAttachment(work, attached));
  const requested = await inInvoice(opened, async (work) => {
    const paying = await payInvoice(work, invoiceId, kept.id);
    if (paying.payment.amount > shownDue) throw new Problem('invoiceAlreadyBeingPaid', { invoiceId });
    return paying;
  });
  return (await inInvoice(opened, (work) => reportPaid(work, requested))).payment;
}

async function takeForm(opened: Opened): Promise<PageAnswer> {
  if (opened.request.form.step !== 'confirmed') return pay(opened);
  // The processor knows the outcome of the buyer's confirmation with the bank.
  const { paymentToConfirm } = await look(opened);
  const { context, pass } = opened;
  if (paymentToConfirm !== null)
    await performConfirmed(context, pass.environmentId, {
      paymentId: paymentToConfirm.id,
      answer: opened.request.form.bankAnswer,
    });
  return { goTo: afterPaying(opened) };
}

/** The page again, which thanks if the invoice is paid then. */
function afterPaying({ path, key }: Opened): string {
  return `${path}?key=${encodeURIComponent(key)}&done=paid`;
}

/** The pages behind the link of an invoice. */
export const invoicePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/pay/:id',
    handle: async (context, request) => show(await open(context, request), { isDone: request.query.done === 'paid' }),
  },
  { method: 'POST', path: '/pay/:id', handle: async (context, request) => takeForm(await open(context, request)) },
  {
    method: 'GET',
    path: '/pay/:id/pdf',
    async handle(received, request) {
      const opened = await open(received, request);
      const { context } = opened;
      const encryption = encryptionOf(context.services);
      const document = await inInvoice(
        opened,
        (work) => getDocument(work, opened.pass.invoiceId, { encryption, publicUrl: work.publicUrl }),
        true,
      );
      return { file: await context.layOut(() => documentPdf(document)), contentType: 'application/pdf' };
    },
  },
];
