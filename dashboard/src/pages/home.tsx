import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Attention as AttentionCounts, MrrReport } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { countText, moneyText } from '../parts/format.ts';
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

/** The records that somebody should look at, by one request. */
function Attention() {
  const { data, error } = useQuery(read('analytics', 'getAttention', {}));
  if (error !== null) return null;
  const counts = attentionOf(data?.attention).filter(([, count]) => count !== 0);
  return (
    <Section title="Needs attention">
      {data !== undefined && counts.length === 0 && (
        <p className="quiet">Nothing. Everybody has paid, and all work is done.</p>
      )}
      <ul className="attention">
        {counts.map(([name, count, to]) => (
          <li key={name}>
            <Go to={to}>{name}</Go>
            <span className="amount">{count === undefined ? '…' : upTo(count)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const mostCounted = 1000;

function upTo(count: number): string {
  return count >= mostCounted ? `${countText(count)} or more` : countText(count);
}

/** Each count, with the page that shows it. */
function attentionOf(attention: AttentionCounts | undefined) {
  return [
    ['Invoices past due', attention?.pastDueInvoices, '/dunning'],
    ['Past due subscriptions', attention?.pastDueSubscriptions, '/subscriptions?status=past_due'],
    ['Unpaid subscriptions', attention?.unpaidSubscriptions, '/subscriptions?status=unpaid'],
    ['Failed payments in a week', attention?.failedPayments, '/payments?status=failed'],
    ['Disputes lost and debits returned in a week', attention?.reversedPayments, '/payments?status=failed'],
    ['Drafts to review', attention?.draftInvoices, '/invoices?status=draft'],
    ['Failing webhooks', attention?.failingWebhooks, '/webhooks'],
    ['Subscriptions whose work failed', attention?.stuckSubscriptions, '/service-health'],
    ['Broken invariants', attention?.brokenInvariants ?? 0, '/service-health'],
  ] as const;
}
