import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Health } from '../../../client/src/generated-entry.ts';
import { read, requestTimes } from '../api.ts';
import { counted, countText, instantText } from '../parts/format.ts';
import { isInTheWay, PageProblem, Problem } from '../parts/problem.tsx';
import { Rows } from '../parts/records.tsx';
import { Facts, Heading, Section, Status, When } from '../parts/shown.tsx';

const lookAgainMs = 10_000;

/** How the service works: its checks, the work that is due, and its speed. */
export function Page() {
  const { data, error, refetch } = useQuery({
    ...read('analytics', 'getHealth', {}),
    refetchInterval: lookAgainMs,
    staleTime: 0,
  });
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  return (
    <>
      <Heading
        title="Health"
        below="Of the service, as far as it concerns this environment. Looked at every 10 seconds."
      />
      {data === undefined ? <Skeleton height={320} /> : <Parts health={data.health} />}
    </>
  );
}

function Parts({ health: { version, database, work, checks } }: { readonly health: Health }) {
  const times = requestTimes();
  return (
    <>
      <Section title="Work that is due">
        <Facts
          facts={[
            ['Periods to renew', upTo(work.periodsDue)],
            ['Charges to try', upTo(work.attemptsDue)],
            ['Subscriptions set aside', upTo(work.stuckSubscriptions)],
            ['Webhook messages', upTo(work.messagesPending)],
            ['Oldest message', <When key="oldest" at={work.oldestMessageAt} />],
          ]}
        />
      </Section>
      <Section title="Speed">
        <Facts
          facts={[
            ['A question to the database', `${database.roundTripMs} ms`],
            ['Half of your requests', times === null ? '–' : `under ${times.median} ms`],
            ['95 of 100 of your requests', times === null ? '–' : `under ${times.p95} ms`],
            ['Looked at', times === null ? '–' : counted(times.count, 'request')],
          ]}
        />
      </Section>
      <Section title="Versions">
        <Facts
          facts={[
            ['Tollkeeper', version],
            ['PostgreSQL', database.version],
          ]}
        />
      </Section>
      <Archives />
      <Checks checks={checks} />
    </>
  );
}

const dayOf = (days: number | null) => (days === null ? 'for ever' : `for at least ${counted(days, 'day')}`);

/** How long usage events are kept, and the archives of those that are not. */
function Archives() {
  const { data, error, refetch } = useQuery(read('archives', 'list', { limit: 100 }));
  if (error !== null && data === undefined) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={120} />;
  return (
    <Section title="Usage events">
      <Facts
        facts={[
          ['Kept', dayOf(data.retentionDays)],
          ['A transaction counts once', dayOf(data.deduplicationDays)],
          ['Oldest event kept', data.keptSince === null ? 'all' : <When key="kept" at={data.keptSince} />],
        ]}
      />
      {data.data.length > 0 && (
        <Rows
          rows={data.data}
          caption="Archives"
          keyOf={({ id }) => id}
          columns={[
            { title: 'Archive', cell: ({ id }) => id },
            { title: 'Arrived until', cell: ({ arrivedUntil }) => <When at={arrivedUntil} /> },
            { title: 'State', cell: ({ state }) => <Status of={state} /> },
            { title: 'Events', cell: ({ events }) => countText(events), align: 'right' },
          ]}
        />
      )}
    </Section>
  );
}

const mostCounted = 1000;

function upTo(count: number): string {
  return count >= mostCounted ? `${countText(count)} or more` : countText(count);
}

function Checks({ checks }: { readonly checks: Health['checks'] }) {
  if (checks === null)
    return (
      <Section title="Invariants">
        <p className="quiet">The first check runs some minutes after the start, and then every hour.</p>
      </Section>
    );
  const { checkedAt, durationMs, invariants } = checks;
  const broken = invariants.filter(({ holds }) => !holds);
  const sorted = [...broken, ...invariants.filter(({ holds }) => holds)];
  return (
    <Section title={broken.length === 0 ? 'All invariants hold' : counted(broken.length, 'broken invariant')}>
      <p className="quiet">
        {counted(invariants.length, 'invariant')} checked over all data on {instantText(checkedAt)}, in{' '}
        {countText(durationMs)} ms. Which records break one is told to the operator only.
      </p>
      <Rows
        rows={sorted}
        caption="Invariants"
        keyOf={({ name }) => name}
        columns={[
          { title: 'Invariant', cell: ({ sentence }) => sentence },
          {
            title: 'State',
            cell: ({ holds }) => <Status of={holds ? 'holds' : 'broken'} />,
            align: 'right',
          },
        ]}
      />
    </Section>
  );
}
