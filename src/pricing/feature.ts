import { z } from 'zod';
import { type Interval, intervalUnits } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, maxSafeInteger, SafeString, Unused, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { CreditPoolId, isCreditPool } from './credit-pool.ts';
import { ResourceId } from './resource.ts';
import { UsageMeterId } from './usage-meter.ts';

export const FeatureId = idSchema('feature');

export const FeatureType = z
  .enum(['toggle', 'usage_credit_grant', 'resource', 'value', 'spend_limit'])
  .meta({ id: 'FeatureType' });
export type FeatureType = z.infer<typeof FeatureType>;
export const RenewalFrequency = z.enum(['once', 'every_billing_period', 'every_interval']).meta({
  id: 'RenewalFrequency',
  description:
    'How often credits are granted: once, with each billing period, or with each `grantInterval` also within a period.',
});
export type RenewalFrequency = z.infer<typeof RenewalFrequency>;

// A hundred years of months.
const maxIntervalCount = 1200;
const grantInterval = {
  description:
    'For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the ' +
    'interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency.',
};
const GrantInterval = z.object({ unit: z.enum(intervalUnits), count: z.int() }).meta({ id: 'GrantInterval' });
/** The field in a record. */
export const StoredGrantInterval = GrantInterval.nullable().meta(grantInterval);
/** The field in a request. */
export const GrantIntervalInput = z
  .object({ unit: z.enum(intervalUnits), count: countInput(1, maxIntervalCount).default(1) })
  .nullable()
  .meta(grantInterval);

// A list is read with every check. The tables have the same limit.
const maxValueTexts = 100;

/** The value of a feature of type `value`, in a record. */
export const FeatureValue = z
  .union([z.number(), z.string(), z.array(z.string())])
  .meta({ id: 'FeatureValue', description: 'A number, a text, or a list of texts.' });
export type FeatureValue = z.infer<typeof FeatureValue>;

const valueMessage = `must be a number, a text or a list of at most ${maxValueTexts} different texts`;

/** The value in a request. */
export const FeatureValueInput = z
  .union(
    [
      z.number().min(-maxSafeInteger).max(maxSafeInteger),
      SafeString,
      z
        .array(SafeString)
        .max(maxValueTexts)
        .refine((texts) => new Set(texts).size === texts.length, { message: valueMessage }),
    ],
    { error: valueMessage },
  )
  .meta({ description: `A number, a text, or a list of at most ${maxValueTexts} different texts.` });

export const LimitPeriod = z.enum(['day', 'week', 'month', 'billing_period']).meta({
  description:
    'How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the ' +
    'subscription that is used. A limit by billing period counts each subscription by itself.',
});
export const LimitUnit = z.enum(['units', 'money']).meta({
  description:
    'Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits ' +
    'cover them.',
});
export const LimitAction = z.enum(['block', 'notify']).meta({
  description:
    '`block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case.',
});
// Each is an event of every period.
const maxThresholds = 10;
const usualThresholds = [50, 80, 100];
export const thresholdsMeta = {
  description:
    'Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full ' +
    'amount always causes `spend_limit.reached`.',
};
/** The fields of a limit in a request, besides its amount and the use that it counts. */
export const limitTermsInput = {
  period: LimitPeriod,
  unit: LimitUnit.default('units'),
  action: LimitAction.default('block'),
  thresholds: z
    .array(z.int().min(1).max(100))
    .max(maxThresholds)
    .default(usualThresholds)
    .transform((percents) => [...new Set(percents)].sort((a, b) => a - b))
    .meta(thresholdsMeta),
};
const limitedMeter = { description: 'The usage meter that the limit counts. Null: all, or a credit pool.' };
const limitedPool = {
  description:
    'The credit pool of which the limit counts what usage draws, in place of a usage meter. The amount is in whole units of it.',
};
const limitTerms = {
  period: LimitPeriod,
  unit: LimitUnit,
  action: LimitAction,
  thresholds: z.array(z.int()).meta(thresholdsMeta),
};
/** The terms of a spend limit by slug, in an export. */
export const ExportedLimitTerms = z.object({
  usageMeterSlug: z.string().nullable().meta(limitedMeter),
  creditPoolSlug: z.string().optional().meta(limitedPool),
  ...limitTerms,
});
export type LimitTermsStructure = z.infer<typeof ExportedLimitTerms>;
/** The same in a request. */
export const LimitTermsStructureInput = z
  .object({
    usageMeterSlug: SafeString.nullable().default(null).meta(limitedMeter),
    creditPoolSlug: SafeString.nullish().meta(limitedPool),
    ...limitTermsInput,
  })
  .superRefine(refineLimited('Slug'))
  .transform(({ creditPoolSlug, ...terms }) => ({ ...terms, ...(creditPoolSlug == null ? {} : { creditPoolSlug }) }));
