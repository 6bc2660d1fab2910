import { Button, Group, Menu, Select, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { DiscountsCreateInput, RedeemedDiscount } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { counted, countText, moneyText } from '../parts/format.ts';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Section, Status } from '../parts/shown.tsx';
import { useMay } from '../session.ts';
import { LimitFields, type Limits, limitChange, limitTexts } from './discount-limits.tsx';
import { choices, MoneyField, WholeField } from './fields.tsx';

interface DiscountsProps {
  readonly modelId: string;
  readonly currency: string;
}

const pageSize = 25;
const durations = { once: 'The next payment', number_of_payments: 'A number of payments', forever: 'Every payment' };

function amountText({ amount, amountType }: Pick<RedeemedDiscount, 'amount' | 'amountType'>, currency: string): string {
  return amountType === 'percent' ? `${amount}%` : moneyText(amount, currency);
}

function durationText({ duration, numberOfPayments }: Pick<RedeemedDiscount, 'duration' | 'numberOfPayments'>): string {
  if (duration === 'number_of_payments') return counted(numberOfPayments ?? 1, 'payment');
  return duration === 'once' ? 'one payment' : 'every payment';
}

/** The codes of a pricing model. They are no part of a draft: a code works as soon as it is made. */
export function Discounts({ modelId, currency }: DiscountsProps) {
  const mayChange = useMay('discounts:catalog');
  const { cursor } = useFilters().filters;
  const [opened, { open, close }] = useDisclosure(false);
  const columns: Column<RedeemedDiscount>[] = [
    { title: 'Code', cell: ({ code }) => <span className="identifier">{code}</span> },
    { title: 'Name', cell: ({ name }) => name, from: 'sm' },
    { title: 'Off', cell: (each) => `${amountText(each, currency)}, ${durationText(each)}` },
    { title: 'Limits', cell: (each) => limitTexts(each, currency).join(', ') || 'None', from: 'md' },
    { title: 'Used', cell: ({ redemptionCount }) => countText(redemptionCount), align: 'right', from: 'sm' },
    { title: 'Status', cell: ({ active }) => <Status of={active ? 'active' : 'ended'} /> },
    ...(mayChange
      ? [{ title: '', cell: (each: RedeemedDiscount) => <DiscountMenu of={each} currency={currency} /> }]
      : []),
  ];
  return (
    <Section
      title="Discounts"
      aside={
        mayChange && (
          <Button variant="default" onClick={open}>
            Add a discount
          </Button>
        )
      }
    >
      <Records
        query={read('discounts', 'list', { pricingModelId: modelId, limit: pageSize, ...(cursor && { cursor }) })}
        columns={columns}
        keyOf={({ id }) => id}
        caption="Discounts"
        empty={
          <Empty title="No discounts">A discount is a code that takes something off the invoices of a customer.</Empty>
        }
      />
      <NewDiscount opened={opened} onClose={close} modelId={modelId} currency={currency} />
    </Section>
  );
}

function DiscountMenu({ of, currency }: { readonly of: RedeemedDiscount; readonly currency: string }) {
  const { id, code, active } = of;
  const [opened, { open, close }] = useDisclosure(false);
  const [isLimiting, limiting] = useDisclosure(false);
  const verb = active ? 'End' : 'Open';
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="subtle" size="xs" aria-label={`Actions for ${code}`}>
            …
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={limiting.open}>Change the limits</Menu.Item>
          <Menu.Item onClick={open}>{active ? 'End it' : 'Open it again'}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ChangeDialog
        title={`${verb} ${code}`}
        opened={opened}
        onClose={close}
        input={{ id, discount: { active: !active } }}
        call={(input, options) => api.discounts.update(input, options)}
        effects={() => [
          { text: active ? 'Nobody else can use the code.' : 'The code can be used again.' },
          { text: 'Customers who have used it keep what it gives them.' },
        ]}
        confirm={active ? 'End the discount' : 'Open the discount'}
        done={active ? 'The discount has ended.' : 'The discount is open.'}
      />
      {isLimiting && <LimitDialog of={of} currency={currency} onClose={limiting.close} />}
    </>
  );
}

interface LimitDialogProps {
  readonly of: RedeemedDiscount;
  readonly currency: string;
  readonly onClose: () => void;
}

