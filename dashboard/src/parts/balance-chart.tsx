import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { countText } from './format.ts';
import { evenTexts } from './report-charts.tsx';

interface BalanceChartProps {
  /** The balances at each instant, by the names of the meters. */
  readonly points: readonly { readonly at: number; readonly balances: Readonly<Record<string, number>> }[];
  readonly meters: readonly string[];
  /** The instant that is looked at. */
  readonly chosen: number;
  /** The text of an instant, which differs from that of any other point. */
  readonly textOf: (instant: number) => string;
}

const colors = ['toll.6', 'teal.6', 'orange.6', 'grape.6', 'cyan.7', 'gray.6'];

/** Balances of credits over time. */
export function BalanceChart({ points, meters, chosen, textOf }: BalanceChartProps) {
  const data = points.map(({ at, balances }) => ({ ...balances, at: textOf(at) }));
  return (
    <figure className="chart" aria-label="Balances over time">
      <LineChart
        h={220}
        data={data}
        dataKey="at"
        series={meters.map((name, index) => ({ name, color: colors[index % colors.length] ?? 'toll.6' }))}
        curveType="stepAfter"
        withDots={false}
        withLegend={meters.length > 1}
        valueFormatter={countText}
        xAxisProps={evenTexts}
        yAxisProps={{ width: 84 }}
        gridAxis="x"
        referenceLines={[{ x: textOf(chosen), color: 'gray.6' }]}
      />
    </figure>
  );
}
