import { Button, Group, Progress, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  SpendControls as Controls,
  Customer,
  CustomerBilling,
  CustomersUpdateSpendControlsInput,
  SpendLimit,
  SpendLimitInput,
} from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { AddRow, choices, RemoveRow, WholeField } from '../catalog/fields.tsx';
import { useMay } from '../session.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { counted, countText, dateText, instantText, moneyText, words } from './format.ts';
import { Problem } from './problem.tsx';
import { Facts, Section } from './shown.tsx';

interface ControlsOf {
  readonly customer: Customer;
  readonly billing: CustomerBilling;
  readonly currency: string;
}

interface DialogProps extends ControlsOf {
  readonly controls: Controls;
  readonly onClose: () => void;
}

const setters = { seller: 'set by you', customer: 'set by the customer', plan: 'of its plan' };
const periods = { day: 'A day', week: 'A week', month: 'A month', billing_period: 'A billing period' };
const units = { units: 'Units', money: 'Money' };
const actions = { block: 'Refuses more use', notify: 'Only notifies' };

const referenceOf = ({ externalId, pricingModelId }: Customer) => ({ externalId, pricingModelId });

/** The spend limits of a customer with what is used of them, and its automatic top-up, with their forms. */
export function SpendControls(props: ControlsOf) {
  const { customer } = props;
  const may = useMay('customers:write') && !customer.archived;
  const [opened, setOpened] = useState<'limits' | 'topUp' | null>(null);
  const pools = usePools(customer);
  const { data, error, refetch } = useQuery(read('customers', 'getSpendControls', referenceOf(customer)));
  if (data === undefined) return error === null ? null : <Problem error={error} retry={refetch} />;
  const controls = data.spendControls;
  const change = (part: 'limits' | 'topUp', label: string) =>
    may && (
      <Button variant="default" size="xs" aria-label={label} onClick={() => setOpened(part)}>
        Change
      </Button>
    );
  const dialog = { ...props, controls, onClose: () => setOpened(null) };
  return (
    <>
      <Section title="Spend limits" aside={change('limits', 'Change the spend limits')}>
        {controls.limits.length === 0 ? (
          <p className="quiet">None. A limit refuses or reports use beyond an amount in a period.</p>
        ) : (
          <Facts facts={controls.limits.map((limit) => limitFact(limit, { ...props, pools }))} />
        )}
      </Section>
      <Section title="Automatic top-up" aside={change('topUp', 'Change the automatic top-up')}>
        <TopUp {...props} controls={controls} />
      </Section>
      {opened === 'limits' && <LimitsDialog {...dialog} />}
      {opened === 'topUp' && <TopUpDialog {...dialog} />}
    </>
  );
}

function amountText(amount: number | string, unit: SpendLimit['unit'], currency: string): string {
  return unit === 'money' ? moneyText(Number(amount), currency) : countText(amount);
}

/** The credit pools of the pricing model of a customer. */
function usePools({ pricingModelId }: Customer) {
  return useQuery(read('creditPools', 'list', { pricingModelId, limit: 100 })).data?.data ?? [];
}

interface LimitOf extends ControlsOf {
  readonly pools: ReturnType<typeof usePools>;
}

function limitFact(
  { id, setBy, usageMeterId, creditPoolId, label, period, amount, unit, action, counters }: SpendLimit,
  { billing, pools, currency }: LimitOf,
) {
  const subject = [...billing.pricingModel.usageMeters, ...pools].find(
    (each) => each.id === (creditPoolId ?? usageMeterId),
  );
  const name = [subject?.name ?? 'All meters', label && `(${label})`].filter(Boolean).join(' ');
  const used = counters.reduce<number | string>(
    (most, { usedAmount }) => (Number(usedAmount) > Number(most) ? usedAmount : most),
    0,
  );
  const resetsAt = counters[0]?.resetsAt ?? null;
  const text = `${amountText(used, unit, currency)} of ${amountText(amount, unit, currency)}`;
  return [
    `${name}, ${periods[period].toLowerCase()}`,
    <div key={id} className="capacity">
      {text}, {setters[setBy]}
      {action === 'notify' && ', only notifies'}
      {resetsAt !== null && `, begins again on ${dateText(resetsAt)}`}
      <Progress
        value={Math.min(100, (Number(used) / Number(amount)) * 100)}
        size="sm"
        mt={6}
        aria-label={`${name}: ${text}`}
      />
    </div>,
  ] as const;
}

