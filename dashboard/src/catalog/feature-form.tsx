import { Group, SegmentedControl, Select, Stack, Switch, Text, Textarea } from '@mantine/core';
import type { Catalog, CatalogFeature, CatalogResource } from './draft.ts';
import { put } from './draft.ts';
import { choices, IntervalField, NameFields, ValueField, WholeField } from './fields.tsx';
import type { FormProps } from './product-form.tsx';

type Grant = Extract<CatalogFeature, { type: 'usage_credit_grant' }>;
type Value = Extract<CatalogFeature, { type: 'value' }>;
type Limit = Extract<CatalogFeature, { type: 'spend_limit' }>;
type Capacity = Extract<CatalogFeature, { type: 'resource' }>;

export const newFeature: CatalogFeature = { type: 'toggle', slug: '', name: '', description: '', active: true };
export const newResource: CatalogResource = { slug: '', name: '', active: true };

/** Why a feature cannot go into the draft; null: it can. */
export function featureIssue(feature: CatalogFeature): string | null {
  if (feature.name === '' || feature.slug === '') return 'A feature needs a name.';
  if (feature.type === 'toggle') return null;
  if (feature.type === 'value') return feature.value === '' ? 'A value that is a text cannot be empty.' : null;
  if (!feature.amount) return 'The amount has to be at least 1.';
  if (feature.type === 'spend_limit') return null;
  const target =
    feature.type === 'resource' ? feature.resourceSlug : (feature.creditPoolSlug ?? feature.usageMeterSlug);
  if (!target) return feature.type === 'resource' ? 'Choose the resource.' : 'Choose the usage meter or credit pool.';
  if (feature.type === 'resource') return null;
  return (feature.rolloverMaximum === undefined) === (feature.rolloverPeriods === undefined)
    ? null
    : 'Unused credits need both a maximum and a number of periods to roll over.';
}

const kinds = {
  toggle: 'A capability',
  usage_credit_grant: 'Credits',
  resource: 'Capacity',
  value: 'A value',
  spend_limit: 'A limit',
};
const newTerms: Limit['spendLimit'] = {
  usageMeterSlug: null,
  period: 'month',
  unit: 'units',
  action: 'block',
  thresholds: [50, 80, 100],
};

export function FeatureForm(props: FormProps<CatalogFeature>) {
  const { value, onChange, catalog, isNew } = props;
  const choose = (type: string) => {
    const { slug, name, description, active } = value;
    const text = { slug, name, description, active };
    if (type === 'toggle') onChange({ type, ...text });
    else if (type === 'value') onChange({ type, ...text, value: 10 });
    else if (type === 'spend_limit') onChange({ type, ...text, amount: 1000, spendLimit: newTerms });
    else if (type === 'resource')
      onChange({ type, ...text, amount: 1, resourceSlug: catalog.resources[0]?.slug ?? '' });
    else {
      const usageMeterSlug = catalog.usageMeters[0]?.usageMeter.slug ?? '';
      const renewalFrequency = 'every_billing_period';
      onChange({ type: 'usage_credit_grant', ...text, amount: 1000, renewalFrequency, usageMeterSlug });
    }
  };
  return (
    <Stack gap="lg">
      <NameFields {...value} isNew={isNew} onChange={(named) => onChange({ ...value, ...named })} />
      {isNew && (
        <SegmentedControl
          aria-label="Kind"
          data={choices(Object.keys(kinds), kinds)}
          value={value.type}
          onChange={choose}
        />
      )}
      {value.type === 'toggle' && (
        <Text size="sm" c="dimmed">
          Your application asks whether a customer has it.
        </Text>
      )}
      {value.type === 'usage_credit_grant' && <GrantFields {...props} value={value} />}
      {value.type === 'resource' && <CapacityFields {...props} value={value} />}
      {value.type === 'value' && <ValueFields {...props} value={value} />}
      {value.type === 'spend_limit' && <LimitFields {...props} value={value} />}
      <Textarea
        label="Description"
        autosize
        minRows={2}
        value={value.description}
        onChange={(event) => onChange({ ...value, description: event.currentTarget.value })}
      />
      {!isNew && (
        <Switch
          label="Given to new subscriptions"
          description="Subscriptions that have it keep it."
          checked={value.active}
          onChange={(event) => onChange({ ...value, active: event.currentTarget.checked })}
        />
      )}
    </Stack>
  );
}

