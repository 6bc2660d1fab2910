import { Button, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { dateText, moneyText } from './format.ts';

const EditDraft = lazy(() => import('./draft-dialog.tsx').then(({ EditDraft: Part }) => ({ default: Part })));
const AddLines = lazy(() => import('./draft-lines.tsx').then(({ AddLines: Part }) => ({ default: Part })));
const MetadataDialog = lazy(() => import('./metadata.tsx').then(({ InvoiceMetadata: Part }) => ({ default: Part })));
const CreditNoteDialog = lazy(() =>
  import('./credit-note-dialog.tsx').then(({ CreditNoteDialog: Part }) => ({ default: Part })),
);

interface InvoiceActionsProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
}

type Action =
  | 'finalize'
  | 'add'
  | 'edit'
  | 'delete'
  | 'pay'
  | 'record'
  | 'send'
  | 'credit'
  | 'write-off'
  | 'void'
  | 'metadata';

const names: Readonly<Record<Action, string>> = {
  finalize: 'Finalize',
  add: 'Add lines',
  edit: 'Change',
  delete: 'Delete',
  pay: 'Collect now',
  record: 'Record a payment',
  send: 'Send',
  credit: 'Credit',
  'write-off': 'Write off',
  void: 'Void',
  metadata: 'Metadata',
};

const actionsOf: Partial<Record<Invoice['status'], readonly Action[]>> = {
  open: ['pay', 'record', 'send', 'credit', 'write-off', 'void'],
  awaiting_payment_confirmation: ['send'],
  paid: ['send', 'credit'],
  partially_refunded: ['send', 'credit'],
  uncollectible: ['record', 'void'],
};

/**
 * The actions that the status allows. The draft of a period is voided, so that its usage is billed again. A part is paid,
 * credited and voided with its consolidated invoice.
 */
function actionsFor({ status, type, consolidatedInvoiceId }: Invoice): readonly Action[] {
  if (consolidatedInvoiceId !== undefined) return ['metadata'];
  const actions =
    status === 'draft'
      ? (['finalize', 'add', 'edit', type === 'standalone' ? 'delete' : 'void'] as const)
      : (actionsOf[status] ?? []);
  return [...actions, 'metadata'];
}

/** The amount that is left to pay of an invoice. */
export function dueOf({ total, amountPaid, offsetAmount = 0, balanceApplied = 0 }: Invoice): number {
  return total - amountPaid - offsetAmount - balanceApplied;
}