/** The terms of a feature of type `spend_limit`, whose amount is that of the feature. */
export const LimitTerms = z
  .object({
    usageMeterId: z.string().nullable().meta(limitedMeter),
    creditPoolId: z.string().optional().meta(limitedPool),
    ...limitTerms,
  })
  .meta({ id: 'SpendLimitTerms' });
export type LimitTerms = z.infer<typeof LimitTerms>;
const LimitTermsInput = z
  .object({
    usageMeterId: UsageMeterId.nullable().default(null).meta(limitedMeter),
    creditPoolId: CreditPoolId.nullish().meta(limitedPool),
    ...limitTermsInput,
  })
  .superRefine(refineLimited('Id'))
  .transform(({ creditPoolId, ...terms }) => ({ ...terms, ...(creditPoolId == null ? {} : { creditPoolId }) }))
  .meta({ id: 'SpendLimitTermsInput' });

/** Reports a limit of a usage meter and a credit pool at once, and one of a pool that is not in its units. */
export function refineLimited(field: 'Id' | 'Slug') {
  const [meter, pool] = [`usageMeter${field}`, `creditPool${field}`] as const;
  return (
    given: {
      readonly [Name in `${'usageMeter' | 'creditPool'}${'Id' | 'Slug'}`]?: string | null | undefined;
    } & { readonly unit: z.output<typeof LimitUnit> },
    context: z.RefinementCtx,
  ): void => {
    if (given[pool] == null) return;
    const tell = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (given[meter] != null) tell(pool, `must be absent or null where ${meter} is given`);
    if (given.unit !== 'units') tell('unit', 'must be units: a limit of a credit pool counts units of the pool');
  };
}

/** The kind of a value, which stays the same for a feature. */
type ValueKind = 'number' | 'text' | 'list';

function kindOfValue(value: FeatureValue): ValueKind {
  if (typeof value === 'number') return 'number';
  return typeof value === 'string' ? 'text' : 'list';
}

/** The part of a feature that decides about its kind. */
interface FeatureKind {
  readonly type: FeatureType;
  readonly value?: FeatureValue;
  readonly spendLimit?: Pick<LimitTerms, 'period' | 'unit'>;
  readonly creditPoolId?: string | undefined;
  readonly creditPoolSlug?: string | null;
}

/**
 * The part of a feature that cannot change: its type, the kind of its value, the use that it limits, and whether its
 * credits are of a pool.
 */
export function kindOfFeature(feature: FeatureKind, limited: string | null = null): string {
  const { type, value, spendLimit, creditPoolId, creditPoolSlug } = feature;
  if (spendLimit !== undefined)
    return `${type} of ${limited === null ? '' : `${limited} in `}${spendLimit.unit} by ${spendLimit.period}`;
  if ((creditPoolId ?? creditPoolSlug ?? null) !== null) return `${type} of a credit pool`;
  return value === undefined ? type : `${type} that is a ${kindOfValue(value)}`;
}

/** The reason why a feature cannot be given with this value, or null. */
export function valueIssue(
  feature: { readonly type: FeatureType; readonly value?: FeatureValue | null },
  given: FeatureValue | null | undefined,
): string | null {
  if (given === null || given === undefined) return null;
  if (feature.type !== 'value' || feature.value === null || feature.value === undefined)
    return `must be absent or null for a ${feature.type} feature`;
  const kind = kindOfValue(feature.value);
  return kindOfValue(given) === kind ? null : `must be a ${kind}, as the value of the feature is`;
}

