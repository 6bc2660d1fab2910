import { NumberInput, Skeleton, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { Pricing } from '../../../client/src/generated-entry.ts';
import { api, currentEnvironment } from '../api.ts';
import { counted, moneyText } from './format.ts';
import { Problem } from './problem.tsx';

const Chart = lazy(() => import('./price-chart.tsx').then(({ PriceChart }) => ({ default: PriceChart })));

const steps = 24;
const typingMs = 250;
const mostUnits = 1_000_000_000;

interface PricePreviewProps {
  /** A price that is stored, or the pricing of one that is not yet. */
  readonly of: { readonly priceId: string } | { readonly pricing: Pricing };
  readonly unit?: string;
  readonly from?: number;
}

/** The price of a number of units, and of smaller and larger numbers, as the service computes it. */
export function PricePreview({ of, unit = 'unit', from = 100 }: PricePreviewProps) {
  const [units, setUnits] = useState<number | string>(from);
  const [settled] = useDebouncedValue(JSON.stringify({ of, units: Number(units) }), typingMs);
  const asked = JSON.parse(settled) as { of: PricePreviewProps['of']; units: number };
  return (
    <div className="calculator">
      <NumberInput
        label="Units"
        value={units}
        onChange={setUnits}
        min={1}
        max={mostUnits}
        thousandSeparator=" "
        allowDecimal={false}
      />
      {asked.units > 0 && <Quoted {...asked} unit={unit} />}
    </div>
  );
}

interface QuotedProps {
  readonly of: PricePreviewProps['of'];
  readonly units: number;
  readonly unit: string;
}

function Quoted({ of, units, unit }: QuotedProps) {
  const points = [
    ...new Set(Array.from({ length: steps }, (_, index) => Math.ceil((units * 2 * (index + 1)) / steps))),
  ];
  const asked = [units, ...points].map((each) => ({ ...of, units: each }));
  const { data, error } = useQuery({
    queryKey: [currentEnvironment(), 'quote', of, units],
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
        for {counted(units, unit)} a period
      </Text>
      <Suspense fallback={<Skeleton height={200} />}>
        <Chart points={rest.map(({ units: at, amount }) => ({ units: at, amount }))} currency={currency} />
      </Suspense>
    </div>
  );
}
