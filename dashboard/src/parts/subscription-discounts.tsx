import { Autocomplete, Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { SubscriptionDetails, SubscriptionDiscount } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { dateText, moneyText } from './format.ts';
import { Problem } from './problem.tsx';
import { Rows } from './records.tsx';
import { Section } from './shown.tsx';

interface DiscountsProps {
  readonly subscription: SubscriptionDetails;
}

interface Answer {
  readonly upcomingInvoice: Awaited<ReturnType<typeof api.subscriptions.createDiscount>>['upcomingInvoice'];
}

/** The discounts of a subscription in their order. One can be put on and taken off, with the next invoice shown first. */
export function SubscriptionDiscounts({ subscription }: DiscountsProps) {
  const { id, status, subscriptionItems } = subscription;
  const currency = subscriptionItems[0]?.price.currency ?? 'USD';
  const { data, error, refetch } = useQuery({ ...read('subscriptions', 'getDiscounts', { id }), retry: false });
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<SubscriptionDiscount | null>(null);
  const isOver = status === 'canceled' || status === 'incomplete_expired';
  const may = useMay('subscriptions:write') && !isOver;
  const discounts = data?.data ?? [];
  if (data === undefined && error !== null) return <Problem error={error} retry={refetch} />;
  if (!may && discounts.length === 0) return null;
  return (
    <Section
      title="Discounts"
      aside={
        may && (
          <Button variant="default" size="xs" onClick={() => setAdding(true)}>
            Put on a discount
          </Button>
        )
      }
    >
      <Rows
        rows={discounts}
        caption="Discounts"
        keyOf={(each) => each.id}
        columns={[
          { title: 'Code', cell: ({ code, name }) => `${code} ${name}` },
          { title: 'Off', cell: (each) => valueText(each, currency), align: 'right' },
          { title: 'Lasts', cell: durationText, from: 'sm' },
          {
            title: '',
            cell: (each) =>
              may && (
                <Group justify="flex-end">
                  <Button variant="subtle" size="compact-xs" onClick={() => setRemoved(each)}>
                    Take off {each.code}
                  </Button>
                </Group>
              ),
            align: 'right',
          },
        ]}
      />
      {isAdding && <PutOn subscription={subscription} onClose={() => setAdding(false)} />}
      {removed !== null && (
        <ChangeDialog
          title={`Take off ${removed.code}`}
          opened
          onClose={() => setRemoved(null)}
          input={{ id, discountId: removed.id }}
          call={(sent, options) => api.subscriptions.deleteDiscounts(sent, options)}
          effects={(answer) => [{ text: 'Invoices that exist keep it.' }, ...nextOf(answer)]}
          confirm="Take it off"
          done="The discount was taken off"
        />
      )}
    </Section>
  );
}

const mostOffered = 100;

function PutOn({ subscription: { id, pricingModelId }, onClose }: DiscountsProps & { readonly onClose: () => void }) {
  const { data } = useQuery(read('discounts', 'list', { pricingModelId, active: true, limit: mostOffered }));
  const [typed, setTyped] = useState('');
  const code = typed.trim();
  const names = new Map(data?.data.map((each) => [each.code, each.name]));
  return (
    <ChangeDialog
      title="Put on a discount"
      opened
      onClose={onClose}
      input={code === '' ? null : { id, discount: { code } }}
      call={(sent, options) => api.subscriptions.createDiscount(sent, options)}
      effects={(answer) => [{ text: 'Invoices that exist stay as they are.' }, ...nextOf(answer)]}
      confirm="Put it on"
      done="The discount was put on"
    >
      <Autocomplete
        label="Code of the discount"
        data={[...names.keys()]}
        renderOption={({ option: { value } }) => `${value} ${names.get(value) ?? ''}`}
        value={typed}
        onChange={setTyped}
      />
    </ChangeDialog>
  );
}

function nextOf({ upcomingInvoice }: Answer): Effect[] {
  if (upcomingInvoice === null) return [{ text: 'No invoice follows for now.' }];
  const { total, discountAmount, currency, invoiceDate } = upcomingInvoice.invoice;
  const off = discountAmount === 0 ? 'without a discount' : `with ${moneyText(discountAmount, currency)} off`;
  return [{ text: `The next invoice, on ${dateText(invoiceDate)}, is for ${moneyText(total, currency)}, ${off}.` }];
}

function valueText({ amount, amountType }: SubscriptionDiscount, currency: string): string {
  return amountType === 'percent' ? `${amount} %` : moneyText(amount, currency);
}

function durationText({ duration, numberOfPayments, paymentsMade, fullyRedeemed }: SubscriptionDiscount): string {
  if (fullyRedeemed) return 'Used up';
  if (duration === 'forever') return 'For ever';
  return duration === 'once' ? 'One invoice' : `${paymentsMade} of ${numberOfPayments ?? 0} invoices`;
}
