import { SegmentedControl, Table } from '@mantine/core';
import { useState } from 'react';
import type { RetentionReport } from '../../../client/src/generated-entry.ts';
import { countText, monthText, percentText } from './format.ts';
import { Section } from './shown.tsx';

type Cohort = RetentionReport['cohorts'][number];
type Kept = 'netRetention' | 'customerRetention';

const choices: readonly { readonly value: Kept; readonly label: string }[] = [
  { value: 'netRetention', label: 'Revenue' },
  { value: 'customerRetention', label: 'Customers' },
];
// A cell that keeps everything has this part of the accent, so that its text can be read in both colour schemes.
const fullShade = 38;

/** The part that each month's customers have kept, by months since their first. */
export function Cohorts({ cohorts }: { readonly cohorts: readonly Cohort[] }) {
  const [kept, setKept] = useState<Kept>('netRetention');
  const made = cohorts.filter(({ customers }) => customers > 0);
  if (made.length === 0) return null;
  const longest = Math.max(...made.map(({ points }) => points.length));
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label="Kept of"
      data={[...choices]}
      value={kept}
      onChange={(value) => setKept(value as Kept)}
    />
  );
  return (
    <Section title="Cohorts: kept by the month of the first payment" aside={choice}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
      <section className="wide" tabIndex={0} aria-label="Cohorts">
        <Table className="cohorts" horizontalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Month</Table.Th>
              <Table.Th ta="right">Customers</Table.Th>
              {Array.from({ length: longest }, (_, later) => later).map((later) => (
                <Table.Th key={later} ta="right">
                  {later === 0 ? 'First' : `+${later}`}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {made.map(({ start, customers, points }) => (
              <Table.Tr key={start}>
                <Table.Th scope="row">{monthText(start)}</Table.Th>
                <Table.Td ta="right">{countText(customers)}</Table.Td>
                {points.map((point) => (
                  <Table.Td key={point.start} ta="right" style={{ background: shadeOf(point[kept]) }}>
                    {percentText(point[kept])}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </Section>
  );
}

function shadeOf(part: string | null): string {
  const shade = Math.round(Math.min(Number(part ?? 0), 1) * fullShade);
  return `color-mix(in srgb, var(--mantine-color-toll-6) ${shade}%, transparent)`;
}
