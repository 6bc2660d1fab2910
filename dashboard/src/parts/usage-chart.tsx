import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { countText, shortCountText } from './format.ts';
import { evenTexts } from './report-charts.tsx';

interface UsageChartProps {
  readonly groups: readonly { readonly start: number; readonly units: number }[];
  readonly isHourly: boolean;
}

const time = new Intl.DateTimeFormat(navigator.language, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat(navigator.language, { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** The units of a meter over time. */
export function UsageChart({ groups, isHourly }: UsageChartProps) {
  const data = groups.map(({ start, units }) => ({ units, time: (isHourly ? time : day).format(start) }));
  return (
    <figure className="chart" aria-label="Units over time">
      <BarChart
        h={240}
        data={data}
        dataKey="time"
        series={[{ name: 'units', label: 'Units', color: 'toll.6' }]}
        valueFormatter={countText}
        xAxisProps={evenTexts}
        yAxisProps={{ width: 64, tickFormatter: shortCountText }}
        barProps={{ maxBarSize: 28 }}
        gridAxis="x"
      />
    </figure>
  );
}
