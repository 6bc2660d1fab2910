import { fillIn } from '../documents/document-text.ts';
import { lineTexts } from '../documents/line-words.ts';
import type { Period } from '../kernel/calendar.ts';
import { rangeText } from '../kernel/iso-text.ts';
import { type Language, localCount, localMoney, localRange } from '../kernel/language.ts';
import { moneyText } from '../kernel/money-text.ts';
import { type MeasuredUnits, measuredText } from '../rating/measured-usage.ts';
import { itemName } from '../subscriptions/subscription-item.ts';
import { isItem, type LineExplanation, type NewLine } from './invoice-line-item.ts';

/** The names behind a price. */
interface PlanName {
  readonly productId: string;
  readonly productName: string;
  readonly priceName: string | null;
}

/** A description with the time that is billed: `Build, 1 Nov – 1 Dec 2026`. */
export function withPeriod(name: string, period: Period | null): string {
  return period === null ? name : `${name}, ${rangeText(period)}`;
}

/**
 * The lines of one invoice, each item by its plan and the time that is billed. An item with a name of its own keeps it.
 * Several prices of one product are shown with their names.
 */
export function describeItems(lines: readonly NewLine[], names: ReadonlyMap<string, PlanName>): NewLine[] {
  const productOf = ({ priceId }: NewLine) => names.get(priceId ?? '')?.productId;
  return lines.map((line) => {
    const { explanation } = line;
    // A line that somebody wrote keeps its words.
    if (!isItem(explanation) || explanation.written) return line;
    const isOnly = lines.filter((other) => productOf(other) === productOf(line)).length === 1;
    const name = planName(line.description ?? '', names.get(line.priceId ?? ''), explanation.quantity, isOnly);
    return { ...line, description: withPeriod(name, explanation.period) };
  });
}

function planName(name: string, plan: PlanName | undefined, quantity: number, isOnly: boolean): string {
  if (plan === undefined || name !== itemName(plan.priceName ?? plan.productName, quantity)) return name;
  const { productName, priceName } = plan;
  return itemName(isOnly || priceName === null ? productName : `${productName} ${priceName}`, quantity);
}

/** The description of a usage line: `5,308,642 input tokens at USD 3.00 per million`. */
export function describeUsage(usage: {
  readonly meterName: string;
  readonly units: bigint;
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
  readonly currency: string;
}): string {
  const { meterName, units, unitPrice, usageEventsPerUnit, currency } = usage;
  return `${countText(units)} ${inSentence(meterName)} at ${moneyText(unitPrice, currency)} ${perText(usageEventsPerUnit)}`;
}

/** The units of a meter: `1,500 API calls`. The tiers of their price are shown below it. */
export function describeUnits({ meterName, units }: { meterName: string; units: bigint }): string {
  return `${countText(units)} ${inSentence(meterName)}`;
}

/** The units of a measured meter, to three decimals: `12.5 seats`. */
export function describeMeasured({ meterName, ...units }: { readonly meterName: string } & MeasuredUnits): string {
  return `${measuredText(units)} ${inSentence(meterName)}`;
}

/** Events whose units credits cover: `3 events of payments`. */
export function describeEvents({ meterName, events }: { meterName: string; events: bigint }): string {
  return `${countText(events)} ${events === 1n ? 'event' : 'events'} of ${inSentence(meterName)}`;
}

/** The description of usage that the plan does not bill: `200 calls, not billed`. */
export function describeUnbilledUsage(usage: { meterName: string; units: bigint }): string {
  return `${describeUnits(usage)}, not billed`;
}

/** The same description for fewer units. */
export function describeFewer(description: string, before: bigint, units: bigint): string {
  const count = countText(before);
  return description.startsWith(`${count} `) ? countText(units) + description.slice(count.length) : description;
}

function countText(units: bigint): string {
  return units.toLocaleString('en-US');
}

/** The name within a sentence: `input tokens`, but `API calls`. */
function inSentence(name: string): string {
  return /^\p{Lu}\p{Ll}/u.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : name;
}

const multiples: ReadonlyMap<number, string> = new Map([
  [1, 'each'],
  [1000, 'per thousand'],
  [1_000_000, 'per million'],
]);

/** The number of units that a price is for: `each`, `per thousand`, `per 100`. */
function perText(count: number): string {
  return multiples.get(count) ?? `per ${count.toLocaleString('en-US')}`;
}

/** The inputs of a line that its description repeats. */
interface DescribedLine {
  readonly explanation: LineExplanation | undefined;
  /** The time of a line that somebody wrote. */
  readonly service: Period | null;
  readonly currency: string;
  readonly language: Language;
}

/**
 * A stored description as a language writes it: its time, its units and its unit price. Names stay as the seller wrote
 * them.
 */
export function localDescription(description: string, line: DescribedLine): string {
  const { explanation, service, language } = line;
  const period = explanation !== undefined && 'period' in explanation ? explanation.period : null;
  const end = period === null ? '' : `, ${rangeText(period)}`;
  const isDated = period !== null && description.endsWith(end);
  const name = localUsage(isDated ? description.slice(0, -end.length) : description, line);
  const time = isDated ? period : service;
  return time === null ? name : `${leftToRight(name)}, ${localRange(time, language)}`;
}

const rightToLeft = /\p{Script=Arabic}|\p{Script=Hebrew}/u;
const leftMark = '\u200e';

/** A text in a sentence of a language of ours, whose dates and numbers would else be ordered as in Arabic. */
function leftToRight(text: string): string {
  return rightToLeft.test(text) ? leftMark + text + leftMark : text;
}

function localUsage(description: string, { explanation, currency, language }: DescribedLine): string {
  if (explanation === undefined || !('units' in explanation)) return description;
  const texts = lineTexts[language].line;
  const { units, per = 1n } = { per: 1n, ...explanation };
  const count = measuredText({ units, per });
  const price =
    explanation.kind === 'usage'
      ? ` at ${moneyText(explanation.unitPrice, currency)} ${perText(explanation.usageEventsPerUnit)}`
      : '';
  const isPriced = price !== '' && description.endsWith(price);
  const unbilled = ', not billed';
  const rest = isPriced ? description.slice(0, -price.length) : withoutEnd(description, unbilled);
  const usage = leftToRight(
    rest.startsWith(`${count} `) ? measuredText({ units, per }, language) + rest.slice(count.length) : rest,
  );
  if (!isPriced || explanation.kind !== 'usage')
    return rest === description ? usage : fillIn(texts.notBilled, { usage });
  const { unitPrice, usageEventsPerUnit } = explanation;
  const amount = localMoney(unitPrice, currency, language);
  return fillIn(texts.usageAt, { usage, amount, per: localPer(usageEventsPerUnit, language) });
}

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

/** The same in a language. */
export function localPer(count: number, language: Language): string {
  const { perOne, perThousand, perMillion, perMany } = lineTexts[language].line;
  const names = new Map([
    [1, perOne],
    [1000, perThousand],
    [1_000_000, perMillion],
  ]);
  return names.get(count) ?? fillIn(perMany, { count: localCount(BigInt(count), language) });
}
