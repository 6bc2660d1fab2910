import { Code, SegmentedControl, Select, Skeleton, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { UsageEvent, UsageMeter, UsageMeterSummary } from '../../../client/src/generated-entry.ts';
import { read, readAll } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Empty } from '../parts/empty.tsx';
import { FilterBar } from '../parts/filters.tsx';
import { FirstEvent } from '../parts/first-event.tsx';
import { counted, countText, instantText, wholeMonthText } from '../parts/format.ts';
import { isInTheWay, PageProblem, Problem } from '../parts/problem.tsx';
import { type Column, Records, Rows, useFilters } from '../parts/records.tsx';
import { Go, Heading, Identifier, Section } from '../parts/shown.tsx';
import { useUsageTail } from '../parts/usage-tail.ts';

const UsageChart = lazy(() => import('../parts/usage-chart.tsx').then(({ UsageChart: Chart }) => ({ default: Chart })));

const mostMonths = 24;
const pageSize = 25;
const dayMs = 86_400_000;

const spans = [
  { value: '1', label: 'Day' },
  { value: '30', label: '30 days' },
  { value: '365', label: 'Year' },
];
const groupings = [
  { value: 'time', label: 'Time' },
  { value: 'customer', label: 'Customer' },
  { value: 'property', label: 'Property' },
];

export function Page() {
  const { filters, setFilters } = useFilters();
  const { data: meters, error, refetch } = useQuery(readAll('usageMeters', {}));
  if (isInTheWay(error, meters)) return <PageProblem error={error} retry={refetch} />;
  const meter = meters?.find(({ id }) => id === filters.meter) ?? meters?.[0];
  return (
    <>
      <Heading title="Usage" below="What your customers have used, by meter." />
      {meters?.length === 0 && (
        <Empty title="No usage meters">
          A meter counts events of your product. Add one to <Go to="/catalog">the catalog</Go>.
        </Empty>
      )}
      {meters === undefined && <Skeleton height={320} />}
      {meters && meter && (
        <>
          <FilterBar>
            <Select
              aria-label="Usage meter"
              data={meters.map(({ id, name }) => ({ value: id, label: name }))}
              value={meter.id}
              onChange={(id) => setFilters({ meter: id ?? undefined })}
              searchable
            />
            {filters.by === 'customer' ? (
              <Month />
            ) : (
              <SegmentedControl
                aria-label="Range"
                data={spans}
                value={filters.days ?? '30'}
                onChange={(days) => setFilters({ days })}
              />
            )}
            <SegmentedControl
              aria-label="By"
              data={groupings}
              value={filters.by ?? 'time'}
              onChange={(by) => setFilters({ by })}
            />
            {filters.by === 'property' && <PropertyName />}
          </FilterBar>
          <Summary meter={meter} />
          <Events meter={meter} />
        </>
      )}
    </>
  );
}

/** The first instant of the month in UTC that is so many months after that of an instant. */
function monthStart(instant: number, after = 0): number {
  const date = new Date(instant);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
}

/** The present instant: in a test environment that of its clock. */
function useNow(): number | undefined {
  return useQuery(read('testClock', 'get', {})).data?.testClock.now;
}

// Customers are ranked by calendar months, which the service has sums of.
function Month() {
  const { filters, setFilters } = useFilters();
  const now = useNow();
  const starts = now === undefined ? [] : Array.from({ length: mostMonths }, (_, index) => monthStart(now, -index));
  return (
    <Select
      aria-label="Month"
      data={starts.map((start) => ({ value: monthOf(start), label: wholeMonthText(start) }))}
      value={filters.month ?? (now === undefined ? null : monthOf(now))}
      onChange={(month) => setFilters({ month: month ?? undefined })}
      allowDeselect={false}
    />
  );
}

/** The name of a month in an address, such as 2026-11. */
function monthOf(instant: number): string {
  return new Date(instant).toISOString().slice(0, 7);
}

function PropertyName() {
  const { filters, setFilters } = useFilters();
  const apply = (text: string) => setFilters({ property: text.trim() || undefined });
  return (
    <TextInput
      aria-label="Name of the property"
      placeholder="Name of the property"
      defaultValue={filters.property ?? ''}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
    />
  );
}

type GroupBy = UsageMeterSummary['groupBy'];

/** The range of a named month, or of the present one. */
function monthAt(name: string | undefined, now: number): { readonly from: number; readonly to: number } {
  // A browser finds a date in almost any other text.
  const named = name !== undefined && /^\d{4}-\d{2}$/.test(name) ? Date.parse(name) : Number.NaN;
  const from = monthStart(Number.isNaN(named) ? now : named);
  return { from, to: monthStart(from, 1) };
}

/** The grouping of the service for what was chosen: hours of a day, days of a month, months of a year. */
function groupByOf(by: string, days: number): GroupBy {
  if (by === 'customer' || by === 'property') return by;
  return days === 1 ? 'hour' : days > 31 ? 'month' : 'day';
}

