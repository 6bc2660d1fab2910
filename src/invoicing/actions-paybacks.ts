import type { Work } from '../database/work.ts';
import { chargedStep } from '../kernel/currency.ts';
import { paidBack } from '../rating/discount.ts';
import { isPartOfUsage, type LineExplanation, type NewLine } from './invoice-line-item.ts';
import { listBilledSoFar } from './store-collecting.ts';

/** Usage that has become cheaper as a whole, so that its line pays back. */
interface PaybackLine extends Extract<NewLine, { type: 'usage' }> {
  readonly explanation: Extract<LineExplanation, { readonly periodStart: number }>;
}

function isPayback(line: NewLine): line is PaybackLine {
  return line.type === 'usage' && line.amount < 0n && isPartOfUsage(line.explanation);
}

const nothingBilled = { listed: 0n, percentOff: 0n, percentage: 0n, net: 0n };

/**
 * The lines by subscription, of which those that pay back do so net of the discount that they had. Without any this needs
 * no statement.
 */
export async function withPaybacks(work: Work, lines: Map<string, NewLine[]>): Promise<Map<string, NewLine[]>> {
  const periods = [...lines].flatMap(([subscriptionId, each]) =>
    each.filter(isPayback).map((line) => ({ subscriptionId, ...periodOf(line) })),
  );
  if (periods.length === 0) return lines;
  const billed = new Map((await listBilledSoFar(work, periods)).map((each) => [keyOf(each), each]));
  const step = chargedStep(work.currency);
  const netOf = (line: NewLine): NewLine => {
    if (!isPayback(line)) return line;
    const amount = -paidBack(-line.amount, billed.get(keyOf(periodOf(line))) ?? nothingBilled, step);
    if (amount === line.amount) return line;
    return { ...line, amount, explanation: { ...line.explanation, discountTakenBack: amount - line.amount } };
  };
  return new Map([...lines].map(([subscriptionId, each]) => [subscriptionId, each.map(netOf)]));
}

function periodOf({ ledgerAccountId, priceId, explanation }: PaybackLine) {
  return { ledgerAccountId, priceId, periodStart: explanation.periodStart };
}

function keyOf({ ledgerAccountId, priceId, periodStart }: ReturnType<typeof periodOf>): string {
  return `${ledgerAccountId} ${priceId} ${periodStart}`;
}
