import { Group, Select, Stack, Text } from '@mantine/core';
import type { Pricing } from '../../../client/src/generated-entry.ts';
import { countText } from '../parts/format.ts';
import { put } from './draft.ts';
import { AddRow, choices, MoneyField, PercentField, RemoveRow, WholeField } from './fields.tsx';

/** The part of a price that says how units become money. */
export interface Amounts {
  readonly unitPrice: number;
  readonly pricing?: Pricing;
  /** For usage: the units that `unitPrice` is for. Null for the quantity of a plan. */
  readonly usageEventsPerUnit: number | null;
}

interface FieldsProps<Value> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly currency: string;
  readonly unit: string;
}

type Model = Pricing['model'];
type Tiered = Extract<Pricing, { tiers: unknown }>;
type Tier = {
  readonly upTo: number | null;
  readonly unitAmount?: string;
  readonly flatAmount?: string;
  readonly rate?: string;
};

const quantityModels = ['per_unit', 'package', 'graduated', 'volume', 'stairstep'] as const;
const moneyModels = ['percentage', 'graduated_percentage', 'dynamic'] as const;
const modelNames: Readonly<Record<Model | 'flat', string>> = {
  flat: 'One price for each unit',
  per_unit: 'Per unit, with fractions, free units or limits',
  package: 'Packages',
  graduated: 'Graduated tiers',
  volume: 'Volume tiers',
  stairstep: 'Stairs: one amount for each tier',
  percentage: 'Percentage of a value',
  graduated_percentage: 'Percentage by tiers',
  dynamic: 'The price comes with each event',
};
const modelTexts: Readonly<Record<Model | 'flat', string>> = {
  flat: 'The same amount for each unit.',
  per_unit: 'The same amount for each unit, also less than the smallest coin.',
  package: 'Units are sold in packages. A package that is begun counts in full.',
  graduated: 'Each unit costs what its own tier says.',
  volume: 'All units cost what the tier of the last one says.',
  stairstep: 'One amount, by the tier that is reached.',
  percentage: 'Units are an amount of money, of which a share is charged.',
  graduated_percentage: 'Units are an amount of money. Each tier has a share of its own.',
  dynamic: 'An event says what it costs. The price adds them up.',
};

const tierOf: Readonly<Record<Tiered['model'], Tier>> = {
  graduated: { upTo: null, unitAmount: '100' },
  volume: { upTo: null, unitAmount: '100' },
  stairstep: { upTo: null, flatAmount: '1000' },
  graduated_percentage: { upTo: null, rate: '1' },
};

/** A model with amounts to begin with. */
function modelFrom(model: Model, unitPrice: number): Pricing {
  const amount = String(unitPrice || 100);
  switch (model) {
    case 'per_unit':
      return { model, unitAmount: amount };
    case 'package':
      return { model, packageSize: 100, packageAmount: amount };
    case 'percentage':
      return { model, rate: '1' };
    case 'dynamic':
      return { model };
    default: {
      const last = tierOf[model];
      return { model, tiers: [{ ...last, upTo: 10 }, last] } as Pricing;
    }
  }
}

/** Why a pricing cannot be computed yet; null: it can. */
export function pricingIssue(pricing: Pricing | undefined): string | null {
  if (pricing === undefined) return null;
  const amounts = Object.entries({ unitAmount: 0, packageAmount: 0, packageSize: 0, rate: 0 });
  if (amounts.some(([name]) => name in pricing && (pricing as Record<string, unknown>)[name] === undefined))
    return 'An amount is missing.';
  if (!('tiers' in pricing)) return null;
  const tiers = pricing.tiers as readonly Tier[];
  for (const [index, tier] of tiers.entries()) {
    const before = tiers[index - 1]?.upTo ?? 0;
    if (index < tiers.length - 1 && (tier.upTo === null || tier.upTo <= before))
      return `Tier ${index + 1} has to end above ${countText(before)}.`;
    const needed = pricing.model === 'stairstep' ? 'flatAmount' : 'rate' in tier ? 'rate' : 'unitAmount';
    if (tier[needed] === undefined) return `Tier ${index + 1} has no amount.`;
  }
  return null;
}