/** Fields shared by a feature and a customer's copy of it, by type; the types differ in which are null. */
export const toggleFields = {
  type: z.literal('toggle'),
  amount: z.null(),
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  grantInterval: z.null(),
  resourceId: z.null(),
};
export const creditGrantFields = {
  type: z.literal('usage_credit_grant'),
  amount: WholeNumber,
  usageMeterId: z.string().nullable().meta({ description: 'The usage meter. Null for credits of a pool.' }),
  creditPoolId: z.string().optional().meta({ description: 'The credit pool, in place of a usage meter.' }),
  renewalFrequency: RenewalFrequency,
  grantInterval: StoredGrantInterval,
  resourceId: z.null(),
};
export const resourceFields = {
  type: z.literal('resource'),
  amount: WholeNumber,
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  grantInterval: z.null(),
  resourceId: z.string(),
};

export const valueFields = {
  type: z.literal('value'),
  amount: z.null(),
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  grantInterval: z.null(),
  resourceId: z.null(),
  value: FeatureValue,
};

/** The fields of a spend limit. A subscription that has one has the terms of its feature. */
export const spendLimitFields = {
  type: z.literal('spend_limit'),
  amount: WholeNumber,
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  grantInterval: z.null(),
  resourceId: z.null(),
  spendLimit: LimitTerms,
};

/** The meter or pool of a credit grant or a limit as its record names it; null: all meters. */
export function grantSubject(id: string | null) {
  return id !== null && isCreditPool(id) ? { usageMeterId: null, creditPoolId: id } : { usageMeterId: id };
}

/** The id of the usage meter or credit pool of a feature; null: it grants no credits. */
export function subjectIdOf(feature: {
  readonly usageMeterId: string | null;
  readonly creditPoolId?: string | undefined;
}) {
  return feature.creditPoolId ?? feature.usageMeterId;
}

// As many digits as a grant by hand has before its decimals.
const maxPoolAmount = 999_999_999_999n;

/** The issue of a spend limit of more units of a credit pool than an amount can be. */
export const tooMuchOfPool = { path: ['amount'], message: `must be at most ${maxPoolAmount} for a credit pool` };
export function isTooMuch(creditPool: string | null | undefined, amount: bigint): boolean {
  return creditPool != null && amount > maxPoolAmount;
}

/** The checked fields of a credit grant in a request, besides its meter or pool. */
interface SentGrant extends GrantRhythm, Rollover {
  readonly amount: bigint;
}

/** Reports a credit grant that names not exactly one meter or pool, or more of a pool than an amount can be. */
export function refineSubject(
  field: 'Id' | 'Slug',
  given: SentGrant & {
    readonly [Field in `${'usageMeter' | 'creditPool'}${'Id' | 'Slug'}`]?: string | null | undefined;
  },
  context: z.RefinementCtx,
): void {
  const [meter, pool] = [`usageMeter${field}`, `creditPool${field}`] as const;
  const ofPool = typeof given[pool] === 'string';
  const tell = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (ofPool && typeof given[meter] === 'string') tell(pool, `must be absent or null beside ${meter}`);
  if (!ofPool && typeof given[meter] !== 'string') tell(meter, `is required, or ${pool} in its place`);
  for (const amount of ['amount', 'rolloverMaximum'] as const)
    if (isTooMuch(given[pool], given[amount] ?? 0n)) tell(amount, tooMuchOfPool.message);
  refineGrant(given, context);
}

/** How often a feature grants credits. The interval is there exactly for `every_interval`. */
export interface GrantRhythm {
  readonly renewalFrequency: RenewalFrequency;
  readonly grantInterval: Interval | null;
}

/** The rollover of credits granted every billing period or interval. Both fields are null if nothing rolls over. */
export interface Rollover {
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
}

// Eight years of monthly periods, far beyond any price list.
const maxRolloverPeriods = 100;

