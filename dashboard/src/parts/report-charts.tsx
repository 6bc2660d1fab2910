import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { monthText } from './format.ts';

/** A window without room for each text shows every second, or every third, and not those that happen to fit. */
export const evenTexts = { interval: 'equidistantPreserveStart' } as const;

interface Series {
  readonly name: string;
  readonly label: string;
  readonly color: string;
}

interface ReportChartProps {
  readonly title: string;
  readonly points: readonly ({ readonly start: number } & Readonly<Record<string, number | string | null>>)[];
  readonly series: readonly Series[];
  readonly text: (value: number) => string;
  /** The text of a value at the axis. */
  readonly axis: (value: number) => string;
  /** Parts of a whole are lines, and amounts are bars. */
  readonly as?: 'bars' | 'lines';
}

/** Values of a report by months. */
export function ReportChart({ title, points, series, text, axis, as = 'bars' }: ReportChartProps) {
  const shared = {
    h: 220,
    data: points.map((point) => ({ ...point, month: monthText(point.start) })),
    dataKey: 'month',
    series: [...series],
    valueFormatter: text,
    xAxisProps: evenTexts,
    yAxisProps: { width: 64, tickFormatter: axis },
    gridAxis: 'x' as const,
    withLegend: series.length > 1,
  };
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      {as === 'bars' ? (
        <BarChart {...shared} barProps={{ maxBarSize: 28 }} />
      ) : (
        <LineChart {...shared} curveType="linear" withDots={false} connectNulls />
      )}
    </figure>
  );
}
