import { Button, Group, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ClockWork, TestClockUpdateAnswer } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { ChangeDialog, type Effect } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { counted, instantText } from '../parts/format.ts';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { Facts, Go, Heading, Section } from '../parts/shown.tsx';
import { useMay, useSession } from '../session.ts';

const jumps = [
  { name: 'A day', months: 0, days: 1 },
  { name: 'A week', months: 0, days: 7 },
  { name: 'A month', months: 1, days: 0 },
  { name: 'A year', months: 12, days: 0 },
] as const;

/** The same time of day, that much later; the 31st of a month that has none becomes its last day. */
function later(from: number, { months, days }: (typeof jumps)[number]): number {
  const date = new Date(from);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months + 1, 0);
  date.setUTCDate(Math.min(day, date.getUTCDate()) + days);
  return date.getTime();
}

export function Page() {
  const session = useSession();
  const { data, error, refetch } = useQuery(read('testClock', 'get', {}));
  const mayChange = useMay('test-clock:admin');
  const [target, setTarget] = useState<number | null>(null);
  const [last, setLast] = useState<TestClockUpdateAnswer | null>(null);
  if (session?.environment.livemode)
    return (
      <>
        <Heading title="Time machine" />
        <Empty title="Time runs by itself in live mode">Switch to test mode to move it.</Empty>
      </>
    );
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  const now = data?.testClock.now ?? null;
  const isFrozen = data?.testClock.frozen ?? false;
  return (
    <>
      <Heading
        title="Time machine"
        below="Move the time of test mode. Everything that falls due on the way is done, in order, as it would be in life."
      />
      <Section title="Now">
        <Facts
          facts={[
            ['Time of test mode', instantText(now)],
            ['Its clock', isFrozen ? 'Stands still until you move it' : 'Runs with the real time'],
          ]}
        />
      </Section>
      {mayChange && now !== null && (
        <Section title="Go on by">
          <Group gap="xs">
            {jumps.map((jump) => (
              <Button key={jump.name} variant="default" onClick={() => setTarget(later(now, jump))}>
                {jump.name}
              </Button>
            ))}
            <ToInstant now={now} onChoose={setTarget} />
          </Group>
        </Section>
      )}
      {last !== null && (
        <Section title={`What happened until ${instantText(last.testClock.now)}`}>
          <ul className="effect-list">
            {happenings(last.work).map(({ text }) => (
              <li key={String(text)}>{text}</li>
            ))}
          </ul>
          <Go to="/events">Look at the events</Go>
        </Section>
      )}
      {target !== null && (
        <ChangeDialog
          title={`Go on to ${instantText(target)}`}
          opened
          onClose={() => setTarget(null)}
          input={{ testClock: { now: target } }}
          call={(given, options) => api.testClock.update(given, options)}
          effects={({ work }) => happenings(work)}
          confirm="Move the time"
          done={`It is ${instantText(target)} now.`}
          onDone={setLast}
        />
      )}
    </>
  );
}

function ToInstant({ now, onChoose }: { readonly now: number; readonly onChoose: (instant: number) => void }) {
  const [text, setText] = useState('');
  const instant = Date.parse(`${text}Z`);
  return (
    <Group gap="xs">
      <TextInput
        type="datetime-local"
        aria-label="Another instant, in UTC"
        value={text}
        min={new Date(now).toISOString().slice(0, 16)}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button variant="default" disabled={Number.isNaN(instant) || instant <= now} onClick={() => onChoose(instant)}>
        Go there
      </Button>
    </Group>
  );
}

function happenings(work: ClockWork): readonly Effect[] {
  const all: readonly (readonly [number, string, boolean])[] = [
    [work.periodsRenewed, counted(work.periodsRenewed, 'billing period renewed', 'billing periods renewed'), false],
    [work.invoicesCreated, counted(work.invoicesCreated, 'invoice made', 'invoices made'), false],
    [work.paymentsSucceeded, counted(work.paymentsSucceeded, 'charge succeeded', 'charges succeeded'), false],
    [work.paymentsFailed, counted(work.paymentsFailed, 'charge failed', 'charges failed'), true],
    [
      work.creditsExpired,
      counted(work.creditsExpired, 'credit expired with units left', 'credits expired with units left'),
      true,
    ],
    [
      work.subscriptionsCanceled,
      counted(work.subscriptionsCanceled, 'subscription ended', 'subscriptions ended'),
      true,
    ],
    [work.eventsCreated, counted(work.eventsCreated, 'event written', 'events written'), false],
  ];
  const some = all.filter(([count]) => count > 0).map(([, text, isLoss]) => ({ text, isLoss }));
  return some.length > 0 ? some : [{ text: 'Nothing falls due on the way.' }];
}