const maximum = {
  description:
    'The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what ' +
    'is left of a purchase rolls over when it is bought again before its end. Null: none.',
};
const periods = {
  description:
    'The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover.',
};

/** Fields in the record of a credit grant. */
export const rolloverFields = {
  rolloverMaximum: WholeNumber.nullable().meta(maximum),
  rolloverPeriods: z.int().nullable().meta(periods),
};
/** Fields in the record of a feature without rollover. */
const noRolloverFields = { rolloverMaximum: z.null(), rolloverPeriods: z.null() };

/** Fields in a request. */
export const RolloverMaximum = amountInput(1).nullable().meta(maximum);
export const RolloverPeriods = countInput(1, maxRolloverPeriods).nullable().meta(periods);

interface GrantIssue {
  readonly field: keyof Rollover | 'grantInterval';
  readonly message: string;
}

/** The problem with the rhythm or the rollover of a credit grant, or null. */
function grantIssue(given: GrantRhythm & Rollover): GrantIssue | null {
  return rhythmIssue(given) ?? rolloverIssue(given, given.renewalFrequency);
}

/** The problem with a grant interval, or null: `every_interval` needs one, and nothing else has one. */
export function rhythmIssue({ renewalFrequency, grantInterval }: GrantRhythm): GrantIssue | null {
  const isNeeded = renewalFrequency === 'every_interval';
  if (isNeeded && grantInterval === null)
    return { field: 'grantInterval', message: 'is required when renewalFrequency is every_interval' };
  if (!isNeeded && grantInterval !== null)
    return { field: 'grantInterval', message: 'must be null unless renewalFrequency is every_interval' };
  return null;
}

/**
 * The problem with a rollover, or null. Credits that are granted once do not end with a period, so they cannot roll
 * over.
 */
function rolloverIssue(
  { rolloverMaximum, rolloverPeriods }: Rollover,
  renewalFrequency: RenewalFrequency,
): GrantIssue | null {
  if (rolloverMaximum === null && rolloverPeriods === null) return null;
  if (renewalFrequency === 'once') {
    const field = rolloverMaximum === null ? 'rolloverPeriods' : 'rolloverMaximum';
    return { field, message: 'must be null unless renewalFrequency is every_billing_period or every_interval' };
  }
  if (rolloverMaximum === null)
    return { field: 'rolloverMaximum', message: 'is required when rolloverPeriods is given' };
  if (rolloverPeriods === null)
    return { field: 'rolloverPeriods', message: 'is required when rolloverMaximum is given' };
  return null;
}

/** Reports the issue that `grantIssue` finds in a request. */
function refineGrant(given: GrantRhythm & Rollover, context: z.RefinementCtx): void {
  const issue = grantIssue(given);
  if (issue) context.addIssue({ code: 'custom', path: [issue.field], message: issue.message });
}

/**
 * The rollover after a change. Absent fields keep their value; null for one field, with the other absent, removes the
 * rollover.
 */
function changedRollover(
  stored: Rollover,
  sent: { readonly [Field in keyof Rollover]?: Rollover[Field] | undefined },
): Rollover {
  const { rolloverMaximum = stored.rolloverMaximum, rolloverPeriods = stored.rolloverPeriods } = sent;
  const given = [sent.rolloverMaximum, sent.rolloverPeriods].filter((value) => value !== undefined);
  const isTakenOff = given.length > 0 && given.every((value) => value === null);
  return isTakenOff ? { rolloverMaximum: null, rolloverPeriods: null } : { rolloverMaximum, rolloverPeriods };
}

const shared = {
  id: FeatureId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  active: z.boolean(),
};

/** A benefit or limit of a product: a toggle, credits on a meter, capacity of a resource, a value, or a spend limit. */
export const Feature = z
  .discriminatedUnion('type', [
    z.object({ ...shared, ...toggleFields, ...noRolloverFields }),
    z.object({ ...shared, ...creditGrantFields, ...rolloverFields }),
    z.object({ ...shared, ...resourceFields, ...noRolloverFields }),
    z.object({ ...shared, ...valueFields, ...noRolloverFields }),
    z.object({ ...shared, ...spendLimitFields, ...noRolloverFields }),
  ])
  .meta({ id: 'Feature' });
