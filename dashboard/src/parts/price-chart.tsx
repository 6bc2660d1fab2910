import '@mantine/charts/styles.css';
import { AreaChart } from '@mantine/charts';
import { countText, moneyText } from './format.ts';

interface PriceChartProps {
  readonly points: readonly { readonly units: number; readonly amount: number }[];
  readonly currency: string;
}

/** The price of a number of units, as a curve. */
export function PriceChart({ points, currency }: PriceChartProps) {
  const money = (amount: number) => moneyText(amount, currency);
  return (
    <figure className="chart" aria-label="Price against units">
      <AreaChart
        h={220}
        data={[{ units: 0, amount: 0 }, ...points]}
        dataKey="units"
        series={[{ name: 'amount', label: 'Price', color: 'toll.6' }]}
        curveType="linear"
        withDots={false}
        valueFormatter={money}
        xAxisProps={{ tickFormatter: (units: number) => countText(units) }}
        yAxisProps={{ width: 84 }}
        gridAxis="x"
      />
    </figure>
  );
}
