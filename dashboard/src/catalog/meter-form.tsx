import { Select, Stack, Switch, TextInput } from '@mantine/core';
import { counted } from '../parts/format.ts';
import { PricePreview } from '../parts/price-preview.tsx';
import type { CatalogMeter, UsagePrice } from './draft.ts';
import { put, slugFrom } from './draft.ts';
import { AddRow, choices, IntervalField, NameFields, RemoveRow, WhereFields, WholeField } from './fields.tsx';
import { type Amounts, PricingFields, pricingIssue } from './pricing-fields.tsx';
import { type FormProps, More } from './product-form.tsx';

export const newMeter: CatalogMeter = { usageMeter: { name: '', slug: '', aggregationType: 'sum' }, prices: [] };

/** Why a meter cannot go into the draft; null: it can. */
export function meterIssue({ usageMeter: { name, slug }, prices }: CatalogMeter): string | null {
  if (name === '' || slug === '') return 'A usage meter needs a name.';
  const issues = prices.map((price) => (price.slug ? pricingIssue(price.pricing) : 'A price needs a slug.'));
  return issues.find((issue) => issue !== null) ?? null;
}

const countings = {
  sum: 'Adds up the amounts of events',
  count: 'Counts events',
  count_distinct_properties: 'Counts distinct properties, such as active users',
  max: 'Takes the largest amount of a period',
  latest: 'Takes the latest amount of a period',
  unit_hours: 'Takes an amount times the hours for which it is held',
};
const shares = {
  none: 'The value at the end of the period',
  day: 'The share of days for which it is held',
  second: 'The exact share of the time',
};

export function MeterForm(props: FormProps<CatalogMeter>) {
  const { value, onChange, isNew } = props;
  const { usageMeter, prices } = value;
  const change = (next: CatalogMeter['usageMeter']) => onChange({ ...value, usageMeter: next });
  const add = () => {
    const taken = prices.filter(({ slug }) => slug?.startsWith(usageMeter.slug)).length;
    const slug = taken === 0 ? usageMeter.slug : `${usageMeter.slug}-${taken + 1}`;
    onChange({
      ...value,
      prices: [
        ...prices,
        newUsagePrice(
          slug,
          prices.every(({ isDefault }) => !isDefault),
        ),
      ],
    });
  };
  return (
    <Stack gap="lg">
      <NameFields
        name={usageMeter.name}
        slug={usageMeter.slug}
        isNew={isNew}
        onChange={(named) => change({ ...usageMeter, ...named })}
      />
      <Select
        label="How it counts"
        data={choices(Object.keys(countings), countings)}
        value={usageMeter.aggregationType}
        onChange={(type) => change({ ...usageMeter, aggregationType: (type ?? 'sum') as 'sum' })}
        disabled={!isNew}
      />
      <More label="Named events, standing quantities and low balances">
        <CountingFields {...props} />
      </More>
      <Stack gap="md">
        <h3>Prices of what no credit covers</h3>
        {prices.map((price, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a price of a draft may have no name yet
          <PriceOfMeter key={index} {...props} price={price} index={index} />
        ))}
        <AddRow onClick={add}>Add a price</AddRow>
      </Stack>
    </Stack>
  );
}

function newUsagePrice(slug: string, isDefault: boolean): UsagePrice {
  const interval = { intervalUnit: 'month', intervalCount: 1, usageInterval: 'subscription' } as const;
  const terms = { usageEventsPerUnit: 1, trialPeriodDays: null, isDefault, active: true };
  return { type: 'usage', slug, unitPrice: 1, ...interval, ...terms };
}

function CountingFields({ value, onChange, isNew }: FormProps<CatalogMeter>) {
  const { usageMeter } = value;
  const change = (next: CatalogMeter['usageMeter']) => onChange({ ...value, usageMeter: next });
  return (
    <>
      <TextInput
        label="Name of the events"
        description="Events with this name count here, in whatever request they come."
        value={usageMeter.eventName ?? ''}
        onChange={(event) => change(put(usageMeter, 'eventName', event.currentTarget.value))}
      />
      {usageMeter.eventName !== undefined && (
        <>
          <TextInput
            label="Property with the amount"
            value={usageMeter.valueProperty ?? ''}
            onChange={(event) => change(put(usageMeter, 'valueProperty', event.currentTarget.value))}
          />
          <WhereFields
            label="Only events where"
            description="All of these properties have one of the values."
            value={usageMeter.where}
            onChange={(where) => change(put(usageMeter, 'where', where))}
          />
        </>
      )}
      <WholeField
        label="Tell me when a balance falls below"
        value={usageMeter.lowBalanceThreshold}
        onChange={(threshold) => change(put(usageMeter, 'lowBalanceThreshold', threshold || undefined))}
      />
      <Switch
        label="A standing quantity"
        description="The sum is kept over billing periods, as for storage or devices."
        checked={usageMeter.recurring ?? false}
        disabled={!isNew}
        onChange={({ currentTarget: { checked } }) =>
          change(put(put(usageMeter, 'recurring', checked || undefined), 'proration', checked ? 'none' : undefined))
        }
      />
      {usageMeter.recurring && (
        <Select
          label="A part of a period counts as"
          data={choices(Object.keys(shares), shares)}
          value={usageMeter.proration ?? 'none'}
          onChange={(proration) => change({ ...usageMeter, proration: (proration ?? 'none') as 'none' })}
          disabled={!isNew}
        />
      )}
    </>
  );
}

