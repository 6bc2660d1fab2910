import { useQuery } from '@tanstack/react-query';
import type { CreditNote, Invoice, Payment, Subscription } from '../../../client/src/generated-entry.ts';
import { type Question, read } from '../api.ts';
import { CustomerName, CustomerNames } from './customer-name.tsx';
import { words } from './format.ts';
import { type Column, type PageOfRecords, Records } from './records.tsx';
import { DocumentNumber, Money, Status, When } from './shown.tsx';

const customer = <Row extends { readonly customerId: string }>(): Column<Row> => ({
  title: 'Customer',
  cell: ({ customerId }) => <CustomerName id={customerId} />,
});

export const invoiceColumns: readonly Column<Invoice>[] = [
  {
    title: 'Number',
    cell: ({ invoiceNumber, status }) => <DocumentNumber number={invoiceNumber ?? 'Draft'} status={status} />,
  },
  { title: 'Status', cell: ({ status }) => <Status of={status} />, from: 'xs' },
  { title: 'Date', cell: ({ invoiceDate }) => <When at={invoiceDate} />, from: 'sm' },
  { title: 'Due', cell: ({ dueDate }) => <When at={dueDate} />, from: 'lg' },
  {
    title: 'Paid',
    cell: ({ amountPaid, currency }) => <Money amount={amountPaid} currency={currency} />,
    align: 'right',
    from: 'md',
  },
  { title: 'Total', cell: ({ total, currency }) => <Money amount={total} currency={currency} />, align: 'right' },
];

export const paymentColumns: readonly Column<Payment>[] = [
  { title: 'Amount', cell: ({ amount, currency }) => <Money amount={amount} currency={currency} /> },
  { title: 'Status', cell: ({ status }) => <Status of={status} /> },
  { title: 'Date', cell: ({ chargeDate }) => <When at={chargeDate} />, from: 'sm' },
  { title: 'Method', cell: ({ paymentMethod }) => words(paymentMethod), from: 'md' },
  { title: 'Failure', cell: ({ failureMessage }) => failureMessage ?? '', from: 'lg' },
  {
    title: 'Refunded',
    cell: ({ refundedAmount, currency }) =>
      refundedAmount ? <Money amount={refundedAmount} currency={currency} /> : null,
    align: 'right',
    from: 'md',
  },
];

export const subscriptionColumns: readonly Column<Subscription>[] = [
  { title: 'Plan', cell: ({ name, id }) => name ?? id },
  { title: 'Status', cell: ({ status }) => <Status of={status} /> },
  { title: 'Started', cell: ({ startDate }) => <When at={startDate} />, from: 'sm' },
  {
    title: 'Next bill',
    cell: ({ currentBillingPeriodEnd, cancelScheduledAt, canceledAt }) =>
      canceledAt ? null : <When at={cancelScheduledAt ?? currentBillingPeriodEnd} />,
    from: 'md',
  },
];

export const creditNoteColumns: readonly Column<CreditNote>[] = [
  {
    title: 'Number',
    cell: ({ creditNoteNumber, status }) => <DocumentNumber number={creditNoteNumber} status={status} />,
  },
  { title: 'Status', cell: ({ status }) => <Status of={status} />, from: 'xs' },
  { title: 'Settled by', cell: ({ settle }) => words(settle), from: 'md' },
  { title: 'Reason', cell: ({ reason }) => reason ?? '', from: 'lg' },
  { title: 'Date', cell: ({ createdAt }) => <When at={createdAt} />, from: 'sm' },
  { title: 'Total', cell: ({ total, currency }) => <Money amount={total} currency={currency} />, align: 'right' },
];

/** The columns with the customer in the second place. */
export function withCustomer<Row extends { readonly customerId: string }>(
  columns: readonly Column<Row>[],
): readonly Column<Row>[] {
  const [first, ...rest] = columns;
  return first === undefined ? [] : [first, customer<Row>(), ...rest];
}

type Family = 'subscriptions' | 'invoices' | 'payments' | 'creditNotes' | 'purchases';
interface CustomersRecord {
  readonly id: string;
  readonly customerId: string;
}

interface MoneyRecordsProps<Row> {
  readonly family: Family;
  readonly input: Readonly<Record<string, string | undefined>>;
  readonly columns: readonly Column<Row>[];
  readonly to: (row: Row) => string;
  readonly caption: string;
  readonly empty: React.ReactNode;
}

/** A list of records of all customers, the newest first, with the names of their customers. */
export function MoneyRecords<Row extends CustomersRecord>(props: MoneyRecordsProps<Row>) {
  const { family, input, columns, to, caption, empty } = props;
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  // The families differ in their filters only, which the service checks.
  const query = read(family, 'list', { limit: 25, order: 'desc', ...given }) as unknown as Question<PageOfRecords<Row>>;
  const { data } = useQuery(query);
  return (
    <CustomerNames ids={(data?.data ?? []).map(({ customerId }) => customerId)}>
      <Records
        query={query}
        columns={withCustomer(columns)}
        keyOf={({ id }) => id}
        to={to}
        caption={caption}
        empty={empty}
      />
    </CustomerNames>
  );
}