const rhythms = {
  once: 'Once for a customer',
  every_billing_period: 'With each billing period',
  every_interval: 'In an interval of its own',
};

type Changing<Feature> = Omit<FormProps<CatalogFeature>, 'value'> & { readonly value: Feature };

/** The usage meters and credit pools of a catalog as choices. A meter and a pool may have the same slug. */
function subjectsOf({ usageMeters, creditPools = [] }: Catalog) {
  return {
    meters: usageMeters.map(({ usageMeter: { slug, name } }) => ({ value: `meter ${slug}`, label: name })),
    pools: creditPools.map(({ slug, name }) => ({ value: `pool ${slug}`, label: name })),
  };
}

/** The slugs that a choice names; null: neither a meter nor a pool. */
function chosenSlugs(chosen: string | null) {
  const isPool = chosen?.startsWith('pool ') === true;
  const slug = chosen?.slice(chosen.indexOf(' ') + 1);
  return { usageMeterSlug: isPool ? undefined : slug, creditPoolSlug: isPool ? slug : undefined };
}

function GrantFields({ value, onChange, catalog, isNew }: Changing<Grant>) {
  const { meters, pools } = subjectsOf(catalog);
  const setSubject = (chosen: string | null) => {
    const { usageMeterSlug, creditPoolSlug } = chosenSlugs(chosen);
    onChange(put(put(value, 'creditPoolSlug', creditPoolSlug), 'usageMeterSlug', usageMeterSlug));
  };
  const setRhythm = (renewalFrequency: string | null) => {
    const next = { ...value, renewalFrequency: renewalFrequency as Grant['renewalFrequency'] };
    onChange(
      put(next, 'grantInterval', renewalFrequency === 'every_interval' ? { unit: 'month', count: 1 } : undefined),
    );
  };
  return (
    <Stack gap="sm">
      <Group grow align="end">
        <WholeField
          label="Credits"
          min={1}
          value={value.amount}
          onChange={(amount) => onChange({ ...value, amount: amount ?? 0 })}
        />
        <Select
          label={pools.length === 0 ? 'On the meter' : 'On the meter, or of the pool'}
          placeholder="Add a meter first"
          // A grant keeps to what it is of: a meter or a pool.
          data={[...(isNew || !value.creditPoolSlug ? meters : []), ...(isNew || value.creditPoolSlug ? pools : [])]}
          value={value.creditPoolSlug ? `pool ${value.creditPoolSlug}` : `meter ${value.usageMeterSlug}`}
          onChange={setSubject}
        />
      </Group>
      <Select
        label="Granted"
        data={choices(Object.keys(rhythms), rhythms)}
        value={value.renewalFrequency}
        onChange={setRhythm}
      />
      {value.grantInterval !== undefined && (
        <IntervalField
          label="Every"
          value={value.grantInterval}
          onChange={(grantInterval) => onChange({ ...value, grantInterval })}
        />
      )}
      {value.renewalFrequency !== 'once' && (
        <Group grow align="end">
          <WholeField
            label="Unused ones that roll over"
            placeholder="None"
            value={value.rolloverMaximum}
            onChange={(most) => onChange(put(value, 'rolloverMaximum', most || undefined))}
          />
          <WholeField
            label="For how many periods"
            value={value.rolloverPeriods}
            onChange={(periods) => onChange(put(value, 'rolloverPeriods', periods || undefined))}
          />
        </Group>
      )}
    </Stack>
  );
}

const valueKinds = { number: 'Number', text: 'Text', list: 'List of texts' };
const firstValues = new Map<string, Value['value']>([
  ['number', 10],
  ['text', ''],
  ['list', []],
]);

function kindOf(value: Value['value']): keyof typeof valueKinds {
  return Array.isArray(value) ? 'list' : typeof value === 'number' ? 'number' : 'text';
}

function ValueFields({ value, onChange, isNew }: Changing<Value>) {
  return (
    <Group grow align="end">
      {isNew && (
        <Select
          label="Kind of value"
          data={choices(Object.keys(valueKinds), valueKinds)}
          value={kindOf(value.value)}
          onChange={(kind) => onChange({ ...value, value: firstValues.get(kind ?? 'number') ?? 10 })}
        />
      )}
      <ValueField
        label="Value, unless a product says otherwise"
        value={value.value}
        onChange={(next) => onChange({ ...value, value: next })}
      />
    </Group>
  );
}