function Summary({ meter }: { readonly meter: UsageMeter }) {
  const { filters } = useFilters();
  const { by = 'time', property } = filters;
  const days = Number(filters.days ?? '30');
  // Without an end, the summary ends with the present hour.
  const now = useNow();
  const { data, error, refetch } = useQuery({
    ...read('usageMeters', 'getSummary', {
      id: meter.id,
      groupBy: groupByOf(by, days),
      ...(now !== undefined && (by === 'customer' ? monthAt(filters.month, now) : { from: now - days * dayMs })),
      ...(by === 'property' && property && { property }),
    }),
    enabled: now !== undefined && (by !== 'property' || property !== undefined),
  });
  if (isInTheWay(error, data)) return <Problem error={error} retry={refetch} />;
  if (by === 'property' && property === undefined)
    return <Empty title="Name a property">Usage is counted by the values of one property of the events.</Empty>;
  if (data === undefined) return <Skeleton height={240} />;
  return <Shown summary={data.usageMeterSummary} />;
}

interface Named {
  readonly key: string;
  readonly customerId: string | null;
  readonly name: string;
  readonly units: number;
  readonly events: number;
}

const columns: readonly Column<Named>[] = [
  {
    title: 'Of',
    cell: ({ name, customerId }) => (customerId === null ? name : <Go to={`/customers/${customerId}`}>{name}</Go>),
  },
  { title: 'Units', cell: ({ units }) => countText(units), align: 'right' },
  { title: 'Events', cell: ({ events }) => countText(events), align: 'right', from: 'xs' },
];

function Shown({ summary: { groups, units, events, groupBy, other } }: { readonly summary: UsageMeterSummary }) {
  const times = groups.flatMap((group) => ('start' in group ? [group] : []));
  const named = groups.flatMap((group): Named[] => {
    if ('customerId' in group) return [{ ...group, key: group.customerId, name: group.externalId }];
    if ('value' in group)
      return [{ ...group, key: JSON.stringify(group.value), customerId: null, name: valueText(group.value) }];
    return [];
  });
  return (
    <section className="section">
      <p>
        <strong className="amount">{counted(units, 'unit')}</strong> in {counted(events, 'event')}
      </p>
      {times.length > 0 ? (
        <Suspense fallback={<Skeleton height={240} />}>
          <UsageChart groups={times} isHourly={groupBy === 'hour'} />
        </Suspense>
      ) : named.length === 0 ? (
        <Empty title="Nothing was used in this time" />
      ) : (
        <Rows rows={named} columns={columns} keyOf={({ key }) => key} caption="Usage" />
      )}
      {other !== null && (
        <p>
          And {countText(other.groups)} more with {counted(other.units, 'unit')}
        </p>
      )}
    </section>
  );
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'Without the property';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const eventColumns: readonly Column<UsageEvent>[] = [
  { title: 'Used', cell: ({ usageDate }) => <span className="amount">{instantText(usageDate)}</span> },
  { title: 'Units', cell: ({ amount }) => countText(amount), align: 'right' },
  { title: 'Customer', cell: ({ customerId }) => <CustomerName id={customerId} />, from: 'sm' },
  {
    title: 'Properties',
    cell: ({ properties }) => <Code>{properties === null ? '–' : JSON.stringify(properties)}</Code>,
    from: 'md',
  },
  { title: 'Transaction', cell: ({ transactionId }) => <Identifier id={transactionId} />, from: 'lg' },
];

/** The events of the meter, newest first: by pages, or as they arrive. */
function Events({ meter }: { readonly meter: UsageMeter }) {
  const { filters, setFilters } = useFilters();
  const isLive = filters.live === 'on';
  const query = read('usageEvents', 'list', {
    usageMeterId: meter.id,
    limit: pageSize,
    order: 'desc',
    ...(filters.cursor && !isLive && { cursor: filters.cursor }),
  });
  // The list below has the same query, so both are one request.
  const { data } = useQuery(query);
  return (
    <Section
      title="Events"
      aside={
        <Switch
          label="Live"
          checked={isLive}
          onChange={(event) => setFilters({ live: event.currentTarget.checked ? 'on' : undefined })}
        />
      }
    >
      {isLive ? (
        <LiveEvents key={meter.id} meterId={meter.id} before={data?.data ?? []} />
      ) : (
        <CustomerNames ids={(data?.data ?? []).map(({ customerId }) => customerId)}>
          <Records
            query={query}
            columns={eventColumns}
            keyOf={({ id }) => id}
            caption="Usage events"
            empty={<FirstEvent meterSlug={meter.slug} />}
          />
        </CustomerNames>
      )}
    </Section>
  );
}

const tailTexts = {
  opening: 'Connecting',
  open: 'Live. New events appear here within two seconds.',
  lost: 'The connection was lost. It is opened again by itself.',
  ended: 'You may no longer see these events.',
} as const;

interface LiveEventsProps {
  readonly meterId: string;
  /** The events of the list, which were there before. */
  readonly before: readonly UsageEvent[];
}

function LiveEvents({ meterId, before }: LiveEventsProps) {
  const { events, state, hasSkipped } = useUsageTail(meterId, before);
  return (
    <CustomerNames ids={events.map(({ customerId }) => customerId)}>
      <Text size="sm" c="dimmed" mb="xs" aria-live="polite">
        {tailTexts[state]}
        {hasSkipped && ' They come faster than anybody reads, so some are left out. The list has them all.'}
      </Text>
      {events.length > 0 && <Rows rows={events} columns={eventColumns} keyOf={({ id }) => id} caption="Usage events" />}
    </CustomerNames>
  );
}
