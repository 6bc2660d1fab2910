import { Button, Text, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { counted, countText, intervalText, valueText, words } from '../parts/format.ts';
import { priceText, termsText } from '../parts/price-text.ts';
import { Section } from '../parts/shown.tsx';
import { rateText, termsOf, whereText } from './differences.ts';
import {
  type Catalog,
  type CatalogFeature,
  type CatalogMeter,
  type CatalogProduct,
  changedSlugs,
  find,
  givenOf,
  type List,
} from './draft.ts';
import { type DraftState, useEditing } from './editing.ts';

interface PartProps {
  readonly draft: DraftState;
  readonly currency: string;
  readonly mayChange: boolean;
}

interface RowProps extends PartProps {
  readonly list: List;
  readonly slug: string;
  readonly name: string;
  readonly note?: string | false;
  readonly isEnded?: boolean;
  readonly children?: ReactNode;
}

/** One record: its name opens the form, and a mark says that the draft changes it. */
function Row({ draft, mayChange, list, slug, name, note, isEnded = false, children }: RowProps) {
  const { edit } = useEditing();
  const isChanged = changedSlugs(list, draft.base, draft.shown).includes(slug);
  const mark = !isChanged ? null : find(draft.base, list, slug) === undefined ? 'New' : 'Changed';
  return (
    <div data-ended={isEnded}>
      <dt>
        {mayChange ? (
          <UnstyledButton className="offer-name" aria-label={`Change ${name}`} onClick={() => edit(list, slug)}>
            {name}
          </UnstyledButton>
        ) : (
          name
        )}
        {mark !== null && <span className="draft-mark">{mark}</span>}
        {note && <div className="quiet">{note}</div>}
      </dt>
      {children}
    </div>
  );
}

interface GroupProps extends PartProps {
  readonly list: List;
  readonly title: string;
  readonly add: string;
  readonly empty: string;
  readonly isEmpty: boolean;
  readonly children: ReactNode;
}

function Group({ list, title, add, empty, isEmpty, mayChange, children }: GroupProps) {
  const { edit } = useEditing();
  const aside = mayChange && (
    <Button variant="default" onClick={() => edit(list)}>
      {add}
    </Button>
  );
  return (
    <Section title={title} aside={aside}>
      {isEmpty ? (
        <Text c="dimmed" maw={520}>
          {empty}
        </Text>
      ) : (
        <dl className="offers">{children}</dl>
      )}
    </Section>
  );
}

/** Plans, extras and things that are paid once, with those that are no longer for sale at the end. */
export function Products(props: PartProps) {
  const { products } = props.draft.shown;
  const sold = products.filter(({ product }) => product.active);
  const ended = products.filter(({ product }) => !product.active);
  return (
    <>
      <Group {...props} list="products" title="Products" add="Add a product" empty="" isEmpty={false}>
        {sold.map((product) => (
          <ProductRow key={product.product.slug} {...props} of={product} />
        ))}
      </Group>
      {ended.length > 0 && (
        <Section title="No longer for sale">
          <dl className="offers">
            {ended.map((product) => (
              <ProductRow key={product.product.slug} {...props} of={product} />
            ))}
          </dl>
        </Section>
      )}
    </>
  );
}

function noteOf({ product, price }: CatalogProduct): string | false {
  if (product.default) return 'everybody begins here';
  if (product.addOn) return 'beside a plan';
  return price.type === 'single_payment' && 'paid once';
}

function ProductRow({ of, ...props }: PartProps & { readonly of: CatalogProduct }) {
  const { product, price, features } = of;
  const terms = termsOf(price, props.currency);
  const names = features.map((given) => {
    const { slug, value } = givenOf(given);
    const name = find(props.draft.shown, 'features', slug)?.name ?? slug;
    return value === undefined ? name : `${name}: ${valueText(value)}`;
  });
  const isEnded = !product.active;
  return (
    <Row {...props} list="products" slug={product.slug} name={product.name} note={noteOf(of)} isEnded={isEnded}>
      <dd>
        <strong className="amount-steps">{priceText(terms, product.singularQuantityLabel ?? 'unit')}</strong>
        <span className="quiet">{termsText(terms).map((term) => `, ${term}`)}</span>
      </dd>
      {names.length > 0 && <dd className="quiet">{names.join(', ')}</dd>}
    </Row>
  );
}

export function Meters(props: PartProps) {
  const { usageMeters } = props.draft.shown;
  return (
    <Group
      {...props}
      list="usageMeters"
      title="Usage meters"
      add="Add a meter"
      empty="A meter counts what your customers use, such as calls, tokens or hours. Credits pay for it, or a price does."
      isEmpty={usageMeters.length === 0}
    >
      {usageMeters.map((meter) => (
        <MeterRow key={meter.usageMeter.slug} {...props} of={meter} />
      ))}
    </Group>
  );
}

function MeterRow({ of: { usageMeter, prices }, ...props }: PartProps & { readonly of: CatalogMeter }) {
  const active = prices.filter((price) => price.active);
  return (
    <Row {...props} list="usageMeters" slug={usageMeter.slug} name={usageMeter.name}>
      {active.length === 0 && <dd className="quiet">No charge beyond the credits</dd>}
      {active.map((price) => (
        <dd key={JSON.stringify(price)}>
          {priceText(termsOf(price, props.currency))}
          {price.where !== undefined && <span className="quiet">, where {whereText(price.where)}</span>}
          {!price.isDefault && price.where === undefined && <span className="quiet">, for plans that name it</span>}
        </dd>
      ))}
    </Row>
  );
}

/** Credits that several meters draw from. */
export function Pools(props: PartProps) {
  const { creditPools = [] } = props.draft.shown;
  return (
    <Group
      {...props}
      list="creditPools"
      title="Credit pools"
      add="Add a pool"
      empty="A pool holds credits or money of a customer that the usage of several meters draws from, each at a rate of its own."
      isEmpty={creditPools.length === 0}
    >
      {creditPools.map(({ slug, name, unit, rates, drawAtPrice }) => (
        <Row key={slug} {...props} list="creditPools" slug={slug} name={name} note={unit !== 'credit' && `in ${unit}`}>
          {rates.length === 0 && !drawAtPrice && <dd className="quiet">No usage draws from it yet</dd>}
          {rates.map((rate) => (
            <dd key={JSON.stringify(rate)}>{rateText(rate, props.draft.shown)}</dd>
          ))}
          {drawAtPrice && <dd className="quiet">Other usage draws its price</dd>}
        </Row>
      ))}
    </Group>
  );
}

export function Features(props: PartProps) {
  const { features } = props.draft.shown;
  const given = [...features].sort((a, b) => Number(b.active) - Number(a.active));
  return (
    <Group
      {...props}
      list="features"
      title="Features"
      add="Add a feature"
      empty="A feature is what a product gives: a capability, credits on a meter, or capacity of a resource."
      isEmpty={features.length === 0}
    >
      {given.map((feature) => (
        <Row
          key={feature.slug}
          {...props}
          list="features"
          slug={feature.slug}
          name={feature.name}
          isEnded={!feature.active}
          note={!feature.active && 'no longer given'}
        >
          <dd>{featureText(feature, props.draft.shown)}</dd>
          {feature.description !== '' && <dd className="quiet">{feature.description}</dd>}
        </Row>
      ))}
    </Group>
  );
}

function featureText(feature: CatalogFeature, catalog: Catalog): string {
  switch (feature.type) {
    case 'toggle':
      return 'A capability';
    case 'value':
      return `${valueText(feature.value)}, unless the product says otherwise`;
    case 'spend_limit': {
      const { usageMeterSlug, creditPoolSlug, period, unit, action } = feature.spendLimit;
      const meter = creditPoolSlug
        ? (catalog.creditPools?.find(({ slug }) => slug === creditPoolSlug)?.name ?? creditPoolSlug)
        : usageMeterSlug && (find(catalog, 'usageMeters', usageMeterSlug)?.usageMeter.name ?? usageMeterSlug);
      const of =
        unit === 'units' ? counted(feature.amount, 'unit') : `${countText(feature.amount)} minor units of money`;
      const effect = action === 'block' ? 'at most' : 'notifies at';
      return `${effect} ${of} ${meter ? `of ${meter} ` : ''}in a ${words(period).toLowerCase()}`;
    }
    case 'resource': {
      const name = find(catalog, 'resources', feature.resourceSlug)?.name ?? feature.resourceSlug;
      return `${countText(feature.amount)} of ${name} for each unit`;
    }
    case 'usage_credit_grant': {
      const { usageMeterSlug = '', creditPoolSlug } = feature;
      const pool = catalog.creditPools?.find(({ slug }) => slug === creditPoolSlug);
      const meter = pool?.name ?? find(catalog, 'usageMeters', usageMeterSlug)?.usageMeter.name ?? usageMeterSlug;
      const rhythm = {
        once: 'once',
        every_billing_period: 'with each billing period',
        every_interval: intervalText(feature.grantInterval?.unit ?? 'month', feature.grantInterval?.count ?? 1),
      }[feature.renewalFrequency];
      const rolls = feature.rolloverMaximum ? `, of which ${countText(feature.rolloverMaximum)} may roll over` : '';
      return `${counted(feature.amount, 'credit')} ${pool ? 'of' : 'on'} ${meter}, ${rhythm}${rolls}`;
    }
    default:
      return feature satisfies never;
  }
}

export function Resources(props: PartProps) {
  const { resources } = props.draft.shown;
  return (
    <Group
      {...props}
      list="resources"
      title="Resources"
      add="Add a resource"
      empty="A resource is a thing of which a subscription has so many, such as a seat. A feature gives its capacity."
      isEmpty={resources.length === 0}
    >
      {resources.map(({ slug, name, active }) => (
        <Row
          key={slug}
          {...props}
          list="resources"
          slug={slug}
          name={name}
          isEnded={!active}
          note={!active && 'closed'}
        />
      ))}
    </Group>
  );
}