function TopUp({ controls: { autoTopUp }, customer, billing, currency }: Omit<DialogProps, 'onClose'>) {
  const pools = usePools(customer);
  if (autoTopUp === null) return <p className="quiet">None. It buys credits when a balance falls below a line.</p>;
  const {
    usageMeterId,
    creditPoolId,
    priceSlug,
    below,
    upTo,
    quantity,
    maximumAmountPerMonth,
    amountThisMonth,
    stoppedAt,
  } = autoTopUp;
  const subjects = [...billing.pricingModel.usageMeters, ...pools];
  const subject = subjects.find(({ id }) => id === (creditPoolId ?? usageMeterId));
  return (
    <Facts
      facts={[
        [
          'Buys',
          `${priceSlug ?? 'a price that is gone'}, ${upTo === null ? `${quantity} each time` : `up to ${countText(upTo)}`}`,
        ],
        ['When the balance is below', `${countText(below)} of ${subject?.name ?? 'the meter'}`],
        ['This month', `${moneyText(amountThisMonth, currency)} of ${moneyText(maximumAmountPerMonth, currency)}`],
        ...(stoppedAt === null ? [] : [['Stopped', `${instantText(stoppedAt)}, after three failures`] as const]),
      ]}
    />
  );
}

type Change = CustomersUpdateSpendControlsInput;

const call = (input: Change, options: Parameters<typeof api.customers.updateSpendControls>[1]) =>
  api.customers.updateSpendControls(input, options);

const newLimit: SpendLimitInput = { period: 'month', amount: 1000, unit: 'units', action: 'block' };

function LimitsDialog({ customer, billing, currency, controls, onClose }: DialogProps) {
  const pools = usePools(customer);
  const [limits, setLimits] = useState<readonly SpendLimitInput[]>(
    controls.limits
      .filter(({ setBy }) => setBy === 'seller')
      .map(({ usageMeterSlug, creditPoolSlug, label, period, amount, unit, action, thresholds }) => {
        return {
          usageMeterSlug,
          creditPoolSlug: creditPoolSlug ?? null,
          label,
          period,
          amount,
          unit,
          action,
          thresholds,
        };
      }),
  );
  const change = (index: number, next: Partial<SpendLimitInput>) =>
    setLimits(limits.map((limit, at) => (at === index ? { ...limit, ...next } : limit)));
  const isComplete = limits.every(({ amount }) => Number(amount) > 0);
  return (
    <ChangeDialog<Change, { spendControls: Controls }>
      title="Spend limits"
      opened
      onClose={onClose}
      size="xl"
      input={isComplete ? { ...referenceOf(customer), spendControls: { limits: [...limits] } } : null}
      call={call}
      effects={({ spendControls }) => [
        {
          text: `${counted(spendControls.limits.length, 'limit')} in force: yours, those of the plan and those of the customer.`,
        },
        ...spendControls.limits
          .filter(
            ({ action, counters, amount }) =>
              action === 'block' && counters.some((each) => Number(each.usedAmount) >= Number(amount)),
          )
          .map(({ amount, unit, period }) => ({
            text: `${amountText(amount, unit, currency)} in ${periods[period].toLowerCase()} is used already: more is refused.`,
            isLoss: true,
          })),
      ]}
      confirm="Set the limits"
      done="The limits were set"
    >
      <Stack gap="sm">
        {limits.map((limit, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a limit that is being written has no name
          <Group key={index} align="end" gap="xs" wrap="nowrap">
            <SimpleGrid cols={{ base: 2, xs: 3, md: 6 }} spacing="xs" flex={1}>
              <LimitFields
                limit={limit}
                billing={billing}
                pools={pools}
                currency={currency}
                onChange={(next) => change(index, next)}
              />
            </SimpleGrid>
            <RemoveRow label="Remove the limit" onClick={() => setLimits(limits.filter((_, at) => at !== index))} />
          </Group>
        ))}
        <AddRow onClick={() => setLimits([...limits, newLimit])}>Add a limit</AddRow>
      </Stack>
    </ChangeDialog>
  );
}

interface LimitFieldsProps extends Pick<LimitOf, 'billing' | 'pools' | 'currency'> {
  readonly limit: SpendLimitInput;
  readonly onChange: (next: Partial<SpendLimitInput>) => void;
}

