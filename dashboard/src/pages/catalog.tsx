import { Modal, Select, Skeleton, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { PricingModelDetails, PricingModelExport } from '../../../client/src/generated-entry.ts';
import { read, readAll } from '../api.ts';
import { isBare } from '../catalog/draft.ts';
import { useDraft, useEditing } from '../catalog/editing.ts';
import { ModelMenu } from '../catalog/model-menu.tsx';
import { Features, Meters, Pools, Products, Resources } from '../catalog/offer.tsx';
import { DraftBar } from '../catalog/review.tsx';
import { words } from '../parts/format.ts';
import { priceText, pricingText } from '../parts/price-text.ts';
import { isInTheWay, PageProblem, Problem } from '../parts/problem.tsx';
import { useFilters } from '../parts/records.tsx';
import { Heading, Section } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

// The forms come when one is opened, so that the catalog itself is there at once.
const Editor = lazy(() => import('../catalog/editor.tsx').then((module) => ({ default: module.Editor })));
const Discounts = lazy(() => import('../catalog/discounts.tsx').then((module) => ({ default: module.Discounts })));
const PricePreview = lazy(() =>
  import('../parts/price-preview.tsx').then((module) => ({ default: module.PricePreview })),
);
const Examples = lazy(() => import('../catalog/examples.tsx').then((module) => ({ default: module.Examples })));

export function Page() {
  const { filters } = useFilters();
  const { data: models, error } = useQuery(readAll('pricingModels', {}));
  const { data: settings } = useQuery(read('settings', 'get', {}));
  const id = filters.model ?? (models?.find(({ isDefault }) => isDefault) ?? models?.[0])?.id;
  const exported = useQuery({ ...read('pricingModels', 'export', { id: id ?? '' }), enabled: id !== undefined });
  const currency = settings?.settings.currency;
  const found = error ?? exported.error;
  if (isInTheWay(found, exported.data)) return <PageProblem error={found} />;
  if (id === undefined || exported.data === undefined || currency === undefined)
    return (
      <>
        <Heading title="Catalog" />
        <Skeleton height={320} />
      </>
    );
  const choices = (models ?? []).map(({ id: value, name, isDefault }) => ({
    value,
    label: isDefault ? `${name}, default` : name,
  }));
  return <Model key={id} modelId={id} exported={exported.data} currency={currency} models={choices} />;
}

interface ModelProps {
  readonly modelId: string;
  readonly exported: PricingModelExport;
  readonly currency: string;
  readonly models: readonly { readonly value: string; readonly label: string }[];
}

const tabs = ['offer', 'features', 'discounts', 'calculator'] as const;

function Model({ modelId, exported: { pricingModel: current }, currency, models }: ModelProps) {
  const { filters, setFilters } = useFilters();
  const [picksExample, setPicksExample] = useState(false);
  const draft = useDraft(modelId, current);
  const mayChange = useMay('pricing-models:catalog');
  const isEditing = useEditing().list !== null;
  // A form that closes stays, so that it can leave slowly.
  const [hasEdited, setEdited] = useState(false);
  if (isEditing && mayChange && !hasEdited) setEdited(true);
  const show = (id: string | null) => setFilters({ model: id ?? undefined, edit: undefined });
  const part = { draft, currency, mayChange };
  return (
    <>
      <Heading
        title="Catalog"
        aside={
          <>
            <Select aria-label="Pricing model" data={models} value={modelId} onChange={show} w={220} />
            <ModelMenu modelId={modelId} current={current} draft={draft} onExamples={() => setPicksExample(true)} />
          </>
        }
      />
      <DraftBar modelId={modelId} draft={draft} currency={currency} />
      {isBare(draft.shown) && <Begin currency={currency} onDone={show} />}
      <Tabs
        value={filters.tab ?? 'offer'}
        onChange={(tab) => setFilters({ tab: tab ?? undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          {tabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words(each)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="offer">
          <Products {...part} />
          <Meters {...part} />
          <Pools {...part} />
        </Tabs.Panel>
        <Tabs.Panel value="features">
          <Features {...part} />
          <Resources {...part} />
        </Tabs.Panel>
        <Tabs.Panel value="discounts">
          <Suspense fallback={<Skeleton height={240} />}>
            <Discounts modelId={modelId} currency={currency} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="calculator">
          <Calculator modelId={modelId} />
        </Tabs.Panel>
      </Tabs>
      {hasEdited && (
        <Suspense>
          <Editor draft={draft} currency={currency} />
        </Suspense>
      )}
      <Modal
        opened={picksExample}
        onClose={() => setPicksExample(false)}
        title={<span className="dialog-title">Begin from an example</span>}
        size="xl"
      >
        <Suspense fallback={<Skeleton height={320} />}>
          <Examples
            currency={currency}
            onDone={(id) => {
              setPicksExample(false);
              show(id);
            }}
          />
        </Suspense>
      </Modal>
    </>
  );
}

/** A catalog with nothing in it yet: whole examples, of which one is close to what is wanted. */
function Begin({ currency, onDone }: { readonly currency: string; readonly onDone: (id: string) => void }) {
  return (
    <Section title="Begin with an example">
      <Text c="dimmed" maw={620} mb="md">
        Nothing is for sale yet. Each of these is a whole catalog for new customers. Take the closest one and change it,
        or add products one by one below.
      </Text>
      <Suspense fallback={<Skeleton height={240} />}>
        <Examples currency={currency} onDone={onDone} />
      </Suspense>
    </Section>
  );
}

/** The stored prices that depend on units. */
function Calculator({ modelId }: { readonly modelId: string }) {
  const { data, error } = useQuery(read('pricingModels', 'get', { id: modelId }));
  if (error !== null) return <Problem error={error} />;
  return data === undefined ? <Skeleton height={240} /> : <ChosenPrice model={data.pricingModel} />;
}

function ChosenPrice({ model }: { readonly model: PricingModelDetails }) {
  const prices = [
    ...model.usageMeters.flatMap(({ name, prices: ofMeter }) => ofMeter.map((price) => ({ name, price }))),
    ...model.products.flatMap(({ name, prices: ofProduct }) => ofProduct.map((price) => ({ name, price }))),
  ].filter(({ price }) => price.active && price.type !== 'single_payment' && price.pricing?.model !== 'dynamic');
  const [chosen, setChosen] = useState<string | null>(prices[0]?.price.id ?? null);
  const price = prices.find((each) => each.price.id === chosen)?.price;
  if (price === undefined) return <Text c="dimmed">No price depends on units.</Text>;
  return (
    <Section title="What does it cost?">
      <Select
        label="Price"
        data={prices.map((each) => ({
          value: each.price.id,
          label: `${each.name}, ${each.price.name ?? each.price.slug ?? ''}`,
        }))}
        value={chosen}
        onChange={setChosen}
        maw={320}
      />
      <Text size="sm" c="dimmed" my="sm">
        {price.pricing === null ? priceText(price) : pricingText(price.pricing, price.currency)}
      </Text>
      <Suspense fallback={<Skeleton height={240} />}>
        <PricePreview key={price.id} of={{ priceId: price.id }} from={1000} />
      </Suspense>
    </Section>
  );
}
