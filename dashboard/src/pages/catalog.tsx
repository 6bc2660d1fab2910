import { NumberInput, Select, Skeleton, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { Price, PricingModelDetails, ProductWithPrices } from '../../../client/src/generated-entry.ts';
import { api, currentEnvironment, read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { counted, moneyText } from '../parts/format.ts';
import { priceText, pricingText, termsText } from '../parts/price-text.ts';
import { Problem } from '../parts/problem.tsx';
import { useFilters } from '../parts/records.tsx';
import { Heading, Section } from '../parts/shown.tsx';

const Chart = lazy(() => import('../parts/price-chart.tsx').then(({ PriceChart }) => ({ default: PriceChart })));
const mostModels = 100;

export function Page() {
  const { filters, setFilters } = useFilters();
  const { data: models, error } = useQuery(read('pricingModels', 'list', { limit: mostModels }));
  const { data: preset } = useQuery(read('pricingModels', 'getDefault', {}));
  const chosen = filters.model;
  const { data: other } = useQuery({
    ...read('pricingModels', 'get', { id: chosen ?? '' }),
    enabled: chosen !== undefined,
  });
  const model = (chosen === undefined ? preset : other)?.pricingModel;
  if (error !== null) return <Problem error={error} />;
  return (
    <>
      <Heading
        title="Catalog"
        aside={
          <Select
            aria-label="Pricing model"
            data={(models?.data ?? []).map(({ id, name, isDefault }) => ({
              value: id,
              label: isDefault ? `${name}, default` : name,
            }))}
            value={model?.id ?? null}
            onChange={(id) => setFilters({ model: id ?? undefined })}
          />
        }
      />
      {model === undefined ? <Skeleton height={320} /> : <Model model={model} />}
    </>
  );
}

function Model({ model }: { readonly model: PricingModelDetails }) {
  const plans = model.products.filter(({ active, addOn }) => active && !addOn);
  const addOns = model.products.filter(({ active, addOn }) => active && addOn);
  if (model.products.length === 0)
    return (
      <Empty title="Nothing is for sale yet">
        Keep the pricing model in a file: <code>npx tollkeeper pricing apply pricing.json</code> makes it, and shows
        what a change would do.
      </Empty>
    );
  return (
    <>
      <Section title="Plans">
        <Products products={plans} />
      </Section>
      {addOns.length > 0 && (
        <Section title="Add-ons">
          <Products products={addOns} />
        </Section>
      )}
      {model.usageMeters.length > 0 && (
        <Section title="Usage">
          <dl className="offers">
            {model.usageMeters.map(({ id, name, prices }) => (
              <div key={id}>
                <dt>{name}</dt>
                {prices
                  .filter(({ active }) => active)
                  .map((price) => (
                    <dd key={price.id}>{priceText(price)}</dd>
                  ))}
              </div>
            ))}
          </dl>
        </Section>
      )}
      <Section title="What does it cost?">
        <Calculator model={model} />
      </Section>
    </>
  );
}

function Products({ products }: { readonly products: readonly ProductWithPrices[] }) {
  return (
    <dl className="offers">
      {products.map((product) => (
        <div key={product.id}>
          <dt>
            {product.name}
            {product.default && <span className="quiet"> everybody begins here</span>}
          </dt>
          {product.prices
            .filter(({ active }) => active)
            .map((price) => (
              <dd key={price.id}>
                <strong className="amount-steps">{priceText(price, product.singularQuantityLabel ?? 'unit')}</strong>
                <span className="quiet">{termsText(price).map((term) => `, ${term}`)}</span>
              </dd>
            ))}
          {product.features.length > 0 && (
            <dd className="quiet">{product.features.map(({ name }) => name).join(', ')}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}

const steps = 24;
const typingMs = 250;

/** Asks the service for the price of a number of units, and of smaller and larger numbers. */
function Calculator({ model }: { readonly model: PricingModelDetails }) {
  const prices = [
    ...model.usageMeters.flatMap(({ name, prices: ofMeter }) => ofMeter.map((price) => ({ name, price }))),
    ...model.products.flatMap(({ name, prices: ofProduct }) => ofProduct.map((price) => ({ name, price }))),
  ].filter(({ price }) => price.active && price.type !== 'single_payment');
  const [chosen, setChosen] = useState<string | null>(prices[0]?.price.id ?? null);
  const [units, setUnits] = useState<number | string>(1000);
  const [settled] = useDebouncedValue(Number(units), typingMs);
  const price = prices.find((each) => each.price.id === chosen)?.price;
  if (price === undefined) return <Text c="dimmed">No price depends on units.</Text>;
  return (
    <div className="calculator">
      <div className="calculator-form">
        <Select
          label="Price"
          data={prices.map((each) => ({
            value: each.price.id,
            label: `${each.name}, ${each.price.name ?? each.price.slug ?? ''}`,
          }))}
          value={chosen}
          onChange={setChosen}
        />
        <NumberInput
          label="Units"
          value={units}
          onChange={setUnits}
          min={1}
          max={1_000_000_000}
          thousandSeparator=" "
          allowDecimal={false}
        />
        <Text size="sm" c="dimmed">
          {price.pricing === null ? priceText(price) : pricingText(price.pricing, price.currency)}
        </Text>
      </div>
      {settled > 0 && <Quoted price={price} units={settled} />}
    </div>
  );
}

function Quoted({ price, units }: { readonly price: Price; readonly units: number }) {
  const points = [
    ...new Set(Array.from({ length: steps }, (_, index) => Math.ceil((units * 2 * (index + 1)) / steps))),
  ];
  const asked = [units, ...points].map((each) => ({ priceId: price.id, units: each }));
  const { data, error } = useQuery({
    queryKey: [currentEnvironment(), 'quote', price.id, units],
    queryFn: ({ signal }) => api.prices.quote({ quote: { lines: asked } }, { signal, dryRun: true }),
    placeholderData: (before) => before,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Skeleton height={220} />;
  const { currency, lines } = data.quote;
  const [first, ...rest] = lines;
  return (
    <div className="calculator-answer">
      <Text fz={26} fw={620} className="amount">
        {moneyText(first?.amount ?? 0, currency)}
      </Text>
      <Text c="dimmed" size="sm">
        for {counted(units, 'unit')} a period
      </Text>
      <Suspense fallback={<Skeleton height={200} />}>
        <Chart points={rest.map(({ units: at, amount }) => ({ units: at, amount }))} currency={currency} />
      </Suspense>
    </div>
  );
}
