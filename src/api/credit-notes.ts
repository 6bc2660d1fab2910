import { z } from 'zod';
import { voidCreditNote } from '../billing/collect-by-hand.ts';
import {
  getCreditNote,
  getCreditNoteDocument,
  getCreditNoteExplanation,
  listCreditNotes,
  renderCreditNote,
} from '../credit-notes/actions.ts';
import {
  CreditNote,
  CreditNoteId,
  CreditNoteSettlement,
  CreditNoteStatus,
  CreditNoteWithLines,
} from '../credit-notes/credit-note.ts';
import { CreditNoteExplanation } from '../credit-notes/credit-note-document.ts';
import { route } from '../http/route.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { documentRoutes } from './document-routes.ts';

const tag = 'Credit notes';

const params = z.object({ id: CreditNoteId });

export const creditNoteRoutes = [
  route({
    method: 'GET',
    path: '/credit-notes',
    cell: 'all',
    merged: 'asc',
    needs: 'credit-notes:read',
    summary: 'List credit notes',
    description: 'Returns the credit notes of the environment, optionally of one customer, invoice, payment or status.',
    tag,
    query: pageQuery({
      status: CreditNoteStatus.optional(),
      settle: CreditNoteSettlement.optional(),
      ...customerFilters,
      invoiceId: textFilter,
      paymentId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(CreditNote),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCreditNotes(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/credit-notes/{id}',
    cell: 'id',
    needs: 'credit-notes:read',
    summary: 'Get a credit note',
    description: 'Returns one credit note with its lines.',
    tag,
    params,
    returns: CreditNoteWithLines,
    refuses: ['creditNoteNotFound'],
    handle: (work, input) => getCreditNote(work, input.params.id),
  }),
  route({
    method: 'GET',
    path: '/credit-notes/{id}/explain',
    cell: 'id',
    needs: 'credit-notes:read',
    summary: 'Explain a credit note',
    description:
      'Returns the inputs of each line, with the exact shares of discount and tax before their rounding. Every amount ' +
      'can be computed again from the answer.',
    tag,
    params,
    returns: CreditNoteExplanation,
    refuses: ['creditNoteNotFound'],
    handle: (work, input) => getCreditNoteExplanation(work, input.params.id),
  }),
  route({
    method: 'POST',
    path: '/credit-notes/{id}/void',
    cell: 'id',
    needs: 'credit-notes:money',
    summary: 'Void a credit note',
    description:
      'Takes back a credit note that is not settled: an offset of an invoice that is not yet paid. The amount is due ' +
      'again, its lines may be credited again, and the number stays used.',
    tag,
    params,
    returns: z.object({ creditNote: CreditNote }),
    refuses: ['creditNoteNotFound', 'creditNoteNotVoidable', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => ({
      creditNote: renderCreditNote(work, await voidCreditNote(work, input.params.id)),
    }),
  }),
  ...documentRoutes({
    path: '/credit-notes',
    needs: 'credit-notes:read',
    tag,
    named: 'a credit note',
    whole: 'the credit note',
    id: CreditNoteId,
    refuses: ['creditNoteNotFound'],
    print: getCreditNoteDocument,
  }),
];
