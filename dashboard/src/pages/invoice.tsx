import { Button, Skeleton, Text, UnstyledButton } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Explain } from '../parts/explain.tsx';
import { countText, words } from '../parts/format.ts';
import { paymentColumns } from '../parts/money-columns.tsx';
import { Problem } from '../parts/problem.tsx';
import { Rows } from '../parts/records.tsx';
import { RefundButton } from '../parts/refund.tsx';
import { Facts, Heading, Identifier, Money, Section, Status, When } from '../parts/shown.tsx';

const mostPayments = 20;

export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('invoices', 'get', { id }));
  const { data: payments } = useQuery(read('payments', 'list', { invoiceId: id, limit: mostPayments, order: 'desc' }));
  if (error !== null) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const { invoice, invoiceLineItems: lines } = data;
  return (
    <CustomerNames ids={[invoice.customerId]}>
      <Heading
        title={`Invoice ${invoice.invoiceNumber ?? '(draft)'}`}
        aside={invoice.status !== 'draft' && <PdfButton invoice={invoice} />}
        below={<Status of={invoice.status} />}
      />
      <Section title="Lines">
        <Lines invoice={invoice} lines={lines} />
      </Section>
      <Section title="Payments">
        {(payments?.data ?? []).length === 0 ? (
          <Text c="dimmed" size="sm">
            Nothing was collected for this invoice.
          </Text>
        ) : (
          <Rows
            rows={payments?.data ?? []}
            caption="Payments of the invoice"
            keyOf={({ id: paymentId }) => paymentId}
            columns={[
              ...paymentColumns,
              { title: 'Actions', cell: (payment) => <RefundButton payment={payment} />, align: 'right' },
            ]}
          />
        )}
      </Section>
      <Section title="Details">
        <InvoiceFacts invoice={invoice} />
      </Section>
    </CustomerNames>
  );
}

/** Saves the document. It is asked for like everything else, because a plain link would not say the environment. */
function PdfButton({ invoice: { id, invoiceNumber } }: { readonly invoice: Invoice }) {
  const saving = useMutation({
    mutationFn: async () => {
      const bytes = await api.invoices.getPdf({ id });
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type: 'application/pdf' }));
      link.download = `${invoiceNumber ?? id}.pdf`;
      link.click();
      URL.revokeObjectURL(link.href);
    },
  });
  return (
    <Button variant="default" onClick={() => saving.mutate()} loading={saving.isPending}>
      Save as PDF
    </Button>
  );
}

interface LinesProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
}

/** The lines. Each amount opens its explanation. */
function Lines({ invoice, lines }: LinesProps) {
  const [explained, setExplained] = useState<string | null>(null);
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
          { title: 'Line', cell: ({ description, type }) => description ?? words(type) },
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
        ]}
      />
      <dl className="sums">
        {sums.map(([name, amount]) =>
          amount === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Money amount={amount} currency={currency} />
              </dd>
            </div>
          ),
        )}
        <div className="sum">
          <dt>Total</dt>
          <dd>
            <Money amount={total} currency={currency} />
          </dd>
        </div>
      </dl>
      <Explain invoiceId={invoice.id} lineId={explained} onClose={() => setExplained(null)} />
    </>
  );
}

function InvoiceFacts({ invoice }: { readonly invoice: Invoice }) {
  const { currency } = invoice;
  return (
    <Facts
      facts={[
        ['Customer', <CustomerName key="customer" id={invoice.customerId} />],
        ['Invoice date', <When key="date" at={invoice.invoiceDate} />],
        ['Due', <When key="due" at={invoice.dueDate} />],
        ['Period begins', <When key="from" at={invoice.billingPeriodStartDate} />],
        ['Period ends', <When key="to" at={invoice.billingPeriodEndDate} />],
        ['Paid', <Money key="paid" amount={invoice.amountPaid} currency={currency} />],
        ['Refunded', <Money key="refunded" amount={invoice.amountRefunded} currency={currency} />],
        ['Id', <Identifier key="id" id={invoice.id} />],
      ]}
    />
  );
}
