import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { MrrReport } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { countText, moneyText, totalText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { MoneyReports, RetentionReports, SubscriptionCounts, UsageReports } from '../parts/reports.tsx';
import { Go, Heading, Section } from '../parts/shown.tsx';

const RevenueChart = lazy(() =>
  import('../parts/revenue-chart.tsx').then(({ RevenueChart: Chart }) => ({ default: Chart })),
);

type Group = MrrReport['groups'][number];

/** Recurring revenue, its movements, and the records that need somebody. */
export function Page() {
  const { data, error, refetch } = useQuery(read('analytics', 'getMrr', { interval: 'month' }));
  const groups = data?.mrr.groups ?? [];
  return (
    <>
      <Heading title="Home" />
      {error !== null && <Problem error={error} retry={refetch} />}
      {data === undefined && error === null && <Skeleton height={320} />}
      {groups.map((group) => (
        <Revenue key={group.currency} group={group} />
      ))}
      {data !== undefined && groups.length === 0 && (
        <Empty title="No recurring revenue yet">
          It begins with the first paid subscription. <Go to="/catalog">Look at the catalog</Go>, or read{' '}
          <a href="/docs/">the reference of the API</a>.
        </Empty>
      )}
      <Attention />
      <SubscriptionCounts />
      <MoneyReports />
      <RetentionReports />
      <UsageReports />
    </>
  );
}

function Revenue({ group: { currency, points, opening } }: { readonly group: Group }) {
  const last = points.at(-1);
  const before = points.at(-2)?.mrr ?? opening;
  if (last === undefined) return null;
  const money = (amount: number) => moneyText(amount, currency);
  const change = last.mrr - before;
  return (
    <section className="section" aria-label={`Revenue in ${currency}`}>
      <dl className="figures">
        <div>
          <dt>MRR</dt>
          <dd>{money(last.mrr)}</dd>
          <Text size="sm" c="dimmed" component="dd" className="amount">
            {change >= 0 ? '+' : '−'} {money(Math.abs(change))} this month
          </Text>
        </div>
        <div>
          <dt>ARR</dt>
          <dd>{money(last.arr)}</dd>
        </div>
        {last.customers !== null && (
          <div>
            <dt>Paying customers</dt>
            <dd>{countText(last.customers)}</dd>
          </div>
        )}
      </dl>
      <Suspense fallback={<Skeleton height={220} />}>
        <RevenueChart points={points} currency={currency} />
      </Suspense>
    </section>
  );
}

/** The counts of records that somebody should look at. They are asked for together. */
function Attention() {
  const one = { limit: 1 };
  const pastDue = useQuery(read('subscriptions', 'list', { ...one, status: 'past_due' }));
  const unpaid = useQuery(read('subscriptions', 'list', { ...one, status: 'unpaid' }));
  const failed = useQuery(read('payments', 'list', { ...one, status: 'failed' }));
  const open = useQuery(read('invoices', 'list', { ...one, status: 'open' }));
  const counts = [
    ['Past due subscriptions', pastDue.data?.total, '/subscriptions?status=past_due'],
    ['Unpaid subscriptions', unpaid.data?.total, '/subscriptions?status=unpaid'],
    ['Failed payments', failed.data?.total, '/payments?status=failed'],
    ['Open invoices', open.data?.total, '/invoices?status=open'],
  ] as const;
  return (
    <Section title="Needs attention">
      <ul className="attention">
        {counts.map(([name, total, to]) => (
          <li key={name}>
            <Go to={to}>{name}</Go>
            <span className="amount">{total === undefined ? '…' : totalText(total)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