const limitPeriods = { day: 'A day', week: 'A week', month: 'A month', billing_period: 'A billing period' };
const limitUnits = { units: 'Units', money: 'Minor units of money' };
const limitActions = { block: 'Refuses more use', notify: 'Only notifies' };

function subjectOfTerms({ usageMeterSlug, creditPoolSlug }: Limit['spendLimit']): string | null {
  if (creditPoolSlug !== undefined) return `pool ${creditPoolSlug}`;
  return usageMeterSlug === null ? null : `meter ${usageMeterSlug}`;
}

/** The use that a limit counts is part of its kind, so only a new one can choose it. */
function LimitFields({ value, onChange, catalog, isNew }: Changing<Limit>) {
  const terms = value.spendLimit;
  const { meters, pools } = subjectsOf(catalog);
  const change = (next: Partial<Limit['spendLimit']>) => onChange({ ...value, spendLimit: { ...terms, ...next } });
  const setSubject = (chosen: string | null) => {
    const { usageMeterSlug = null, creditPoolSlug } = chosenSlugs(chosen);
    // A pool is counted in its own units.
    const unit = creditPoolSlug === undefined ? terms.unit : 'units';
    onChange({ ...value, spendLimit: put({ ...terms, usageMeterSlug, unit }, 'creditPoolSlug', creditPoolSlug) });
  };
  return (
    <Stack gap="sm">
      <Group grow align="end">
        <WholeField
          label="The most for each unit of the plan"
          min={1}
          value={value.amount}
          onChange={(amount) => onChange({ ...value, amount: amount ?? 0 })}
        />
        <Select
          label="Of"
          data={choices(Object.keys(limitUnits), limitUnits)}
          value={terms.unit}
          disabled={!isNew || terms.creditPoolSlug !== undefined}
          onChange={(unit) => change({ unit: (unit ?? 'units') as Limit['spendLimit']['unit'] })}
        />
        <Select
          label="In"
          data={choices(Object.keys(limitPeriods), limitPeriods)}
          value={terms.period}
          disabled={!isNew}
          onChange={(period) => change({ period: (period ?? 'month') as Limit['spendLimit']['period'] })}
        />
      </Group>
      <Group grow align="end">
        <Select
          label={pools.length === 0 ? 'On the meter' : 'On the meter, or of the pool'}
          placeholder="All meters"
          clearable
          data={[...meters, ...pools]}
          value={subjectOfTerms(terms)}
          disabled={!isNew}
          onChange={setSubject}
        />
        <Select
          label="When it is reached"
          data={choices(Object.keys(limitActions), limitActions)}
          value={terms.action}
          onChange={(action) => change({ action: (action ?? 'block') as Limit['spendLimit']['action'] })}
        />
      </Group>
    </Stack>
  );
}

function CapacityFields({ value, onChange, catalog }: Changing<Capacity>) {
  return (
    <Group grow align="end">
      <WholeField
        label="For each unit of the plan"
        min={1}
        value={value.amount}
        onChange={(amount) => onChange({ ...value, amount: amount ?? 0 })}
      />
      <Select
        label="Of the resource"
        placeholder="Add a resource first"
        data={catalog.resources.map(({ slug, name }) => ({ value: slug, label: name }))}
        value={value.resourceSlug || null}
        onChange={(slug) => onChange({ ...value, resourceSlug: slug ?? '' })}
      />
    </Group>
  );
}

export function resourceIssue({ name, slug }: CatalogResource): string | null {
  return name === '' || slug === '' ? 'A resource needs a name.' : null;
}

export function ResourceForm({ value, onChange, isNew }: FormProps<CatalogResource>) {
  return (
    <Stack gap="lg">
      <NameFields {...value} isNew={isNew} onChange={(named) => onChange({ ...value, ...named })} />
      <Text size="sm" c="dimmed">
        A thing of which a subscription has so many, such as a seat or a project. A feature gives its capacity.
      </Text>
      {!isNew && (
        <Switch
          label="Open for new claims"
          checked={value.active}
          onChange={(event) => onChange({ ...value, active: event.currentTarget.checked })}
        />
      )}
    </Stack>
  );
}