function LimitDialog({ of, currency, onClose }: LimitDialogProps) {
  const [limits, setLimits] = useState<Limits>(of);
  return (
    <ChangeDialog
      title={`The limits of ${of.code}`}
      opened
      onClose={onClose}
      input={{ id: of.id, discount: limitChange(limits) }}
      call={(input, options) => api.discounts.update(input, options)}
      effects={({ discount }) => [
        { text: `The code can be used ${limitTexts(discount, currency).join(', ') || 'without limits'}.` },
        { text: 'Customers who have used it keep what it gives them.' },
      ]}
      confirm="Change the limits"
      done="The limits are changed."
      size="lg"
    >
      <LimitFields value={limits} onChange={setLimits} currency={currency} modelId={of.pricingModelId} />
    </ChangeDialog>
  );
}

interface Form {
  readonly name: string;
  readonly code: string;
  readonly amount: string | undefined;
  readonly amountType: 'percent' | 'fixed';
  readonly duration: keyof typeof durations;
  readonly numberOfPayments: number | undefined;
}

const blank: Form = {
  name: '',
  code: '',
  amount: undefined,
  amountType: 'percent',
  duration: 'once',
  numberOfPayments: 3,
};

function inputOf(form: Form, limits: Limits, pricingModelId: string): DiscountsCreateInput | null {
  const { name, code, amount, amountType, duration, numberOfPayments } = form;
  if (name.trim() === '' || amount === undefined) return null;
  const text = { name: name.trim(), amount: Math.round(Number(amount)), amountType, pricingModelId, ...limits };
  const named = { ...text, ...(code.trim() !== '' && { code: code.trim() }) };
  if (duration !== 'number_of_payments') return { discount: { ...named, duration } };
  return numberOfPayments === undefined ? null : { discount: { ...named, duration, numberOfPayments } };
}

function NewDiscount({
  opened,
  onClose,
  modelId,
  currency,
}: DiscountsProps & { readonly opened: boolean; readonly onClose: () => void }) {
  const [form, setForm] = useState(blank);
  const [limits, setLimits] = useState<Limits>({});
  return (
    <ChangeDialog
      title="Add a discount"
      opened={opened}
      onClose={onClose}
      input={inputOf(form, limits, modelId)}
      call={(input, options) => api.discounts.create(input, options)}
      effects={({ discount }) => [
        { text: `${amountText(discount, currency)} off ${durationText(discount)} of each customer who uses the code.` },
        { text: `It works from now on, ${limitTexts(discount, currency).join(', ') || 'without limits'}.` },
      ]}
      confirm="Add the discount"
      done="The discount is there."
      onDone={() => {
        setForm(blank);
        setLimits({});
      }}
      size="lg"
    >
      <DiscountFields value={form} onChange={setForm} currency={currency} />
      <LimitFields value={limits} onChange={setLimits} currency={currency} modelId={modelId} />
    </ChangeDialog>
  );
}

interface DiscountFieldsProps {
  readonly value: Form;
  readonly onChange: (value: Form) => void;
  readonly currency: string;
}

function DiscountFields({ value, onChange, currency }: DiscountFieldsProps) {
  const { name, code, amount, amountType, duration, numberOfPayments } = value;
  return (
    <Stack gap="sm">
      <Group grow align="start">
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => onChange({ ...value, name: event.currentTarget.value })}
          data-autofocus
        />
        <TextInput
          label="Code"
          placeholder="One is made"
          value={code}
          onChange={(event) => onChange({ ...value, code: event.currentTarget.value.toUpperCase() })}
        />
      </Group>
      <Group grow align="end">
        <Select
          label="Kind"
          data={choices(['percent', 'fixed'], { percent: 'Percentage', fixed: 'Amount' })}
          value={amountType}
          onChange={(type) =>
            onChange({ ...value, amount: undefined, amountType: type === 'fixed' ? 'fixed' : 'percent' })
          }
        />
        {amountType === 'percent' ? (
          <WholeField
            label="Percent"
            value={amount === undefined ? undefined : Number(amount)}
            onChange={(next) => onChange({ ...value, amount: next === undefined ? undefined : String(next) })}
          />
        ) : (
          <MoneyField
            label="Amount"
            currency={currency}
            value={amount}
            onChange={(next) => onChange({ ...value, amount: next })}
          />
        )}
      </Group>
      <Group grow align="end">
        <Select
          label="Off"
          data={choices(Object.keys(durations), durations)}
          value={duration}
          onChange={(next) => onChange({ ...value, duration: (next ?? 'once') as Form['duration'] })}
        />
        {duration === 'number_of_payments' && (
          <WholeField
            label="Payments"
            min={1}
            value={numberOfPayments}
            onChange={(next) => onChange({ ...value, numberOfPayments: next })}
          />
        )}
      </Group>
    </Stack>
  );
}
