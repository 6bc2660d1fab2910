import { Anchor, Badge, Box, CopyButton, Group, Text, Tooltip, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { dateText, instantText, moneyText, words } from './format.ts';

interface MoneyProps {
  readonly amount: number | null | undefined;
  readonly currency: string;
}

/** An amount in tabular figures. */
export function Money({ amount, currency }: MoneyProps) {
  if (amount === null || amount === undefined) return <span className="amount">–</span>;
  return <span className="amount">{moneyText(amount, currency)}</span>;
}

/** A date, with the exact instant on demand. */
export function When({ at }: { readonly at: number | null | undefined }) {
  if (at === null || at === undefined)
    return (
      <Text span c="dimmed">
        –
      </Text>
    );
  return (
    <Tooltip label={instantText(at)}>
      <time dateTime={new Date(at).toISOString()} className="amount">
        {dateText(at)}
      </time>
    </Tooltip>
  );
}

// The colours of all statuses of all records: good, waiting, bad, over.
const colorOfStatus: Readonly<Record<string, string>> = {
  active: 'teal',
  holds: 'teal',
  broken: 'red',
  paid: 'teal',
  succeeded: 'teal',
  settled: 'teal',
  fulfilled: 'teal',
  delivered: 'teal',
  trialing: 'toll',
  open: 'toll',
  processing: 'toll',
  issued: 'toll',
  pending: 'toll',
  awaiting_payment_confirmation: 'toll',
  cancellation_scheduled: 'orange',
  paused: 'orange',
  incomplete: 'orange',
  requires_action: 'orange',
  requires_confirmation: 'orange',
  partially_refunded: 'orange',
  past_due: 'red',
  unpaid: 'red',
  failed: 'red',
  uncollectible: 'red',
};

/** The status of a record: its word, with a colour that repeats what the word says. */
export function Status({ of }: { readonly of: string }) {
  return (
    <Badge
      color={colorOfStatus[of] ?? 'gray'}
      variant="dot"
      radius="sm"
      size="md"
      tt="none"
      fw={500}
      className="status"
      classNames={{ label: 'status-label' }}
    >
      {words(of)}
    </Badge>
  );
}

// A seller's longer ones may break, because a telephone has no room for them.
const longestUnbroken = 18;

/** The number of a document on one line. A telephone has the status below it, in place of a column. */
export function DocumentNumber({ number, status }: { readonly number: string; readonly status: string }) {
  return (
    <>
      <span className={number.length > longestUnbroken ? undefined : 'unbroken'}>{number}</span>
      <Box component="span" display="block" hiddenFrom="xs">
        <Status of={status} />
      </Box>
    </>
  );
}

/** An id that is copied by a click. */
export function Identifier({ id }: { readonly id: string }) {
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <UnstyledButton className="identifier" onClick={copy} aria-label={`Copy ${id}`}>
            {id}
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A link to a page of the dashboard. */
export function Go({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Anchor component={Link} to={to}>
      {children}
    </Anchor>
  );
}

/** Names with their values, in two columns. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface SumsProps {
  readonly currency: string;
  /** Left out where there is none. */
  readonly sums: readonly (readonly [name: string, amount: number | null])[];
  readonly total: number;
}

/** The sums below lines, and their total. */
export function Sums({ currency, sums, total }: SumsProps) {
  const shown = [...sums.filter(([, amount]) => amount !== null), ['Total', total] as const];
  return (
    <dl className="sums">
      {shown.map(([name, amount], index) => (
        <div key={name} className={index === shown.length - 1 ? 'sum' : undefined}>
          <dt>{name}</dt>
          <dd>
            <Money amount={amount} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface HeadingProps {
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  readonly below?: ReactNode;
}

/** The heading of a page, with its actions. */
export function Heading({ title, aside, below }: HeadingProps) {
  return (
    <header className="heading">
      <Group justify="space-between" gap="sm" align="center">
        <h1>{title}</h1>
        {aside !== undefined && <Group gap="xs">{aside}</Group>}
      </Group>
      {below !== undefined && <div className="heading-below">{below}</div>}
    </header>
  );
}

/** A part of a page under its own heading. */
export function Section({ title, aside, children }: HeadingProps & { readonly children: ReactNode }) {
  return (
    <section className="section">
      <Group justify="space-between" gap="sm" mb="xs">
        <h2>{title}</h2>
        {aside !== undefined && <Group gap="xs">{aside}</Group>}
      </Group>
      {children}
    </section>
  );
}