/** How units become money, by any model. */
export function PricingFields({
  value,
  onChange,
  currency,
  unit,
  isPlan,
}: FieldsProps<Amounts> & { readonly isPlan: boolean }) {
  const { unitPrice, pricing, usageEventsPerUnit } = value;
  const models = ['flat', ...quantityModels, ...(isPlan ? [] : moneyModels)];
  const model = pricing?.model ?? 'flat';
  const choose = (next: string | null) => {
    const per = usageEventsPerUnit === null ? null : 1;
    if (next === 'flat') onChange({ unitPrice: 1000, usageEventsPerUnit: per });
    else onChange({ unitPrice: 0, pricing: modelFrom(next as Model, unitPrice), usageEventsPerUnit: per });
  };
  return (
    <Stack gap="sm">
      <Select
        label="How it is priced"
        description={modelTexts[model]}
        data={choices(models, modelNames)}
        value={model}
        onChange={choose}
      />
      {pricing === undefined ? (
        <Group align="end" grow>
          <MoneyField
            label={isPlan ? 'Amount' : 'Price'}
            currency={currency}
            value={String(unitPrice)}
            onChange={(amount) => onChange({ ...value, unitPrice: Math.round(Number(amount ?? 0)) })}
          />
          {usageEventsPerUnit !== null && (
            <WholeField
              label={`For how many ${unit}s`}
              value={usageEventsPerUnit}
              min={1}
              onChange={(per) => onChange({ ...value, usageEventsPerUnit: per ?? 1 })}
            />
          )}
        </Group>
      ) : (
        <ModelFields
          value={pricing}
          onChange={(next) => onChange({ ...value, pricing: next })}
          currency={currency}
          unit={unit}
        />
      )}
    </Stack>
  );
}

function ModelFields(props: FieldsProps<Pricing>) {
  return (
    <>
      <AmountFields {...props} />
      <LimitFields {...props} />
    </>
  );
}

/** The fields of the model itself. An amount that is deleted leaves a gap, which the form names. */
function AmountFields({ value, onChange, currency, unit }: FieldsProps<Pricing>) {
  const money = { currency, label: `Amount for each ${unit}` };
  const change = (fields: object) => onChange({ ...value, ...fields } as Pricing);
  switch (value.model) {
    case 'per_unit':
      return <MoneyField {...money} value={value.unitAmount} onChange={(unitAmount) => change({ unitAmount })} />;
    case 'package':
      return (
        <Group grow align="end">
          <WholeField
            label={`${unit === 'unit' ? 'Units' : `${unit}s`} in a package`}
            min={1}
            value={value.packageSize}
            onChange={(packageSize) => change({ packageSize })}
          />
          <MoneyField
            label="Amount for each package"
            currency={currency}
            value={value.packageAmount}
            onChange={(packageAmount) => change({ packageAmount })}
          />
        </Group>
      );
    case 'percentage':
      return (
        <Group grow align="end">
          <PercentField label="Share of the value" value={value.rate} onChange={(rate) => change({ rate })} />
          <MoneyField
            label="And for each event"
            currency={currency}
            value={value.fixedAmountPerEvent}
            onChange={(fixed) => onChange(put(value, 'fixedAmountPerEvent', fixed))}
          />
        </Group>
      );
    case 'dynamic':
      return null;
    default:
      return <TierFields value={value} onChange={onChange} currency={currency} unit={unit} />;
  }
}

