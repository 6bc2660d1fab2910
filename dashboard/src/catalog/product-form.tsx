import {
  Collapse,
  Group,
  MultiSelect,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { PricePreview } from '../parts/price-preview.tsx';
import type { Catalog, CatalogProduct, GivenFeature, PlanPrice } from './draft.ts';
import { givenOf, isSame, put } from './draft.ts';
import { AddRow, choices, IntervalField, MoneyField, NameFields, ValueField, WholeField } from './fields.tsx';
import { type Amounts, PricingFields, pricingIssue } from './pricing-fields.tsx';

/** The form of a record: it changes a copy, which goes into the draft as a whole. */
export interface FormProps<Record> {
  readonly value: Record;
  readonly onChange: (value: Record) => void;
  readonly catalog: Catalog;
  readonly currency: string;
  readonly isNew: boolean;
}

export const newProduct: CatalogProduct = {
  product: { name: '', slug: '', default: false, active: true },
  price: {
    type: 'subscription',
    unitPrice: 1000,
    isDefault: true,
    active: true,
    usageMeterId: null,
    usageEventsPerUnit: null,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    overage: 'bill',
  },
  features: [],
};

type SubscriptionPrice = Extract<PlanPrice, { type: 'subscription' }>;

/** Why a product cannot go into the draft; null: it can. */
export function productIssue({ product, price, features }: CatalogProduct): string | null {
  if (product.name === '' || product.slug === '') return 'A product needs a name.';
  if (features.some((given) => givenOf(given).value === '')) return 'A value that is a text cannot be empty.';
  return price.type === 'subscription' ? pricingIssue(price.pricing) : null;
}

export function ProductForm(props: FormProps<CatalogProduct>) {
  const { value, onChange, isNew } = props;
  const { product, price } = value;
  const rename = ({ name, slug }: { name: string; slug: string }) => {
    const named = { ...value, product: { ...product, name, slug } };
    onChange(isNew ? { ...named, price: { ...price, slug } } : named);
  };
  return (
    <Stack gap="lg">
      <NameFields name={product.name} slug={product.slug} isNew={isNew} onChange={rename} />
      {isNew && <KindField {...props} />}
      {product.default ? (
        <Text size="sm" c="dimmed">
          Every customer begins on this plan, and returns to it. It is free, and its price stays.
        </Text>
      ) : price.type === 'subscription' ? (
        <PlanFields {...props} price={price} />
      ) : (
        <MoneyField
          label="Amount, once"
          currency={props.currency}
          value={String(price.unitPrice)}
          onChange={(amount) => onChange({ ...value, price: { ...price, unitPrice: Number(amount ?? 0) } })}
        />
      )}
      <GivenFields {...props} />
      <More label="Description, quantities and rates">
        <TextFields {...props} />
      </More>
      {!product.default && !isNew && (
        <Switch
          label="For sale"
          description="Subscribers keep a product that is no longer for sale."
          checked={product.active}
          onChange={({ currentTarget }) =>
            onChange({ ...value, product: { ...product, active: currentTarget.checked } })
          }
        />
      )}
    </Stack>
  );
}

/** Fields that most people leave as they are. */
export function More({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const [opened, { open }] = useDisclosure(false);
  return (
    <div>
      {!opened && <AddRow onClick={open}>{label}</AddRow>}
      <Collapse expanded={opened}>{opened && <Stack gap="sm">{children}</Stack>}</Collapse>
    </div>
  );
}

const kinds = [
  { value: 'plan', label: 'Plan' },
  { value: 'addOn', label: 'Add-on' },
  { value: 'once', label: 'Paid once' },
];

/** A plan, an extra beside it, or a thing that is paid once. It stays as it was made. */
function KindField({ value, onChange }: FormProps<CatalogProduct>) {
  const { product, price } = value;
  const kind = price.type === 'single_payment' ? 'once' : product.addOn ? 'addOn' : 'plan';
  const choose = (next: string) => {
    const { slug = '', unitPrice } = price;
    const once = { type: 'single_payment', isDefault: true, active: true, usageMeterId: null } as const;
    onChange({
      ...value,
      product: put(product, 'addOn', next === 'addOn' || undefined),
      price:
        next === 'once'
          ? { ...once, slug, unitPrice, usageEventsPerUnit: null, trialPeriodDays: null }
          : { ...(newProduct.price as SubscriptionPrice), slug },
    });
  };
  return <SegmentedControl aria-label="Kind" data={kinds} value={kind} onChange={choose} />;
}

function PlanFields({
  value,
  onChange,
  currency,
  price,
}: FormProps<CatalogProduct> & { readonly price: SubscriptionPrice }) {
  const unit = value.product.singularQuantityLabel ?? 'unit';
  const change = (next: SubscriptionPrice) => onChange({ ...value, price: next });
  const setAmounts = ({ unitPrice, pricing }: Amounts) => change(put({ ...price, unitPrice }, 'pricing', pricing));
  const pricing = price.pricing ?? { model: 'per_unit' as const, unitAmount: String(price.unitPrice) };
  return (
    <Stack gap="sm">
      <PricingFields
        value={{
          unitPrice: price.unitPrice,
          usageEventsPerUnit: null,
          ...(price.pricing && { pricing: price.pricing }),
        }}
        onChange={setAmounts}
        currency={currency}
        unit={unit}
        isPlan
      />
      <IntervalField
        label="Every"
        value={{ unit: price.intervalUnit as 'month', count: price.intervalCount }}
        onChange={({ unit: intervalUnit, count }) => change({ ...price, intervalUnit, intervalCount: count })}
      />
      {price.pricing !== undefined && pricingIssue(price.pricing) === null && (
        <PricePreview of={{ pricing }} unit={unit} from={20} />
      )}
      <More label="Trial, setup fee, commitment and timing">
        <TermFields price={price} onChange={change} currency={currency} />
      </More>
    </Stack>
  );
}

const timings = { in_advance: 'At the start of each period', in_arrears: 'At the end of each period' };
const overages = { bill: 'Is billed', none: 'Is not billed' };

interface TermFieldsProps {
  readonly price: SubscriptionPrice;
  readonly onChange: (price: SubscriptionPrice) => void;
  readonly currency: string;
}

function TermFields({ price, onChange, currency }: TermFieldsProps) {
  const amountOf = (value: number | undefined) => (value === undefined ? undefined : String(value));
  const money = (text: string | undefined) => (text === undefined ? undefined : Math.round(Number(text)));
  return (
    <>
      <Group grow align="end">
        <WholeField
          label="Days of trial"
          value={price.trialPeriodDays}
          onChange={(days) => onChange({ ...price, trialPeriodDays: days || null })}
        />
        <MoneyField
          label="Setup fee"
          currency={currency}
          value={amountOf(price.setupFeeAmount)}
          onChange={(fee) => onChange(put(price, 'setupFeeAmount', money(fee)))}
        />
        <MoneyField
          label="Least for a period"
          currency={currency}
          value={amountOf(price.minimumCommitment)}
          onChange={(least) => onChange(put(price, 'minimumCommitment', money(least)))}
        />
      </Group>
      <Group grow align="end">
        <Select
          label="Billed"
          data={choices(Object.keys(timings), timings)}
          value={price.billingTiming ?? 'in_advance'}
          onChange={(timing) =>
            onChange(put(price, 'billingTiming', timing === 'in_arrears' ? 'in_arrears' : undefined))
          }
        />
        <Select
          label="Usage beyond the credits"
          data={choices(Object.keys(overages), overages)}
          value={price.overage}
          onChange={(overage) => onChange({ ...price, overage: overage === 'none' ? 'none' : 'bill' })}
        />
      </Group>
    </>
  );
}

function GivenFields({ value, onChange, catalog }: FormProps<CatalogProduct>) {
  const given = new Map(value.features.map((each) => [givenOf(each).slug, each]));
  const offered = catalog.features.filter(({ slug, active }) => active || given.has(slug));
  const change = (next: ReadonlyMap<string, GivenFeature>) => onChange({ ...value, features: [...next.values()] });
  return (
    <>
      <MultiSelect
        label="Gives"
        placeholder={offered.length === 0 ? 'There is no feature yet' : given.size === 0 ? 'Features' : ''}
        data={offered.map(({ slug, name }) => ({ value: slug, label: name }))}
        value={[...given.keys()]}
        onChange={(slugs) => change(new Map(slugs.map((slug) => [slug, given.get(slug) ?? slug])))}
        searchable
        hidePickedOptions
      />
      {offered.map((feature) => {
        const granted = given.get(feature.slug);
        if (feature.type !== 'value' || granted === undefined) return null;
        const { slug, name } = feature;
        return (
          <ValueField
            key={slug}
            label={name}
            value={givenOf(granted).value ?? feature.value}
            onChange={(own) =>
              change(new Map(given).set(slug, isSame(own, feature.value) ? slug : { slug, value: own }))
            }
          />
        );
      })}
    </>
  );
}

function TextFields({ value, onChange, catalog }: FormProps<CatalogProduct>) {
  const { product } = value;
  const change = (next: CatalogProduct['product']) => onChange({ ...value, product: next });
  return (
    <>
      <Textarea
        label="Description"
        autosize
        minRows={2}
        value={product.description ?? ''}
        onChange={(event) => change(put(product, 'description', event.currentTarget.value))}
      />
      <Group grow>
        <TextInput
          label="One is called"
          placeholder="seat"
          value={product.singularQuantityLabel ?? ''}
          onChange={(event) => change(put(product, 'singularQuantityLabel', event.currentTarget.value))}
        />
        <TextInput
          label="Several are called"
          placeholder="seats"
          value={product.pluralQuantityLabel ?? ''}
          onChange={(event) => change(put(product, 'pluralQuantityLabel', event.currentTarget.value))}
        />
      </Group>
      <Group grow align="end">
        <WholeField
          label="Buyers choose from"
          value={product.minimumQuantity}
          onChange={(least) => change(put(product, 'minimumQuantity', least || undefined))}
        />
        <WholeField
          label="to"
          value={product.maximumQuantity}
          onChange={(most) => change(put(product, 'maximumQuantity', most || undefined))}
        />
      </Group>
      {catalog.usageMeters.map((meter) => (
        <RateField key={meter.usageMeter.slug} value={product} onChange={change} meter={meter} />
      ))}
    </>
  );
}

interface RateFieldProps {
  readonly value: CatalogProduct['product'];
  readonly onChange: (value: CatalogProduct['product']) => void;
  readonly meter: Catalog['usageMeters'][number];
}

/** The price of a meter for the subscribers of this product. */
function RateField({ value, onChange, meter: { usageMeter, prices } }: RateFieldProps) {
  const rates = value.usagePrices ?? [];
  const rate = rates.find(({ usageMeterSlug }) => usageMeterSlug === usageMeter.slug);
  const usual = '';
  const offered = prices.flatMap(({ slug, name, active, where }) =>
    slug === undefined || !active || where !== undefined ? [] : [{ value: slug, label: name ?? slug }],
  );
  const choose = (priceSlug: string | null) => {
    const others = rates.filter(({ usageMeterSlug }) => usageMeterSlug !== usageMeter.slug);
    const next = priceSlug ? [...others, { usageMeterSlug: usageMeter.slug, priceSlug }] : others;
    onChange(put(value, 'usagePrices', next.length === 0 ? undefined : next));
  };
  return (
    <Select
      label={`Rate of ${usageMeter.name}`}
      data={[{ value: usual, label: 'The usual price of the meter' }, ...offered]}
      value={rate?.priceSlug ?? usual}
      onChange={choose}
    />
  );
}
