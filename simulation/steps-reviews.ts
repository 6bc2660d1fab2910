import { voidInvoice } from './oracle-actions.ts';
import { hourMs } from './oracle-arithmetic.ts';
import { carryOut, collect } from './oracle-collecting.ts';
import { draftOf, type Invoice, reach, type Subscription } from './oracle-records.ts';
import { addToDraft, finalizeReview, takeOffDraft } from './oracle-reviews.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, type Drawing, nameOf } from './step.ts';
import { drawLine, writtenOf } from './steps-documents.ts';

// A month has 720 hours, and a week 168: the next renewal may come first.
const hours = [1, 24, 48, 100, 500, 720] as const;

/** Lets the renewals of a customer wait as drafts, or not any more. Drafts that wait keep their instant. */
export const changeReview: Draw = ({ random, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const reviewHours = wish.isGood || random.chance(0.7) ? (random.pick(hours) ?? 24) : random.pick([null, 0]);
  return {
    text: `reviews renewals of ${customer.name} for ${reviewHours ?? 'the usual'} hours`,
    customer,
    ask: async () => ({ method: 'PUT', path: `/customers/${customer.name}`, body: { customer: { reviewHours } } }),
    apply: () => {
      customer.reviewHours = reviewHours ?? null;
      return 'done';
    },
  };
};

/** Lets the renewals of a customer on one day become one invoice, or not any more. Drafts that wait keep their instant. */
export const changeConsolidation: Draw = ({ random, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const consolidateInvoices = wish.isGood ?? !customer.consolidates;
  return {
    text: `consolidates ${consolidateInvoices ? 'the' : 'no'} invoices of ${customer.name}`,
    customer,
    ask: async () => ({
      method: 'PUT',
      path: `/customers/${customer.name}`,
      body: { customer: { consolidateInvoices } },
    }),
    apply: () => {
      customer.consolidates = consolidateInvoices;
      return 'done';
    },
  };
};

type Reviewed = 'finalize' | 'lines' | 'remove' | 'void';

/** Finalizes the draft of a renewal before its time, adds or removes a line, or voids it. */
export const reviewDraft: Draw = ({ random, books, customers, wish }) => {
  const drafts = allSubscriptions({ customers }).flatMap((each) => draftOf(each) ?? []);
  const draft = random.pick(drafts);
  if (draft === undefined) return null;
  const { subscription, customer, lines } = draft;
  const how: Reviewed = wish.isNow ? 'finalize' : random.weighted({ lines: 4, remove: 2, finalize: 2, void: 1 });
  const line = how === 'remove' ? random.pick(lines) : drawLine(random);
  if (line === undefined) return null;
  const place = lines.indexOf(line);
  const amount = how === 'lines' || how === 'remove' ? ` ${line.amount}` : '';
  return {
    text: `reviews the draft of ${nameOf(subscription)}: ${how}${amount}`,
    customer,
    ask: async (records) => {
      const id = await records.reviewed(subscription);
      const path = `/invoices/${id}`;
      if (how === 'remove') return { method: 'DELETE', path: `${path}/lines/${await records.lineOf(id, place)}` };
      return { method: 'POST', path: `${path}/${how}`, body: how === 'lines' ? { lines: [writtenOf(line)] } : {} };
    },
    apply: () => {
      // The draft that is left without a line would be no invoice.
      if (how === 'remove' && (line.kind !== 'written' || lines.length === 1)) return 'refused';
      reach(books, `draft reviewed: ${how}`, customer);
      if (how === 'lines') addToDraft(draft, line);
      else if (how === 'remove') takeOffDraft(draft, line);
      else if (how === 'void') voidInvoice(books, draft);
      else collect(books, finalizeReview(books, draft, books.now));
      carryOut(books);
      return 'done';
    },
  };
};

/** The date of an event: often one before the period, while its draft waits for late usage. */
export function drawDate(random: Random, { now }: Drawing['books'], subscription: Subscription, isLate: boolean) {
  const { period } = subscription;
  const draft: Invoice | undefined = draftOf(subscription);
  if (period === null || !random.chance(isLate ? 1 : draft === undefined ? 0.05 : 0.5)) return null;
  const before = period.start - random.between(1, 48) * hourMs;
  return random.chance(0.8) || isLate ? before : Math.max(before, now - random.between(0, 30) * hourMs);
}