export type Feature = z.infer<typeof Feature>;
/** A feature to insert. The type decides which fields are null, as in the record. */
export type NewFeature = NewRecord<Feature>;

/** A feature with the value that a product gives, if it gives one. */
export function givenFeature(feature: Feature, value: FeatureValue | null | undefined): Feature {
  return feature.type === 'value' && value != null ? { ...feature, value } : feature;
}

const Amount = amountInput(1);

const anyFeature = {
  slug: SafeString,
  name: SafeString,
  description: freeText('description').default(''),
  pricingModelId: freeText('name').nullish(),
  active: z.boolean().default(true),
};

/** The fields of which each type of feature uses some. */
const unusedFields = {
  amount: Unused,
  usageMeterId: Unused,
  creditPoolId: Unused,
  renewalFrequency: Unused,
  grantInterval: Unused,
  resourceId: Unused,
  rolloverMaximum: Unused,
  rolloverPeriods: Unused,
  value: Unused,
  spendLimit: Unused,
};
const anyRequest = { ...anyFeature, ...unusedFields };

/** A request for a feature. Fields that its type does not use must be absent or null. */
export const FeatureInput = z.discriminatedUnion(
  'type',
  [
    z.object({ ...anyRequest, type: z.literal('toggle') }),
    z
      .object({
        ...anyRequest,
        type: z.literal('usage_credit_grant'),
        amount: Amount,
        usageMeterId: UsageMeterId.nullish(),
        creditPoolId: CreditPoolId.nullish(),
        renewalFrequency: RenewalFrequency,
        grantInterval: GrantIntervalInput.default(null),
        rolloverMaximum: RolloverMaximum.default(null),
        rolloverPeriods: RolloverPeriods.default(null),
      })
      .superRefine((given, context) => refineSubject('Id', given, context)),
    z.object({ ...anyRequest, type: z.literal('resource'), amount: Amount, resourceId: ResourceId }),
    z.object({ ...anyRequest, type: z.literal('value'), value: FeatureValueInput }),
    z
      .object({ ...anyRequest, type: z.literal('spend_limit'), amount: Amount, spendLimit: LimitTermsInput })
      .refine(({ amount, spendLimit }) => !isTooMuch(spendLimit.creditPoolId, amount), { ...tooMuchOfPool }),
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'must be toggle, usage_credit_grant, resource, value or spend_limit' : undefined,
  },
);
export type FeatureInput = z.output<typeof FeatureInput>;

/** A change of a feature. Absent fields keep their value. */
export const FeatureChange = z.object({
  id: FeatureId.optional(),
  type: FeatureType.optional(),
  slug: SafeString.optional(),
  name: SafeString.optional(),
  description: freeText('description').optional(),
  amount: Amount.nullish(),
  usageMeterId: UsageMeterId.nullish(),
  creditPoolId: CreditPoolId.nullish(),
  renewalFrequency: RenewalFrequency.nullish(),
  grantInterval: GrantIntervalInput.optional(),
  resourceId: ResourceId.nullish(),
  rolloverMaximum: RolloverMaximum.optional(),
  rolloverPeriods: RolloverPeriods.optional(),
  value: FeatureValueInput.nullish(),
  spendLimit: LimitTermsInput.nullish().meta({
    description:
      'The terms of a feature of type `spend_limit`. Its usage meter or credit pool, its period and its unit cannot change.',
  }),
  active: z.boolean().optional(),
});
export type FeatureChange = z.output<typeof FeatureChange>;

const typeFields = ['amount', 'usageMeterId', 'creditPoolId', 'renewalFrequency', 'resourceId'] as const;
const grantOnlyFields = ['grantInterval', 'rolloverMaximum', 'rolloverPeriods'] as const;

