import '@mantine/charts/styles.css';
import { AreaChart, BarChart } from '@mantine/charts';
import type { MrrReport } from '../../../client/src/generated-entry.ts';
import { moneyText, monthText, shortMoneyText } from './format.ts';
import { evenTexts } from './report-charts.tsx';

type Points = MrrReport['groups'][number]['points'];

interface RevenueChartProps {
  readonly points: Points;
  readonly currency: string;
}

const movements = [
  { name: 'new', label: 'New', color: 'toll.6' },
  { name: 'reactivation', label: 'Reactivation', color: 'toll.3' },
  { name: 'expansion', label: 'Expansion', color: 'teal.5' },
  { name: 'contraction', label: 'Contraction', color: 'orange.4' },
  { name: 'churn', label: 'Churn', color: 'red.6' },
];

/** Recurring revenue at the end of each month, and the movements that led there. */
export function RevenueChart({ points, currency }: RevenueChartProps) {
  const data = points.map((point) => ({ ...point, month: monthText(point.start) }));
  const shared = {
    h: 220,
    data,
    dataKey: 'month',
    valueFormatter: (amount: number) => moneyText(amount, currency),
    xAxisProps: evenTexts,
    yAxisProps: { width: 64, tickFormatter: (amount: number) => shortMoneyText(amount, currency) },
    gridAxis: 'x' as const,
  };
  return (
    <div className="charts">
      <figure className="chart">
        <figcaption>Recurring revenue at the end of each month</figcaption>
        <AreaChart
          {...shared}
          series={[{ name: 'mrr', label: 'MRR', color: 'toll.6' }]}
          curveType="linear"
          withDots={false}
        />
      </figure>
      <figure className="chart">
        <figcaption>Its movements in each month</figcaption>
        <BarChart
          {...shared}
          type="stacked"
          // Losses go below the line.
          barChartProps={{ stackOffset: 'sign' }}
          series={movements}
          withLegend
          barProps={{ maxBarSize: 28 }}
        />
      </figure>
    </div>
  );
}
