import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { read } from '../api.ts';
import { Cohorts } from './cohorts.tsx';
import { countText, moneyText, percentText, shortCountText, shortMoneyText, totalText } from './format.ts';
import { Problem } from './problem.tsx';
import { Go, Section } from './shown.tsx';

const ReportChart = lazy(() => import('./report-charts.tsx').then(({ ReportChart: Chart }) => ({ default: Chart })));

const query = { interval: 'month' } as const;
const chartHeight = 250;
const mostMeters = 4;

interface ChartsProps {
  readonly isKnown: boolean;
  readonly error: Error | null;
  readonly retry: () => unknown;
  readonly children: ReactNode;
}

/** Charts in their places, before they are known too. */
function Charts({ isKnown, error, retry, children }: ChartsProps) {
  if (error !== null) return <Problem error={error} retry={retry} />;
  const waiting = <Skeleton height={chartHeight} />;
  if (!isKnown) return waiting;
  return (
    <Suspense fallback={waiting}>
      <div className="charts">{children}</div>
    </Suspense>
  );
}

/** Subscriptions that are paid for, and those that may be. */
export function SubscriptionCounts() {
  const active = useQuery(read('subscriptions', 'list', { limit: 1, status: 'active' }));
  const trialing = useQuery(read('subscriptions', 'list', { limit: 1, status: 'trialing' }));
  const counts = [
    ['Active subscriptions', active.data?.total, '/subscriptions?status=active'],
    ['In trial', trialing.data?.total, '/subscriptions?status=trialing'],
  ] as const;
  return (
    <dl className="figures">
      {counts.map(([name, total, to]) => (
        <div key={name}>
          <dt>
            <Go to={to}>{name}</Go>
          </dt>
          <dd>{total === undefined ? '…' : totalText(total)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Revenue and money by months, in each currency. */
export function MoneyReports() {
  const revenue = useQuery(read('analytics', 'getRevenue', query));
  const payments = useQuery(read('analytics', 'getPayments', query));
  const paymentsOf = (currency: string) =>
    payments.data?.payments.groups.find((group) => group.currency === currency)?.points ?? [];
  return (
    <Section title="Revenue and payments">
      <Charts
        isKnown={revenue.data !== undefined && payments.data !== undefined}
        error={revenue.error ?? payments.error}
        retry={() => Promise.all([revenue.refetch(), payments.refetch()])}
      >
        {revenue.data?.revenue.groups.map(({ currency, points }) => {
          const text = (amount: number) => moneyText(amount, currency);
          const axis = (amount: number) => shortMoneyText(amount, currency);
          return [
            <ReportChart
              key={`${currency} revenue`}
              title={`Net revenue, and the money that came, in ${currency}`}
              points={points}
              series={[
                { name: 'net', label: 'Net revenue', color: 'toll.6' },
                { name: 'collected', label: 'Collected', color: 'teal.5' },
                { name: 'refunded', label: 'Refunded', color: 'orange.4' },
              ]}
              text={text}
              axis={axis}
            />,
            <ReportChart
              key={`${currency} payments`}
              title={`Failed payments, and those recovered later, in ${currency}`}
              points={paymentsOf(currency)}
              series={[
                { name: 'failedAmount', label: 'Failed', color: 'red.6' },
                { name: 'recoveredAmount', label: 'Recovered', color: 'teal.5' },
              ]}
              text={text}
              axis={axis}
            />,
          ];
        })}
      </Charts>
    </Section>
  );
}

/** How much of the customers and their revenue stays. */
export function RetentionReports() {
  const retention = useQuery(read('analytics', 'getRetention', query));
  const churn = useQuery(read('analytics', 'getChurn', query));
  const { currency, points = [], cohorts = [] } = retention.data?.retention ?? {};
  const lost = churn.data?.churn.groups.find((group) => group.currency === currency)?.points ?? [];
  const known = points.filter(({ opening }) => opening > 0);
  return (
    <>
      <Section title="Churn and retention">
        <Charts
          isKnown={retention.data !== undefined && churn.data !== undefined}
          error={retention.error ?? churn.error}
          retry={() => Promise.all([retention.refetch(), churn.refetch()])}
        >
          <ReportChart
            title="Revenue kept from the customers at the start of each month"
            points={known.map(({ start, netRetention, grossRetention }) => ({
              start,
              net: numberOf(netRetention),
              gross: numberOf(grossRetention),
            }))}
            series={[
              { name: 'net', label: 'With expansion (net)', color: 'toll.6' },
              { name: 'gross', label: 'Without (gross)', color: 'gray.6' },
            ]}
            text={percentText}
            axis={percentText}
            as="lines"
          />
          <ReportChart
            title="Lost in each month"
            points={lost.map(({ start, customerChurnRate, revenueChurnRate }) => ({
              start,
              customers: numberOf(customerChurnRate),
              revenue: numberOf(revenueChurnRate),
            }))}
            series={[
              { name: 'customers', label: 'Of the customers', color: 'orange.4' },
              { name: 'revenue', label: 'Of the revenue', color: 'red.6' },
            ]}
            text={percentText}
            axis={percentText}
          />
        </Charts>
      </Section>
      <Cohorts cohorts={cohorts} />
    </>
  );
}

function numberOf(rate: string | null | undefined): number | null {
  return rate === null || rate === undefined ? null : Number(rate);
}

/** Units of the most used meters by months. */
export function UsageReports() {
  const { data, error, refetch } = useQuery(read('analytics', 'getUsage', query));
  const meters = data?.usage.meters.slice(0, mostMeters);
  if (meters?.length === 0) return null;
  return (
    <Section title="Usage" aside={<Go to="/usage">Look at all meters</Go>}>
      <Charts isKnown={meters !== undefined} error={error} retry={refetch}>
        {meters?.map(({ usageMeterId, name, points }) => (
          <ReportChart
            key={usageMeterId}
            title={name}
            points={points}
            series={[{ name: 'units', label: 'Units', color: 'toll.6' }]}
            text={countText}
            axis={shortCountText}
          />
        ))}
      </Charts>
    </Section>
  );
}
