import { Button, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { PricingModelsSetupInput } from '../../../client/src/generated-entry.ts';
import annual from '../../../examples/annual-plan.json';
import credits from '../../../examples/credits.json';
import hybrid from '../../../examples/hybrid.json';
import seats from '../../../examples/seats.json';
import trial from '../../../examples/trial.json';
import { api, refreshAll } from '../api.ts';
import { type PriceTerms, priceText, termsText } from '../parts/price-text.ts';
import { Problem } from '../parts/problem.tsx';
import { useMay } from '../session.ts';

interface Example {
  readonly title: string;
  readonly text: string;
  readonly model: Readonly<Record<keyof PricingModelsSetupInput, unknown>> | object;
}

const examples: readonly Example[] = [
  { title: 'Credits and top-ups', text: 'Customers pay ahead, and usage draws their credits down.', model: credits },
  { title: 'Seats', text: 'The quantity of a subscription is the number of its seats.', model: seats },
  { title: 'Trial', text: 'A plan begins with two weeks for nothing.', model: trial },
  { title: 'Monthly and annual', text: 'One plan in two intervals, with credits each month.', model: annual },
  { title: 'Base fee and usage', text: 'A plan with units in it, and a price for what goes beyond.', model: hybrid },
];

// The files of examples/ are bodies of this operation, which a test proves; JSON has no literal types.
const bodyOf = ({ model }: Example) => model as unknown as PricingModelsSetupInput;

interface ExamplesProps {
  readonly currency: string;
  readonly onDone: (modelId: string) => void;
}

/** Whole pricing models to begin with. Each is one click, and can be changed afterwards. */
export function Examples({ currency, onDone }: ExamplesProps) {
  const mayChange = useMay('pricing-models:catalog');
  // A click that is repeated after a lost answer makes no second model.
  const [attempt, setAttempt] = useState(() => crypto.randomUUID());
  const setUp = useMutation({
    // An apply would change the model that came of the same example before.
    mutationFn: (example: Example) =>
      api.pricingModels.setup(
        { ...bodyOf(example), isDefault: true },
        { idempotencyKey: `${attempt} ${example.title}` },
      ),
    onSuccess: async ({ pricingModel }) => {
      setAttempt(crypto.randomUUID());
      await refreshAll();
      notifications.show({ message: `${pricingModel.name} is the catalog for new customers.`, color: 'teal' });
      onDone(pricingModel.id);
    },
  });
  return (
    <>
      {setUp.isError && <Problem error={setUp.error} />}
      <div className="examples">
        {examples.map((example) => (
          <article key={example.title} className="example">
            <h3>{example.title}</h3>
            <Text size="sm" c="dimmed">
              {example.text}
            </Text>
            <Offer of={bodyOf(example)} currency={currency} />
            {mayChange && (
              <Button
                variant="default"
                loading={setUp.isPending && setUp.variables === example}
                disabled={setUp.isPending}
                onClick={() => setUp.mutate(example)}
                aria-label={`Set it up: ${example.title}`}
              >
                Set it up
              </Button>
            )}
          </article>
        ))}
      </div>
    </>
  );
}

const textOf = (price: PriceTerms) => [priceText(price), ...termsText(price)].join(', ');

/** The products of an example with their prices. */
function Offer({
  of: { products = [], usageMeters = [] },
  currency,
}: {
  readonly of: PricingModelsSetupInput;
  readonly currency: string;
}) {
  const priced = [
    ...products.map(({ product, price }) => ({ name: product.name, price })),
    ...usageMeters.flatMap(({ usageMeter, prices = [] }) => prices.map((price) => ({ name: usageMeter.name, price }))),
  ];
  return (
    <dl className="example-offer">
      {priced.map(({ name, price }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="example-price amount-steps">{textOf({ ...price, currency } as PriceTerms)}</dd>
        </div>
      ))}
    </dl>
  );
}
