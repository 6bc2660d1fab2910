import { Group, MultiSelect, Stack, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { DiscountsUpdateInput, RedeemedDiscount } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { counted, moneyText } from '../parts/format.ts';
import { MoneyField, WholeField } from './fields.tsx';

/** The limits of a code: its customers, products and times. A limit that is absent is none. */
export type Limits = Pick<
  RedeemedDiscount,
  | 'expiresAt'
  | 'maximumRedemptions'
  | 'maximumRedemptionsPerCustomer'
  | 'productIds'
  | 'minimumAmount'
  | 'firstPurchaseOnly'
>;

const dayLength = 10;

/** The day of an instant in UTC, as a field of a date writes it. */
function dayOf(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString().slice(0, dayLength);
}

/** The limits as sentences, without a point. */
export function limitTexts(limits: Limits, currency: string): readonly string[] {
  const { expiresAt, maximumRedemptions, maximumRedemptionsPerCustomer, productIds, minimumAmount } = limits;
  return [
    expiresAt === undefined ? '' : `until ${dayOf(expiresAt)} (UTC)`,
    maximumRedemptions === undefined ? '' : `${counted(maximumRedemptions, 'time')} in all`,
    maximumRedemptionsPerCustomer === undefined ? '' : `${counted(maximumRedemptionsPerCustomer, 'time')} a customer`,
    productIds === undefined ? '' : `for ${counted(productIds.length, 'product')}`,
    minimumAmount === undefined ? '' : `from ${moneyText(minimumAmount, currency)}`,
    limits.firstPurchaseOnly ? 'for new customers' : '',
  ].filter((text) => text !== '');
}

/** The change that makes these the limits: null takes one away. */
export function limitChange(limits: Limits): DiscountsUpdateInput['discount'] {
  return {
    expiresAt: limits.expiresAt ?? null,
    maximumRedemptions: limits.maximumRedemptions ?? null,
    maximumRedemptionsPerCustomer: limits.maximumRedemptionsPerCustomer ?? null,
    productIds: limits.productIds ?? null,
    minimumAmount: limits.minimumAmount ?? null,
    firstPurchaseOnly: limits.firstPurchaseOnly ?? null,
  };
}

interface LimitFieldsProps {
  readonly value: Limits;
  readonly onChange: (value: Limits) => void;
  readonly currency: string;
  readonly modelId: string;
}

export function LimitFields({ value, onChange, currency, modelId }: LimitFieldsProps) {
  const { data } = useQuery(read('pricingModels', 'get', { id: modelId }));
  const products = (data?.pricingModel.products ?? []).map(({ id, name }) => ({ value: id, label: name }));
  /** The limits with one of them changed or, with undefined, taken away. */
  const set = (name: keyof Limits, next: unknown) => {
    const { [name]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <Stack gap="sm">
      <Group grow align="start">
        <TextInput
          label="Ends on"
          description="At the beginning of the day, in UTC"
          type="date"
          value={dayOf(value.expiresAt)}
          onChange={({ currentTarget: { value: day } }) => set('expiresAt', day === '' ? undefined : Date.parse(day))}
        />
        <MoneyField
          label="Least order"
          description="Before discounts and tax"
          currency={currency}
          value={value.minimumAmount === undefined ? undefined : String(value.minimumAmount)}
          onChange={(next) => set('minimumAmount', next === undefined ? undefined : Math.round(Number(next)))}
        />
      </Group>
      <Group grow align="start">
        <WholeField
          label="Times in all"
          placeholder="Any number"
          min={1}
          value={value.maximumRedemptions}
          onChange={(next) => set('maximumRedemptions', next)}
        />
        <WholeField
          label="Times a customer"
          placeholder="As the settings say"
          min={1}
          value={value.maximumRedemptionsPerCustomer}
          onChange={(next) => set('maximumRedemptionsPerCustomer', next)}
        />
      </Group>
      <MultiSelect
        label="Products"
        placeholder={value.productIds === undefined ? 'All' : ''}
        data={products}
        value={[...(value.productIds ?? [])]}
        onChange={(ids) => set('productIds', ids.length === 0 ? undefined : ids)}
        searchable
        clearable
      />
      <Switch
        label="Only for customers who have never had an invoice to pay"
        checked={value.firstPurchaseOnly ?? false}
        onChange={(event) => set('firstPurchaseOnly', event.currentTarget.checked || undefined)}
      />
    </Stack>
  );
}
