import { Alert, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Payment } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { instantText, moneyText, words } from '../parts/format.ts';
import { Listed } from '../parts/listed.tsx';
import { creditNoteColumns, paymentColumns } from '../parts/money-columns.tsx';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { RefundButton } from '../parts/refund.tsx';
import { Facts, Go, Heading, Identifier, Money, Section, Status, When } from '../parts/shown.tsx';

const mostShown = 20;

/** One attempt to collect money: what came of it, the other attempts, and what went back. */
export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('payments', 'get', { id }));
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const { payment } = data;
  const { amount, currency, status, customerId, invoiceId, failureMessage, failureCode, nextAction } = payment;
  return (
    <CustomerNames ids={[customerId]}>
      <Heading
        title={`Payment of ${moneyText(amount, currency)}`}
        below={
          <span className="beside">
            <Status of={status} />
            <CustomerName id={customerId} />
          </span>
        }
        aside={<RefundButton payment={payment} size="sm" />}
      />
      {(failureMessage ?? failureCode) !== null && (
        <Alert color="red" variant="light" mb="xl" title={failureMessage ?? 'The charge failed'}>
          {failureCode !== null && <span className="identifier">{failureCode}</span>}
        </Alert>
      )}
      {nextAction !== null && status === 'requires_action' && (
        <Alert color="orange" variant="light" mb="xl" title="The customer has to confirm it">
          The page of the payment asks for it. Nothing is collected before.
        </Alert>
      )}
      <Section title="Details">
        <Facts facts={factsOf(payment)} />
      </Section>
      {invoiceId !== null && (
        <Section title="Attempts for the same invoice">
          <Listed
            query={read('payments', 'list', { invoiceId, limit: mostShown, order: 'desc' })}
            columns={[
              ...paymentColumns,
              { title: 'Here', cell: (other) => (other.id === id ? 'This one' : ''), align: 'right', from: 'sm' },
            ]}
            caption="Attempts"
            nothing="There is no other."
            to={(other) => `/payments/${other.id}`}
          />
        </Section>
      )}
      {invoiceId !== null && (
        <Section title="Credit notes of the invoice">
          <Listed
            query={read('creditNotes', 'list', { invoiceId, limit: mostShown, order: 'desc' })}
            columns={creditNoteColumns}
            caption="Credit notes"
            nothing="Nothing was credited."
            to={(note) => `/credit-notes/${note.id}`}
          />
        </Section>
      )}
    </CustomerNames>
  );
}

function factsOf(payment: Payment): (readonly [string, React.ReactNode])[] {
  const { currency, invoiceId, subscriptionId, purchaseId, refundedAmount, taxAmount, paymentMethodId } = payment;
  return [
    ['Charged', instantText(payment.chargeDate)],
    ['Settled', <When key="settled" at={payment.settlementDate} />],
    ['Method', words(payment.paymentMethod)],
    ['Tax in it', <Money key="tax" amount={taxAmount} currency={currency} />],
    ['Refunded', <Money key="refunded" amount={refundedAmount ?? 0} currency={currency} />],
    ['Last refund', <When key="refund" at={payment.refundedAt} />],
    [
      'Invoice',
      invoiceId === null ? (
        '–'
      ) : (
        <Go key="invoice" to={`/invoices/${invoiceId}`}>
          Open the invoice
        </Go>
      ),
    ],
    [
      'Subscription',
      subscriptionId === null ? (
        '–'
      ) : (
        <Go key="subscription" to={`/subscriptions/${subscriptionId}`}>
          Open the subscription
        </Go>
      ),
    ],
    ...(purchaseId === null ? [] : [['Purchase', <Identifier key="purchase" id={purchaseId} />] as const]),
    ...(payment.receiptNumber === null ? [] : [['Receipt', payment.receiptNumber] as const]),
    ...(payment.description === null ? [] : [['Description', payment.description] as const]),
    ['Payment method', paymentMethodId === null ? '–' : <Identifier key="method" id={paymentMethodId} />],
    ['Id', <Identifier key="id" id={payment.id} />],
  ];
}
