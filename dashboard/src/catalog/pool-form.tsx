import { Group, Select, Stack, Switch } from '@mantine/core';
import { type Catalog, type CatalogPool, find, put } from './draft.ts';
import { AddRow, DecimalField, NameFields, RemoveRow, WhereFields, WholeField } from './fields.tsx';
import { type FormProps, More } from './product-form.tsx';

type Rate = CatalogPool['rates'][number];

export const newPool: CatalogPool = { slug: '', name: '', unit: 'credit', rates: [] };

/** Why a pool cannot go into the draft; null: it can. */
export function poolIssue({ name, slug, rates }: CatalogPool): string | null {
  if (name === '' || slug === '') return 'A credit pool needs a name.';
  if (rates.some(({ usageMeterSlug }) => usageMeterSlug === '')) return 'A rate needs a usage meter.';
  if (rates.some(({ cost }) => !/[1-9]/.test(cost))) return 'A rate needs what the units cost.';
  if (rates.some(({ per }) => !per)) return 'A rate is for at least 1 unit.';
  const named = rates.map(({ usageMeterSlug, where }) => JSON.stringify([usageMeterSlug, where ?? null]));
  return new Set(named).size < named.length ? 'Two rates of a meter need different conditions.' : null;
}

/** The form of a credit pool: its rates, and what never changes of it. */
export function PoolForm(props: FormProps<CatalogPool>) {
  const { value, onChange, catalog, currency, isNew } = props;
  const { unit, rates } = value;
  const setUnit = (next: string | null) => {
    const chosen = next ?? 'credit';
    onChange(put({ ...value, unit: chosen }, 'drawAtPrice', chosen === 'credit' ? undefined : value.drawAtPrice));
  };
  const usageMeterSlug = catalog.usageMeters[0]?.usageMeter.slug ?? '';
  return (
    <Stack gap="lg">
      <NameFields {...value} isNew={isNew} onChange={(named) => onChange({ ...value, ...named })} />
      <Select
        label="It counts"
        description="This never changes."
        data={[
          { value: 'credit', label: 'Credits' },
          { value: currency, label: `Money, ${currency}` },
          ...(unit === 'credit' || unit === currency ? [] : [{ value: unit, label: `Money, ${unit}` }]),
        ]}
        value={unit}
        onChange={setUnit}
        disabled={!isNew}
        allowDeselect={false}
      />
      {unit !== 'credit' && (
        <Switch
          label="Usage without a rate draws its price"
          description="For commitments in money. This never changes."
          checked={value.drawAtPrice ?? false}
          disabled={!isNew}
          onChange={({ currentTarget: { checked } }) => onChange(put(value, 'drawAtPrice', checked || undefined))}
        />
      )}
      <Stack gap="md">
        <h3>What usage costs</h3>
        {rates.map((rate, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two rates of a draft may be the same
          <RateFields key={index} {...props} rate={rate} index={index} />
        ))}
        <AddRow onClick={() => onChange({ ...value, rates: [...rates, { usageMeterSlug, per: 1, cost: '1' }] })}>
          Add a rate
        </AddRow>
      </Stack>
      <More label="Low balances">
        <DecimalField
          label="Tell me when a balance falls below"
          sign={unit === 'credit' ? '' : unit}
          value={value.lowBalanceThreshold}
          onChange={(threshold) => onChange(put(value, 'lowBalanceThreshold', threshold))}
        />
      </More>
    </Stack>
  );
}

interface RateProps extends FormProps<CatalogPool> {
  readonly rate: Rate;
  readonly index: number;
}

function RateFields({ value, onChange, catalog, rate, index }: RateProps) {
  const change = (next: Rate) => onChange({ ...value, rates: value.rates.with(index, next) });
  const name = meterOf(catalog, rate);
  return (
    <fieldset className="price-of-meter" aria-label={`Rate of ${name}`}>
      <Group align="end" wrap="nowrap" grow preventGrowOverflow={false}>
        <Select
          label="Usage meter"
          placeholder="Add a meter first"
          data={catalog.usageMeters.map(({ usageMeter }) => ({ value: usageMeter.slug, label: usageMeter.name }))}
          value={rate.usageMeterSlug || null}
          onChange={(slug) => change({ ...rate, usageMeterSlug: slug ?? '' })}
        />
        <WholeField label="Units" min={1} value={rate.per} onChange={(per) => change({ ...rate, per: per ?? 0 })} />
        <DecimalField
          label="cost"
          sign={value.unit === 'credit' ? '' : value.unit}
          value={rate.cost}
          onChange={(cost) => change({ ...rate, cost: cost ?? '' })}
        />
        <RemoveRow
          label={`Remove the rate of ${name}`}
          onClick={() => onChange({ ...value, rates: value.rates.toSpliced(index, 1) })}
        />
      </Group>
      <WhereFields
        label="Only events where"
        description="The rate with the most matching properties is taken."
        value={rate.where}
        onChange={(where) => change(put(rate, 'where', where))}
      />
    </fieldset>
  );
}

function meterOf(catalog: Catalog, { usageMeterSlug }: Rate): string {
  return find(catalog, 'usageMeters', usageMeterSlug)?.usageMeter.name ?? usageMeterSlug;
}
