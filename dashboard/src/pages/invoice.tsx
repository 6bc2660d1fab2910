import { ActionIcon, Anchor, Skeleton, UnstyledButton } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Explain } from '../parts/explain.tsx';
import { countText, dateText, instantText, metadataFacts, words } from '../parts/format.ts';
import { dueOf, InvoiceActions } from '../parts/invoice-actions.tsx';
import { CreditNotesOf, PaymentsOf } from '../parts/money-lists.tsx';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { type Column, Rows } from '../parts/records.tsx';
import { SaveFile } from '../parts/save-file.tsx';
import { Facts, Go, Heading, Identifier, Money, Section, Status, Sums, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const RemoveLine = lazy(() => import('../parts/draft-lines.tsx').then(({ RemoveLine: Part }) => ({ default: Part })));

const mostShown = 20;

export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('invoices', 'get', { id }));
  const ofThis = { invoiceId: id, limit: mostShown, order: 'desc' as const };
  // Asked for together with the invoice, and shown below it.
  useQueries({ queries: [read('payments', 'list', ofThis), read('creditNotes', 'list', ofThis)] });
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const { invoice, invoiceLineItems: lines } = data;
  return (
    <CustomerNames ids={[invoice.customerId]}>
      <Heading
        title={`Invoice ${invoice.invoiceNumber ?? '(draft)'}`}
        aside={
          <>
            <InvoiceActions invoice={invoice} lines={lines} />
            {invoice.status !== 'draft' && (
              <SaveFile
                name={`${invoice.invoiceNumber ?? id}.pdf`}
                type="application/pdf"
                read={() => api.invoices.getPdf({ id })}
              >
                Save as PDF
              </SaveFile>
            )}
          </>
        }
        below={
          <span className="beside">
            <Status of={invoice.status} />
            <CustomerName id={invoice.customerId} />
            {invoice.finalizesAt !== undefined && `Finalized by itself on ${instantText(invoice.finalizesAt)}`}
          </span>
        }
      />
      <Section title="Lines">
        <Lines invoice={invoice} lines={lines} />
      </Section>
      <PaymentsOf of={ofThis} />
      <CreditNotesOf of={ofThis} />
      <Section title="Details">
        <InvoiceFacts invoice={invoice} />
      </Section>
    </CustomerNames>
  );
}

interface LinesProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
}

/** The lines. Each amount opens its explanation. */
function Lines({ invoice, lines }: LinesProps) {
  const [explained, setExplained] = useState<string | null>(null);
  const [removed, setRemoved] = useState<InvoiceLineItem | null>(null);
  const mayRemove = useMay('invoices:money') && invoice.status === 'draft';
  const removal: Column<InvoiceLineItem> = {
    title: 'Take off',
    cell: (line) => (
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Take off ${line.description ?? 'the line'}`}
        onClick={() => setRemoved(line)}
      >
        <IconTrash size={17} />
      </ActionIcon>
    ),
    align: 'right',
  };
  const { currency, discountAmount, subtotal, taxAmount, total, taxRatePercentage } = invoice;
  const sums = [
    ['Discount', discountAmount === 0 ? null : -discountAmount],
    ['Subtotal', subtotal],
    [taxRatePercentage === null ? 'Tax' : `Tax, ${taxRatePercentage} %`, taxAmount],
  ] as const;
  return (
    <>
      <Rows
        rows={lines}
        caption="Lines of the invoice"
        keyOf={({ id }) => id}
        columns={[
          { title: 'Line', cell: lineText },
          { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right', from: 'sm' },
          {
            title: 'Price',
            cell: ({ price }) => <Money amount={price} currency={currency} />,
            align: 'right',
            from: 'sm',
          },
          {
            title: 'Amount',
            cell: ({ id, amount, description }) => (
              <UnstyledButton className="explained" onClick={() => setExplained(id)}>
                <Money amount={amount} currency={currency} />
                <span className="visually-hidden">, explain {description ?? 'this line'}</span>
              </UnstyledButton>
            ),
            align: 'right',
          },
          ...(mayRemove ? [removal] : []),
        ]}
      />
      <Sums currency={currency} sums={sums} total={total} />
      <Explain invoiceId={invoice.id} lineId={explained} onClose={() => setExplained(null)} />
      {removed !== null && (
        <Suspense>
          <RemoveLine invoice={invoice} line={removed} onClose={() => setRemoved(null)} />
        </Suspense>
      )}
    </>
  );
}

/** The text of a line, with the terms that are its own. */
function lineText({ description, type, taxable, servicePeriod }: InvoiceLineItem): string {
  const time = servicePeriod && `${dateText(servicePeriod.start)} – ${dateText(servicePeriod.end)}`;
  return [description ?? words(type), time, taxable === false ? 'without tax' : undefined]
    .filter((text) => text !== undefined)
    .join(', ');
}

function InvoiceFacts({ invoice }: { readonly invoice: Invoice }) {
  const { currency } = invoice;
  return (
    <Facts
      facts={[
        ['To be paid', <Money key="left" amount={isOwed(invoice) ? dueOf(invoice) : 0} currency={currency} />],
        ['Paid', <Money key="paid" amount={invoice.amountPaid} currency={currency} />],
        ['Refunded', <Money key="refunded" amount={invoice.amountRefunded} currency={currency} />],
        ...(invoice.balanceApplied === undefined
          ? []
          : [
              [
                'Paid by the balance',
                <Money key="balance" amount={invoice.balanceApplied} currency={currency} />,
              ] as const,
            ]),
        ['Invoice date', <When key="date" at={invoice.invoiceDate} />],
        ['Due', <When key="due" at={invoice.dueDate} />],
        ['Next attempt', <When key="next" at={invoice.nextAttemptAt} />],
        ['Sent', <When key="sent" at={invoice.sentAt} />],
        ['Period begins', <When key="from" at={invoice.billingPeriodStartDate} />],
        ['Period ends', <When key="to" at={invoice.billingPeriodEndDate} />],
        ...(invoice.subscriptionId === null
          ? []
          : [
              [
                'Subscription',
                <Go key="subscription" to={`/subscriptions/${invoice.subscriptionId}`}>
                  Open the subscription
                </Go>,
              ] as const,
            ]),
        ...(invoice.consolidatedInvoiceId === undefined
          ? []
          : [
              [
                'Part of',
                <Go key="consolidated" to={`/invoices/${invoice.consolidatedInvoiceId}`}>
                  Open the consolidated invoice
                </Go>,
              ] as const,
            ]),
        ...(invoice.memo === null ? [] : [['Memo', invoice.memo] as const]),
        ...(invoice.purchaseOrderNumber === undefined ? [] : [['Order number', invoice.purchaseOrderNumber] as const]),
        ...(invoice.footer === undefined ? [] : [['Footer', invoice.footer] as const]),
        ...(invoice.hostedInvoiceUrl === undefined
          ? []
          : [
              [
                'Page to pay',
                <Anchor key="page" href={invoice.hostedInvoiceUrl} target="_blank" rel="noreferrer">
                  Open the page
                </Anchor>,
              ] as const,
            ]),
        ...metadataFacts(invoice.metadata),
        ['Id', <Identifier key="id" id={invoice.id} />],
      ]}
    />
  );
}

function isOwed({ status }: Invoice): boolean {
  return status === 'open' || status === 'awaiting_payment_confirmation';
}
