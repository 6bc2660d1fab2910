import { meterSlug } from './catalogue-usage.ts';
import type { Books, Customer } from './oracle-records.ts';
import { titleOf, usersTitleOf } from './oracle-titles.ts';
import type { Told } from './reality.ts';

/**
 * The line that no customer crosses, however dishonest: the units that it used are no more than those that it paid for,
 * or that it was freely given once. Usage that is billed is paid for by itself.
 */
export function overuses({ customers }: Books, told: readonly Told[]): string[] {
  const lines = Map.groupBy(told, ({ name }) => name);
  return customers.flatMap((customer) => {
    const known = (lines.get(customer.name) ?? []).map(({ line }) => line);
    return [
      ...overuse(customer, meterSlug, consumedOf(known), titleOf(customer)),
      ...overuse(customer, 'users', sumOf(known, 'users'), usersTitleOf(customer)),
    ];
  });
}

function overuse({ name }: Customer, meter: string, used: number, title: number): string[] {
  if (used <= title) return [];
  return [`${name} has used ${used} ${meter}, and has paid for or been given ${title}`];
}

type Line = Told['line'];

/** The service's own events, less the units that pools paid for, and those that stand on invoices or will. */
function consumedOf(lines: readonly Line[]): number {
  const billed = lines.filter(({ invoice, status }) => invoice !== undefined && status !== 'void');
  const calls = lines.filter(({ meter }) => meter === undefined);
  return sumOf(lines, 'consumed') - sumOf(calls, 'pooled') - sumOf(lines, 'unbilled') - sumOf(billed, 'units');
}

function sumOf(lines: readonly Line[], field: string): number {
  return lines.reduce((sum, line) => sum + Number(line[field] ?? 0), 0);
}