function TierFields({ value, onChange, currency, unit }: FieldsProps<Tiered> & { onChange: (value: Pricing) => void }) {
  const tiers = value.tiers as readonly Tier[];
  const change = (next: readonly Tier[]) => onChange({ ...value, tiers: next } as Pricing);
  const add = () => {
    const last = tiers.at(-1) ?? tierOf[value.model];
    const end = (tiers.at(-2)?.upTo ?? 0) * 10 || 10;
    change([...tiers.slice(0, -1), { ...last, upTo: end }, last]);
  };
  return (
    <div>
      <div className="tier-fields" data-columns={value.model === 'stairstep' ? 2 : 3}>
        <TierHeadings model={value.model} unit={unit} />
        {tiers.map((tier, index) => (
          <TierRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a tier is known by its place
            key={index}
            tier={tier}
            model={value.model}
            currency={currency}
            index={index}
            isLast={index === tiers.length - 1}
            onChange={(next) => change(tiers.with(index, next))}
            onRemove={tiers.length > 1 ? () => change(without(tiers, index)) : null}
          />
        ))}
      </div>
      <AddRow onClick={add}>Add a tier</AddRow>
    </div>
  );
}

/** The tiers without one of them. The last one always has no end. */
function without(tiers: readonly Tier[], index: number): Tier[] {
  const rest = tiers.toSpliced(index, 1);
  return rest.map((tier, place) => (place === rest.length - 1 ? { ...tier, upTo: null } : tier));
}

function TierHeadings({ model, unit }: { readonly model: Tiered['model']; readonly unit: string }) {
  const each = model === 'graduated_percentage' ? 'Share' : `Each ${unit}`;
  const titles = ['Up to', ...(model === 'stairstep' ? [] : [each]), model === 'stairstep' ? 'Amount' : 'And once'];
  return (
    <>
      {titles.map((title) => (
        <Text key={title} size="xs" c="dimmed" aria-hidden>
          {title}
        </Text>
      ))}
      <span />
    </>
  );
}

interface TierRowProps {
  readonly tier: Tier;
  readonly model: Tiered['model'];
  readonly currency: string;
  readonly index: number;
  readonly isLast: boolean;
  readonly onChange: (tier: Tier) => void;
  readonly onRemove: (() => void) | null;
}

function TierRow({ tier, model, currency, index, isLast, onChange, onRemove }: TierRowProps) {
  const name = `Tier ${index + 1}`;
  const isStairs = model === 'stairstep';
  const flat = (flatAmount: string | undefined) =>
    onChange(isStairs ? ({ ...tier, flatAmount } as Tier) : put(tier, 'flatAmount', flatAmount));
  return (
    <>
      {isLast ? (
        <Text size="sm" c="dimmed" className="tier-end">
          and more
        </Text>
      ) : (
        <WholeField
          hidden
          label={`${name}, up to`}
          value={tier.upTo}
          min={1}
          onChange={(upTo) => onChange({ ...tier, upTo: upTo ?? null })}
        />
      )}
      {model === 'graduated_percentage' && (
        <PercentField
          hidden
          label={`${name}, share`}
          value={tier.rate}
          onChange={(rate) => onChange({ ...tier, rate } as Tier)}
        />
      )}
      {(model === 'graduated' || model === 'volume') && (
        <MoneyField
          hidden
          label={`${name}, each`}
          currency={currency}
          value={tier.unitAmount}
          onChange={(unitAmount) => onChange({ ...tier, unitAmount } as Tier)}
        />
      )}
      <MoneyField
        hidden
        label={isStairs ? `${name}, amount` : `${name}, once`}
        currency={currency}
        value={tier.flatAmount}
        onChange={flat}
      />
      {onRemove === null ? <span /> : <RemoveRow label={`Remove tier ${index + 1}`} onClick={onRemove} />}
    </>
  );
}

/** Free units, and the least and most that a period costs. */
function LimitFields({ value, onChange, currency, unit }: FieldsProps<Pricing>) {
  return (
    <div className="limit-fields">
      {value.model !== 'dynamic' && (
        <WholeField
          label={`Free ${unit}s`}
          value={value.freeUnits}
          onChange={(free) => onChange(put(value, 'freeUnits', free || undefined))}
        />
      )}
      <MoneyField
        label="At least"
        currency={currency}
        value={value.minimumAmount}
        onChange={(least) => onChange(put(value, 'minimumAmount', least))}
      />
      <MoneyField
        label="At most"
        currency={currency}
        value={value.maximumAmount}
        onChange={(most) => onChange(put(value, 'maximumAmount', most))}
      />
    </div>
  );
}
