import { Select, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { read } from '../api.ts';
import { counted } from './format.ts';
import { Section } from './shown.tsx';

const UsageChart = lazy(() => import('./usage-chart.tsx').then(({ UsageChart: Chart }) => ({ default: Chart })));

const dayMs = 86_400_000;
const days = 30;

interface MeterUsageProps {
  readonly customerId: string;
  /** The names of the meters, by id. */
  readonly meters: ReadonlyMap<string, string>;
}

/** The usage of a customer in the last month, by meter. */
export function MeterUsage({ customerId, meters }: MeterUsageProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const { data: clock } = useQuery(read('testClock', 'get', {}));
  const now = clock?.testClock.now;
  const id = chosen ?? [...meters.keys()][0] ?? '';
  const { data } = useQuery({
    ...read('usageMeters', 'getSummary', {
      id,
      customerId,
      groupBy: 'day',
      ...(now !== undefined && { from: now - days * dayMs }),
    }),
    enabled: now !== undefined && id !== '',
    placeholderData: (before) => before,
  });
  if (meters.size === 0) return null;
  const summary = data?.usageMeterSummary;
  const groups = (summary?.groups ?? []).flatMap((group) => ('start' in group ? [group] : []));
  return (
    <Section
      title="Usage in the last 30 days"
      aside={
        <Select
          aria-label="Usage meter"
          size="xs"
          data={[...meters].map(([value, label]) => ({ value, label }))}
          value={id}
          onChange={setChosen}
        />
      }
    >
      {summary === undefined ? (
        <Skeleton height={240} />
      ) : summary.events === 0 ? (
        <p className="quiet">Nothing was used.</p>
      ) : (
        <>
          <p>
            <strong className="amount">{counted(summary.units, 'unit')}</strong> in {counted(summary.events, 'event')}
          </p>
          <Suspense fallback={<Skeleton height={240} />}>
            <UsageChart groups={groups} isHourly={false} />
          </Suspense>
        </>
      )}
    </Section>
  );
}
