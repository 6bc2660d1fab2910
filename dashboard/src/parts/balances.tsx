import { SegmentedControl, Skeleton, Slider, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { Customer } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { countText, dateText, instantText, words } from './format.ts';
import { Listed } from './listed.tsx';
import { Problem } from './problem.tsx';
import { Facts, Section, When } from './shown.tsx';

const BalanceChart = lazy(() => import('./balance-chart.tsx').then(({ BalanceChart: Chart }) => ({ default: Chart })));

const dayMs = 86_400_000;
const steps = 12;
const spans = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'Year' },
];
const entries = 20;

interface BalancesProps {
  readonly customer: Customer;
  /** The names of the meters and credit pools, by id. */
  readonly meters: ReadonlyMap<string, string>;
}

/** The balances of credits through time. The slider looks at any of the instants, and the ledger goes back with it. */
export function Balances(props: BalancesProps) {
  const { data, error, refetch } = useQuery(read('testClock', 'get', {}));
  if (data === undefined)
    return error === null ? <Skeleton height={260} mb={40} /> : <Problem error={error} retry={refetch} />;
  return <ThroughTime {...props} now={data.testClock.now} />;
}

function ThroughTime({ customer, meters, now }: BalancesProps & { readonly now: number }) {
  const [days, setDays] = useState('90');
  const [step, setStep] = useState(steps);
  const from = Math.max(now - Number(days) * dayMs, customer.createdAt);
  const instants = Array.from({ length: steps + 1 }, (_, index) => Math.round(from + ((now - from) * index) / steps));
  const chosen = instants[step] ?? now;
  // A customer of a few days has several points in one day.
  const textOf = now - from < steps * dayMs ? instantText : dateText;
  const reference = { externalId: customer.externalId, pricingModelId: customer.pricingModelId };
  const answers = useQueries({
    queries: instants.map((asOf) => read('customers', 'listLedger', { ...reference, asOf, limit: 1 })),
  });
  const points = instants.map((at, index) => ({ at, balances: sumsOf(answers[index]?.data?.balances ?? [], meters) }));
  const shown = [...new Set(points.flatMap(({ balances }) => Object.keys(balances)))];
  const isLoaded = answers.every(({ data }) => data !== undefined);
  const failed = answers.find(({ data, error }) => data === undefined && error !== null);
  return (
    <>
      <Section
        title="Balances"
        aside={<SegmentedControl aria-label="Range" size="xs" data={spans} value={days} onChange={setDays} />}
      >
        {failed !== undefined ? (
          <Problem error={failed.error} retry={() => Promise.all(answers.map(({ refetch }) => refetch()))} />
        ) : !isLoaded ? (
          <Skeleton height={220} />
        ) : shown.length === 0 ? (
          <p className="quiet">No credits in this time.</p>
        ) : (
          <>
            <Suspense fallback={<Skeleton height={220} />}>
              <BalanceChart points={points} meters={shown} chosen={chosen} textOf={textOf} />
            </Suspense>
            <div className="as-of">
              <Slider
                thumbLabel="As of"
                min={0}
                max={steps}
                value={step}
                onChange={setStep}
                label={(index) => textOf(instants[index] ?? now)}
                size="sm"
              />
              <Text size="sm" c="dimmed" aria-live="polite">
                As of {textOf(chosen)}
                {step === steps && ', now'}
              </Text>
            </div>
            <Facts
              facts={shown.map((name) => [
                name,
                <span key={name} className="amount">
                  {countText(points[step]?.balances[name] ?? 0)}
                </span>,
              ])}
            />
          </>
        )}
      </Section>
      <Section title={step === steps ? 'Ledger of credits' : `Ledger of credits until ${textOf(chosen)}`}>
        <Listed
          query={read('customers', 'listLedger', {
            ...reference,
            limit: entries,
            order: 'desc',
            ...(step < steps && { asOf: chosen }),
          })}
          caption="Entries of the ledger"
          nothing="No credits were granted or used."
          columns={[
            { title: 'Entry', cell: ({ type }) => words(type) },
            {
              title: 'Meter or pool',
              cell: ({ usageMeterId, creditPoolId }) => meters.get(usageMeterId ?? creditPoolId ?? '') ?? '',
              from: 'sm',
            },
            { title: 'Date', cell: ({ createdAt }) => <When at={createdAt} />, from: 'xs' },
            {
              title: 'Credits',
              cell: ({ amount }) => <span className="amount">{countText(amount)}</span>,
              align: 'right',
            },
            {
              title: 'Balance after it',
              cell: ({ availableAfter }) => <span className="amount">{countText(availableAfter)}</span>,
              align: 'right',
            },
          ]}
        />
      </Section>
    </>
  );
}

interface Balance {
  readonly usageMeterId: string | null;
  readonly creditPoolId: string | null;
  readonly availableBalance: number | string;
}

/** The balances of all subscriptions together, by the names of their meters and pools. */
function sumsOf(balances: readonly Balance[], meters: ReadonlyMap<string, string>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { usageMeterId, creditPoolId, availableBalance } of balances) {
    const id = usageMeterId ?? creditPoolId ?? '';
    const name = meters.get(id) ?? id;
    sums[name] = (sums[name] ?? 0) + Number(availableBalance);
  }
  return sums;
}
