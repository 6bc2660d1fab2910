import type { Customer } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { words } from './format.ts';
import { Listed } from './listed.tsx';
import { MoneyBalance } from './money-balance.tsx';
import { CreditNotesOf, InvoicesOf, PaymentsOf } from './money-lists.tsx';
import { addressWith } from './records.tsx';
import { Section, When } from './shown.tsx';

const mostShown = 20;

interface MoneyOfProps {
  readonly customer: Customer;
  /** The currency of a balance that does not exist yet; undefined while it is not known. */
  readonly currency: string | undefined;
}

/** The invoices, payments and balance of a customer. */
export function MoneyOf({ customer, currency }: MoneyOfProps) {
  const recent = { customerId: customer.id, limit: mostShown, order: 'desc' as const };
  return (
    <>
      <MoneyBalance customer={customer} currency={currency} />
      <InvoicesOf of={recent} all={addressWith('/invoices', { customerId: customer.id })} />
      <PaymentsOf of={recent} all={addressWith('/payments', { customerId: customer.id })} />
      <CreditNotesOf of={recent} />
      <Section title="Ways to pay">
        <Listed
          query={read('paymentMethods', 'list', { customerId: customer.id, limit: mostShown })}
          caption="Payment methods"
          nothing="There is no way to collect money from this customer."
          columns={[
            {
              title: 'Method',
              cell: ({ type, paymentMethodData: { brand, last4 } }) =>
                `${words(String(brand ?? type))}${last4 === undefined ? '' : ` ending in ${last4}`}`,
            },
            { title: 'Default', cell: ({ default: isDefault }) => (isDefault ? 'Default' : '') },
            { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, align: 'right' },
          ]}
        />
      </Section>
    </>
  );
}
