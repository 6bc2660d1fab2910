import { Drawer, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type {
  ExplainedFraction,
  ExplainedInvoiceLine,
  InvoiceExplanation,
} from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { countText, dateText, exactMoneyText, moneyText, words } from './format.ts';
import { pricingText } from './price-text.ts';
import { Problem } from './problem.tsx';
import { Facts, Identifier, Money } from './shown.tsx';

interface ExplainProps {
  readonly invoiceId: string;
  /** The line that is explained; null closes the drawer. */
  readonly lineId: string | null;
  readonly onClose: () => void;
}

/** The way to the amount of an invoice line, step by step. */
export function Explain({ invoiceId, lineId, onClose }: ExplainProps) {
  return (
    <Drawer opened={lineId !== null} onClose={onClose} title={<span className="dialog-title">Why this amount</span>}>
      {lineId !== null && <Explanation invoiceId={invoiceId} lineId={lineId} />}
    </Drawer>
  );
}

function Explanation({ invoiceId, lineId }: { readonly invoiceId: string; readonly lineId: string }) {
  const { data, error, refetch } = useQuery(read('invoices', 'explain', { id: invoiceId }));
  if (error !== null) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={240} radius="md" />;
  const line = data.lines.find(({ id }) => id === lineId);
  if (line === undefined) return <Text>This line is not part of the invoice any more.</Text>;
  return (
    <Stack gap="lg">
      <div>
        <Text c="dimmed" size="sm">
          {line.description ?? words(line.kind)}
        </Text>
        <Text fz={28} fw={620} lh={1.3}>
          <Money amount={line.amount} currency={data.currency} />
        </Text>
      </div>
      <Steps steps={stepsOf(line, data)} />
      {line.tiers !== null && line.tiers.length > 0 && <Tiers line={line} currency={data.currency} />}
      <Facts
        facts={[
          ['Share of the discount', <Money key="discount" amount={line.discountShare} currency={data.currency} />],
          ['Share of the tax', <Money key="tax" amount={line.taxShare} currency={data.currency} />],
          ...sourcesOf(line).map(([name, id]) => [name, <Identifier key={id} id={id} />] as const),
        ]}
      />
    </Stack>
  );
}

interface Step {
  readonly name: string;
  readonly text: string;
}

/** The steps from price and units to the amount. Together they recompute it. */
function stepsOf(line: ExplainedInvoiceLine, { currency, billingPeriod }: InvoiceExplanation): Step[] {
  const money = (amount: number) => moneyText(amount, currency);
  const steps: Step[] = [];
  const add = (name: string, text: string | null) => {
    if (text !== null) steps.push({ name, text });
  };
  const period = line.period ?? billingPeriod;
  add('Period', period && `${dateText(period.startAt)} – ${dateText(period.endAt)}`);
  add('Price', line.pricing && pricingText(line.pricing, currency));
  if (line.pricing === null && line.unitPrice !== null) add('Price', `${money(line.unitPrice)} for each`);
  add('Quantity', line.itemQuantity === null ? null : countText(line.itemQuantity));
  add('Units', line.units === null ? null : unitsText(line));
  add('Events', line.events === null ? null : countText(line.events));
  add('Value of the whole period', line.value === null ? null : money(line.value));
  if (line.fraction !== null && isShare(line.fraction)) {
    const { part, whole } = line.fraction;
    const days = (span: { startAt: number; endAt: number }) => ((span.endAt - span.startAt) / 86_400_000).toFixed(2);
    add(
      'Share of the period',
      `${dateText(part.startAt)} – ${dateText(part.endAt)}: ${days(part)} of ${days(whole)} days`,
    );
  }
  for (const [index, { value, fraction }] of (line.segments ?? []).entries()) {
    const { part } = fraction;
    add(`Part ${index + 1}`, `${money(value)} a period, from ${dateText(part.startAt)} to ${dateText(part.endAt)}`);
  }
  add('Worth of the period', line.fairValue === null ? null : money(line.fairValue));
  add('Paid already', line.paid === null ? null : `− ${money(line.paid)}`);
  add('Waived', line.waived === null ? null : `− ${money(line.waived)}`);
  add('Billed before', line.billedBefore === null ? null : `− ${money(line.billedBefore)}`);
  add('Plan', line.planAmount === null ? null : money(line.planAmount));
  add('Usage', line.usageAmount === null ? null : money(line.usageAmount));
  const { numerator, denominator, rounded } = line.rounding;
  if (BigInt(numerator) !== BigInt(rounded) * BigInt(denominator)) {
    const exact = exactMoneyText(Number(numerator) / Number(denominator), currency);
    add('Rounded once', `${exact} is ${money(rounded)}`);
  }
  add('Amount', money(line.amount));
  return steps;
}

/** Whether a fraction is less than the whole period. */
function isShare({ part, whole }: ExplainedFraction): boolean {
  return part.startAt !== whole.startAt || part.endAt !== whole.endAt;
}

function unitsText({ units, unitsSoFar, usageEventsPerUnit }: ExplainedInvoiceLine): string {
  const counted = countText(units ?? 0);
  const per =
    usageEventsPerUnit !== null && usageEventsPerUnit > 1 ? `, priced per ${countText(usageEventsPerUnit)}` : '';
  const soFar = unitsSoFar !== null && unitsSoFar !== units ? `, ${countText(unitsSoFar)} in the period so far` : '';
  return `${counted}${per}${soFar}`;
}

function Tiers({ line, currency }: { readonly line: ExplainedInvoiceLine; readonly currency: string }) {
  return (
    <table className="tiers">
      <thead>
        <tr>
          <th>Up to</th>
          <th>Units here</th>
          <th>Each</th>
          <th>Amount</th>
        </tr>
      </thead>
      <tbody>
        {(line.tiers ?? []).map((tier) => (
          <tr key={tier.upTo ?? 'rest'}>
            <td>{tier.upTo === null ? 'any' : countText(tier.upTo)}</td>
            <td>{countText(tier.units)}</td>
            <td>{exactMoneyText(tier.unitAmount, currency)}</td>
            <td>{moneyText(tier.amount, currency)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function sourcesOf(line: ExplainedInvoiceLine): (readonly [string, string])[] {
  const sources = [
    ['Price', line.priceId],
    ['Item', line.subscriptionItemId],
    ['Ledger account', line.ledgerAccountId],
  ] as const;
  return sources.flatMap(([name, id]) => (id === null ? [] : [[`${name} id`, id] as const]));
}

/** The steps of a sum, in order. */
export function Steps({ steps }: { readonly steps: readonly { readonly name: string; readonly text: string }[] }) {
  return (
    <ol className="steps">
      {steps.map(({ name, text }) => (
        <li key={name}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Text className="amount-steps">{text}</Text>
        </li>
      ))}
    </ol>
  );
}