/** The actions on an invoice that its status allows and the role may take. */
export function InvoiceActions({ invoice, lines }: InvoiceActionsProps) {
  const may = useMay('invoices:money');
  const [action, setAction] = useState<Action | null>(null);
  if (!may) return null;
  const close = () => setAction(null);
  return (
    <>
      {actionsFor(invoice).map((each) => (
        <Button key={each} variant={each === 'finalize' ? 'filled' : 'default'} onClick={() => setAction(each)}>
          {names[each]}
        </Button>
      ))}
      {action !== null && (
        <Suspense>
          <ActionDialog action={action} invoice={invoice} lines={lines} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

interface ActionDialogProps extends InvoiceActionsProps {
  readonly action: Action;
  readonly onClose: () => void;
}

function ActionDialog({ action, invoice, lines, onClose }: ActionDialogProps) {
  switch (action) {
    case 'edit':
      return <EditDraft invoice={invoice} lines={lines} onClose={onClose} />;
    case 'add':
      return <AddLines invoice={invoice} onClose={onClose} />;
    case 'metadata':
      return <MetadataDialog invoice={invoice} onClose={onClose} />;
    case 'credit':
      return <CreditNoteDialog invoice={invoice} lines={lines} onClose={onClose} />;
    case 'record':
      return <RecordPayment invoice={invoice} onClose={onClose} />;
    case 'pay':
      return <CollectDialog invoice={invoice} onClose={onClose} />;
    case 'finalize':
    case 'delete':
      return <DraftAction action={action} invoice={invoice} onClose={onClose} />;
    case 'send':
    case 'write-off':
    case 'void':
      return <OpenAction action={action} invoice={invoice} onClose={onClose} />;
    default:
      return action satisfies never;
  }
}

interface DialogProps {
  readonly invoice: Invoice;
  readonly onClose: () => void;
}

/** Deletes or finalizes a draft. */
export function DraftAction({ action, invoice, onClose }: DialogProps & { readonly action: 'finalize' | 'delete' }) {
  const navigate = useNavigate();
  const shared = { opened: true, onClose, input: { id: invoice.id } };
  if (action === 'delete')
    return (
      <ChangeDialog
        {...shared}
        title="Delete the draft"
        call={(input, options) => api.invoices.delete(input, options)}
        effects={() => [
          { text: 'The draft is gone. No number was taken, and the customer never saw it.', isLoss: true },
        ]}
        confirm="Delete the draft"
        done="The draft is deleted"
        isDanger
        onDone={() => void navigate({ to: '/invoices' })}
      />
    );
  return (
    <ChangeDialog
      {...shared}
      title="Finalize the draft"
      call={(input, options) => api.invoices.finalize(input, options)}
      effects={({ invoice: made }) => [
        { text: `It gets the number ${made.invoiceNumber ?? '–'}, and its lines are fixed.` },
        {
          text: `${moneyText(dueOf(made), made.currency)} is to be paid by ${dateText(made.dueDate ?? made.invoiceDate)}.`,
        },
        ...(made.balanceApplied === undefined
          ? []
          : [{ text: `The customer's balance pays ${moneyText(made.balanceApplied, made.currency)} of it.` }]),
      ]}
      confirm="Finalize"
      done="The invoice is finalized"
    />
  );
}

function OpenAction({ action, invoice, onClose }: DialogProps & { readonly action: 'send' | 'write-off' | 'void' }) {
  const { id, currency, invoiceNumber } = invoice;
  const due = moneyText(dueOf(invoice), currency);
  const shared = { opened: true, onClose, input: { id } };
  switch (action) {
    case 'send':
      return (
        <ChangeDialog
          {...shared}
          title={`Send ${invoiceNumber ?? 'the invoice'}`}
          call={(input, options) => api.invoices.send(input, options)}
          effects={() => [
            { text: 'Your systems are told by the event invoice.sent, with a link to the page on which it is paid.' },
            ...(invoice.sentAt === undefined ? [] : [{ text: `It was sent before, on ${dateText(invoice.sentAt)}.` }]),
          ]}
          confirm="Send it"
          done="The invoice is sent"
        />
      );
    case 'write-off':
      return (
        <ChangeDialog
          {...shared}
          title={`Write off ${invoiceNumber ?? 'the invoice'}`}
          call={(input, options) => api.invoices.markUncollectible(input, options)}
          effects={() => [{ text: `${due} is given up. It is not charged again.`, isLoss: true }]}
          confirm="Write it off"
          done="The invoice is written off"
          isDanger
        />
      );
    case 'void':
      return (
        <ChangeDialog
          {...shared}
          title={`Void ${invoiceNumber ?? 'the invoice'}`}
          call={(input, options) => api.invoices.void(input, options)}
          effects={() => [
            { text: `${due} is not owed any more. The invoice stays, and says that it is void.`, isLoss: true },
            ...(invoice.subscriptionId === null ? [] : [{ text: 'Its usage is billed with the next invoice.' }]),
          ]}
          confirm="Void the invoice"
          done="The invoice is void"
          isDanger
        />
      );
    default:
      return action satisfies never;
  }
}

/** Charges what is due of an invoice now. */
export function CollectDialog({ invoice, onClose }: DialogProps) {
  return (
    <ChangeDialog
      title={`Collect ${invoice.invoiceNumber ?? 'the invoice'}`}
      opened
      onClose={onClose}
      input={{ id: invoice.id }}
      call={(input, options) => api.invoices.pay(input, options)}
      effects={({ payment }) => [
        { text: `${moneyText(payment.amount, payment.currency)} is charged now.` },
        { text: 'Whether the charge succeeds is known only afterwards.' },
      ]}
      confirm="Charge now"
      done="The charge was tried"
    />
  );
}

function RecordPayment({ invoice, onClose }: DialogProps) {
  const { id, currency } = invoice;
  const due = dueOf(invoice);
  const [amount, setAmount] = useState<number | null>(due);
  const [reference, setReference] = useState('');
  return (
    <ChangeDialog
      title="Record a payment"
      opened
      onClose={onClose}
      input={amount === null || amount <= 0 ? null : { id, payment: { amount, reference: reference.trim() || null } }}
      call={(input, options) => api.invoices.recordPayment(input, options)}
      effects={({ invoice: after }) => [
        {
          text:
            dueOf(after) === 0 ? 'The invoice is paid.' : `${moneyText(dueOf(after), currency)} is still to be paid.`,
        },
      ]}
      confirm="Record it"
      done="The payment is recorded"
    >
      <AmountInput
        label="Amount received"
        currency={currency}
        description={`At most ${moneyText(due, currency)}`}
        value={amount}
        onChange={setAmount}
        max={due}
      />
      <TextInput
        label="Reference"
        description="Of the payer or the bank"
        value={reference}
        onChange={(event) => setReference(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}