/** The feature after a change. The type is fixed, and with it the fields that are null. */
export function decideFeatureChange(feature: Feature, change: FeatureChange): Feature {
  if (change.type !== undefined && change.type !== feature.type) {
    throw invalid(['feature', 'type'], `must be ${feature.type}: the type of a feature cannot change`);
  }
  const kind = `a ${feature.type} feature${feature.type === 'usage_credit_grant' && feature.creditPoolId ? ' of a credit pool' : ''}`;
  for (const field of typeFields) {
    const sent = change[field];
    const stored = field in feature ? feature[field as 'amount'] : null;
    if (sent === undefined) continue;
    if (stored === null && sent !== null) throw invalid(['feature', field], `must be absent or null for ${kind}`);
    if (stored !== null && sent === null) throw invalid(['feature', field], `must not be null for ${kind}`);
  }
  for (const field of grantOnlyFields) {
    if (feature.type !== 'usage_credit_grant' && change[field] != null) {
      throw invalid(['feature', field], `must be absent or null for a ${feature.type} feature`);
    }
  }
  const issue = valueIssue(feature, change.value);
  if (issue) throw invalid(['feature', 'value'], issue);
  const limitIssue = spendLimitIssue(feature, change.spendLimit);
  if (limitIssue) throw invalid(['feature', 'spendLimit', ...limitIssue.path], limitIssue.message);
  const {
    slug = feature.slug,
    name = feature.name,
    description = feature.description,
    active = feature.active,
  } = change;
  const texts = { slug, name, description, active };
  switch (feature.type) {
    case 'toggle':
      return { ...feature, ...texts };
    case 'usage_credit_grant':
      return { ...feature, ...texts, ...changedGrant(feature, change) };
    case 'resource':
      return {
        ...feature,
        ...texts,
        amount: change.amount ?? feature.amount,
        resourceId: change.resourceId ?? feature.resourceId,
      };
    case 'value':
      return { ...feature, ...texts, value: change.value ?? feature.value };
    case 'spend_limit': {
      const { amount: sent, spendLimit: terms } = change;
      const [amount, spendLimit] = [sent ?? feature.amount, terms ?? feature.spendLimit];
      if (isTooMuch(spendLimit.creditPoolId, amount)) throw invalid(['feature', 'amount'], tooMuchOfPool.message);
      return { ...feature, ...texts, amount, spendLimit };
    }
    default:
      return feature satisfies never;
  }
}

/** The reason why a feature cannot get these terms of a spend limit, or null: it goes on counting the same use. */
function spendLimitIssue(feature: Feature, terms: LimitTerms | null | undefined) {
  if (terms === null || terms === undefined) return null;
  if (feature.type !== 'spend_limit')
    return { path: [], message: `must be absent or null for a ${feature.type} feature` };
  const fixed = (['usageMeterId', 'creditPoolId', 'period', 'unit'] as const).find((key) => {
    return terms[key] !== feature.spendLimit[key];
  });
  if (fixed === undefined) return null;
  const must = feature.spendLimit[fixed] ?? 'null or absent';
  return { path: [fixed], message: `must be ${must}: make another feature for another use` };
}

type CreditGrant = Extract<Feature, { type: 'usage_credit_grant' }>;

function changedGrant(grant: CreditGrant, change: FeatureChange) {
  const renewalFrequency = change.renewalFrequency ?? grant.renewalFrequency;
  const { grantInterval = grant.grantInterval } = change;
  const rollover = changedRollover(grant, change);
  const issue = grantIssue({ renewalFrequency, grantInterval, ...rollover });
  if (issue) throw invalid(['feature', issue.field], issue.message);
  const amount = change.amount ?? grant.amount;
  for (const [field, given] of Object.entries({ amount, rolloverMaximum: rollover.rolloverMaximum }))
    if (isTooMuch(grant.creditPoolId, given ?? 0n)) throw invalid(['feature', field], tooMuchOfPool.message);
  return {
    amount,
    ...grantSubject(change.creditPoolId ?? grant.creditPoolId ?? change.usageMeterId ?? grant.usageMeterId ?? ''),
    renewalFrequency,
    grantInterval,
    ...rollover,
  };
}
