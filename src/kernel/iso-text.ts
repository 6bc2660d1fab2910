import assert from 'node:assert/strict';
import type { Instant, Period } from './calendar.ts';

// The Gregorian calendar repeats every 400 years, including the days of the week.
const cycleYears = 400;
const cycleMs = 146_097 * 86_400_000;
const lastDate = 8_640_000_000_000_000;

/**
 * An instant as ISO 8601 text in UTC with milliseconds. The API accepts every instant to plus or minus 2^53-1 ms, which
 * is more than JavaScript dates hold (271821 BC to 275760 AD). Beyond those, it formats the same moment 40 cycles of
 * 400 years nearer and corrects the year.
 */
export function isoText(at: Instant): string {
  assert(Number.isSafeInteger(at), 'an instant is a whole number of milliseconds');
  if (Math.abs(at) <= lastDate) return new Date(at).toISOString();
  const cycles = Math.sign(at) * 40;
  const date = new Date(at - cycles * cycleMs);
  const year = date.getUTCFullYear() + cycles * cycleYears;
  const yearText = `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`;
  return date.toISOString().replace(/^[+-]?\d+/, yearText);
}

const months = 'January February March April May June July August September October November December'.split(' ');

function dateOf(at: Instant): { readonly day: string; readonly month: string; readonly year: string } {
  const [, year = '', month = '', day = ''] = /^([+-]?\d+)-(\d\d)-(\d\d)/.exec(isoText(at)) ?? [];
  return { day: String(Number(day)), month: months[Number(month) - 1] ?? '', year: String(Number(year)) };
}

/** A day as people read it, in UTC: `5 December 2026`. */
export function dayText(at: Instant): string {
  const { day, month, year } = dateOf(at);
  return `${day} ${month} ${year}`;
}

/** A range of days as people read it, in UTC: `1 Nov – 1 Dec 2026`, `1 Nov 2026 – 1 Nov 2027`. */
export function rangeText({ start, end }: Period): string {
  const [from, to] = [dateOf(start), dateOf(end)];
  const year = from.year === to.year ? '' : ` ${from.year}`;
  return `${from.day} ${from.month.slice(0, 3)}${year} – ${to.day} ${to.month.slice(0, 3)} ${to.year}`;
}