function PriceOfMeter({
  value,
  onChange,
  currency,
  price,
  index,
}: FormProps<CatalogMeter> & { readonly price: UsagePrice; readonly index: number }) {
  const change = (next: UsagePrice) => onChange({ ...value, prices: value.prices.with(index, next) });
  const name = price.name ?? price.slug ?? counted(index + 1, 'price');
  const setDefault = (isDefault: boolean) => {
    const prices = value.prices.map((each, place) => ({ ...each, isDefault: place === index && isDefault }));
    onChange({ ...value, prices });
  };
  const rename = (text: string) => {
    const follows = price.slug === slugFrom(price.name ?? '');
    change({ ...put(price, 'name', text), ...(follows && { slug: slugFrom(text) }) });
  };
  return (
    <fieldset className="price-of-meter" aria-label={name}>
      <div className="price-of-meter-head">
        <TextInput
          label="Name"
          placeholder={price.slug ?? ''}
          value={price.name ?? ''}
          onChange={(event) => rename(event.currentTarget.value)}
        />
        <TextInput
          label="Slug"
          value={price.slug ?? ''}
          onChange={(event) => change(put(price, 'slug', event.currentTarget.value.trim()))}
          classNames={{ input: 'identifier' }}
        />
        <RemoveRow
          label={`Remove ${name}`}
          onClick={() => onChange({ ...value, prices: value.prices.toSpliced(index, 1) })}
        />
      </div>
      <AmountsOfUsage price={price} onChange={change} currency={currency} />
      <Switch
        label="Rates all usage that no other price rates"
        checked={price.isDefault}
        disabled={price.where !== undefined}
        onChange={(event) => setDefault(event.currentTarget.checked)}
      />
      <More label="Conditions and interval">
        <WhereFields
          label="Only events where"
          description="The price with the most matching properties rates an event."
          value={price.where}
          onChange={(where) => change({ ...put(price, 'where', where), ...(where && { isDefault: false }) })}
        />
        <OwnInterval price={price} onChange={change} />
      </More>
    </fieldset>
  );
}

interface OfPrice {
  readonly price: UsagePrice;
  readonly onChange: (price: UsagePrice) => void;
}

// The precision of an amount.
const digits = 12;

function AmountsOfUsage({ price, onChange, currency }: OfPrice & { readonly currency: string }) {
  const { unitPrice, usageEventsPerUnit, pricing } = price;
  const setAmounts = (next: Amounts) =>
    onChange(
      put(
        { ...price, unitPrice: next.unitPrice, usageEventsPerUnit: next.usageEventsPerUnit ?? 1 },
        'pricing',
        next.pricing,
      ),
    );
  const computed = pricing ?? {
    model: 'per_unit' as const,
    unitAmount: (unitPrice / usageEventsPerUnit).toFixed(digits),
  };
  const canCompute = computed.model !== 'dynamic' && pricingIssue(computed) === null;
  return (
    <Stack gap="sm">
      <PricingFields
        value={{ unitPrice, usageEventsPerUnit, ...(pricing && { pricing }) }}
        onChange={setAmounts}
        currency={currency}
        unit="unit"
        isPlan={false}
      />
      {canCompute && <PricePreview of={{ pricing: computed }} from={1000} />}
    </Stack>
  );
}

function OwnInterval({ price, onChange }: OfPrice) {
  const isOwn = price.usageInterval !== 'subscription';
  const change = (own: boolean) => onChange(put(price, 'usageInterval', own ? undefined : 'subscription'));
  return (
    <>
      <Switch
        label="Billed in an interval of its own"
        description="Such as each month of an annual plan."
        checked={isOwn}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      {isOwn && (
        <IntervalField
          label="Every"
          value={{ unit: price.intervalUnit as 'month', count: price.intervalCount }}
          onChange={({ unit, count }) => onChange({ ...price, intervalUnit: unit, intervalCount: count })}
        />
      )}
    </>
  );
}
