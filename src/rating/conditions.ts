/** The values that properties of an event may have, as texts: `{ model: ['gpt-5', 'gpt-5-mini'], region: ['eu'] }`. */
export type Conditions = Readonly<Record<string, readonly string[]>>;

/** The properties of an event, as they were sent. */
export type Properties = Readonly<Record<string, unknown>> | null | undefined;

/** A record that is for the events that meet its conditions. */
interface Conditional {
  readonly where: Conditions;
}

/** A property as a text. Undefined: there is none, or it is an object or a list. */
function textOf(properties: Properties, name: string): string | undefined {
  if (!properties || !Object.hasOwn(properties, name)) return undefined;
  const value = properties[name];
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** The first property that does not have one of its values; null: the event meets the conditions. */
export function unmetCondition(where: Conditions, properties: Properties): string | null {
  for (const [name, values] of Object.entries(where)) {
    const text = textOf(properties, name);
    if (text === undefined || !values.includes(text)) return name;
  }
  return null;
}

// A line of an invoice has room for some values of each property.
const maxShownValues = 3;
const maxShownLength = 200;

/** The conditions in words: `gpt-5 or gpt-5-mini, eu`. */
export function conditionsText(where: Conditions): string {
  const parts = Object.values(where).map((values) => {
    const others = values.length - maxShownValues;
    return [...values.slice(0, maxShownValues), ...(others > 0 ? [`${others} others`] : [])].join(' or ');
  });
  const text = parts.join(', ');
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength).replace(/[\ud800-\udbff]$/, '')} ...`;
}

interface IndexedProperty {
  readonly name: string;
  /** The records that accept each value, those without the property included. */
  readonly accepting: ReadonlyMap<string, bigint>;
  /** The records that do not name the property. */
  readonly indifferent: bigint;
}

/**
 * Records by their conditions. Each has a bit, those with the most conditions the lowest ones. So a look-up takes as
 * long for a hundred records as for one: a step for each property that any of them names.
 */
export interface ConditionIndex<Record extends Conditional> {
  readonly properties: readonly IndexedProperty[];
  readonly all: bigint;
  readonly byBit: ReadonlyMap<bigint, Record>;
}

function countOf({ where }: Conditional): number {
  return Object.keys(where).length;
}

export function indexConditions<Record extends Conditional>(records: readonly Record[]): ConditionIndex<Record> {
  const ordered = records.toSorted((one, other) => countOf(other) - countOf(one));
  const byBit = new Map(ordered.map((record, position) => [1n << BigInt(position), record]));
  const all = (1n << BigInt(ordered.length)) - 1n;
  const naming = new Map<string, bigint>();
  for (const [bit, { where }] of byBit)
    for (const name of Object.keys(where)) naming.set(name, (naming.get(name) ?? 0n) | bit);
  const properties = Array.from(naming, ([name, bits]): IndexedProperty => {
    const indifferent = all & ~bits;
    const accepting = new Map<string, bigint>();
    for (const [bit, { where }] of byBit)
      for (const value of where[name] ?? []) accepting.set(value, (accepting.get(value) ?? indifferent) | bit);
    return { name, accepting, indifferent };
  });
  return { properties, all, byBit };
}

/** The record with the most conditions of those that the event meets. Undefined: it meets those of none. */
export function bestMatch<Record extends Conditional>(
  { properties: indexed, all, byBit }: ConditionIndex<Record>,
  properties: Properties,
): Record | undefined {
  let left = all;
  for (const { name, accepting, indifferent } of indexed) {
    const text = textOf(properties, name);
    left &= text === undefined ? indifferent : (accepting.get(text) ?? indifferent);
    if (left === 0n) return undefined;
  }
  return byBit.get(left & -left);
}

/**
 * A record, and an earlier one with as many conditions, such that some event meets those of both. Null: each event has
 * one best match. Two records tie where the values of each property that both name overlap.
 */
export function findTie<Record extends Conditional>(records: readonly Record[]): [Record, Record] | null {
  const { properties, byBit } = indexConditions(records);
  const counts = new Map<number, bigint>();
  for (const [bit, record] of byBit) counts.set(countOf(record), (counts.get(countOf(record)) ?? 0n) | bit);
  for (const [bit, record] of byBit) {
    let alike = (counts.get(countOf(record)) ?? 0n) & ~bit;
    for (const { name, accepting, indifferent } of properties) {
      const values = record.where[name];
      if (values === undefined) continue;
      alike &= values.reduce((bits, value) => bits | (accepting.get(value) ?? 0n), indifferent);
    }
    const other = byBit.get(alike & -alike);
    if (other === undefined) continue;
    return records.indexOf(record) < records.indexOf(other) ? [other, record] : [record, other];
  }
  return null;
}