function LimitFields({ limit, billing, pools, currency, onChange }: LimitFieldsProps) {
  const { usageMeterSlug = null, creditPoolSlug, label, period, amount, unit = 'units', action = 'block' } = limit;
  return (
    <>
      <Select
        label="Meter or pool"
        placeholder="All"
        clearable
        data={[
          ...billing.pricingModel.usageMeters.map(({ slug, name }) => ({ value: `meter ${slug}`, label: name })),
          ...pools.map(({ slug, name }) => ({ value: `pool ${slug}`, label: name })),
        ]}
        value={creditPoolSlug ? `pool ${creditPoolSlug}` : usageMeterSlug && `meter ${usageMeterSlug}`}
        onChange={(chosen) => {
          const [, kind, slug = null] = /^(meter|pool) (.*)$/s.exec(chosen ?? '') ?? [];
          if (kind === 'pool') onChange({ usageMeterSlug: null, creditPoolSlug: slug, unit: 'units' });
          else onChange({ usageMeterSlug: slug, creditPoolSlug: null, amount: Math.ceil(Number(amount)) });
        }}
      />
      <TextInput
        label="Label"
        placeholder="Any"
        value={label ?? ''}
        maxLength={255}
        onChange={(event) => onChange({ label: event.currentTarget.value || null })}
      />
      {unit === 'money' ? (
        <AmountInput
          label="Most"
          currency={currency}
          value={Number(amount)}
          onChange={(most) => onChange({ amount: most ?? 0 })}
        />
      ) : (
        <WholeField label="Most" min={1} value={Number(amount)} onChange={(most) => onChange({ amount: most ?? 0 })} />
      )}
      <Select
        label="Of"
        data={choices(Object.keys(units), units)}
        disabled={Boolean(creditPoolSlug)}
        value={unit}
        onChange={(next) => onChange({ unit: next === 'money' ? 'money' : 'units' })}
      />
      <Select
        label="In"
        data={choices(Object.keys(periods), periods)}
        value={period}
        onChange={(next) => onChange({ period: (next ?? 'month') as SpendLimit['period'] })}
      />
      <Select
        label="Then"
        data={choices(Object.keys(actions), actions)}
        value={action}
        onChange={(next) => onChange({ action: next === 'notify' ? 'notify' : 'block' })}
      />
    </>
  );
}

/** A balance in a field: that of a credit pool is a decimal text. */
function toNumber(amount: number | string | null | undefined): number | undefined {
  return amount == null ? undefined : Number(amount);
}

function sentAmount(amount: number): number | string {
  return Number.isInteger(amount) ? amount : String(amount);
}

function TopUpDialog({ customer, billing, currency, controls, onClose }: DialogProps) {
  const stored = controls.autoTopUp;
  const [priceSlug, setPriceSlug] = useState(stored?.priceSlug ?? null);
  const [below, setBelow] = useState(toNumber(stored?.below));
  const [upTo, setUpTo] = useState(toNumber(stored?.upTo));
  const [quantity, setQuantity] = useState<number | undefined>(stored?.quantity ?? undefined);
  const [most, setMost] = useState<number | null>(stored?.maximumAmountPerMonth ?? null);
  const prices = billing.pricingModel.products.flatMap(({ name, prices: own }) =>
    own.flatMap(({ type, slug }) => (type === 'single_payment' && slug !== null ? [{ value: slug, label: name }] : [])),
  );
  const isComplete = Boolean(below) && (upTo === undefined) !== (quantity === undefined) && Boolean(most);
  const autoTopUp =
    priceSlug === null
      ? null
      : {
          priceSlug,
          below: sentAmount(below ?? 0),
          upTo: upTo === undefined ? null : sentAmount(upTo),
          quantity: quantity ?? null,
          maximumAmountPerMonth: most ?? 0,
        };
  return (
    <ChangeDialog<Change, { spendControls: Controls }>
      title="Automatic top-up"
      opened
      onClose={onClose}
      input={autoTopUp === null || isComplete ? { ...referenceOf(customer), spendControls: { autoTopUp } } : null}
      call={call}
      effects={({ spendControls: { autoTopUp: set } }) => [
        set === null
          ? { text: 'Nothing is bought by itself.', isLoss: stored !== null }
          : {
              text: `A balance below ${countText(set.below)} buys ${words(set.priceSlug ?? '')}, soon if it is below now.`,
            },
      ]}
      confirm={autoTopUp === null ? 'Remove' : 'Set'}
      done="The automatic top-up was changed"
    >
      <Select label="Buys" placeholder="Nothing" clearable data={prices} value={priceSlug} onChange={setPriceSlug} />
      {priceSlug !== null && (
        <>
          <WholeField label="When the balance is below" min={1} value={below} onChange={setBelow} />
          <Group grow align="end">
            <WholeField label="Up to a balance of" value={upTo} onChange={setUpTo} disabled={quantity !== undefined} />
            <WholeField
              label="Or this quantity"
              value={quantity}
              onChange={setQuantity}
              disabled={upTo !== undefined}
            />
          </Group>
          <AmountInput label="Most in a month" currency={currency} value={most} onChange={setMost} />
        </>
      )}
    </ChangeDialog>
  );
}
