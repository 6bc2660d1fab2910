import assert from 'node:assert/strict';
import type { Instant } from './calendar.ts';

// The Gregorian calendar repeats every 400 years, to the day of the week.
const cycleYears = 400;
const cycleMs = 146_097 * 86_400_000;
const lastDate = 8_640_000_000_000_000;

/**
 * An instant as ISO 8601 text in UTC with milliseconds. Also beyond the dates that JavaScript holds (271821 BC to
 * 275760 AD), because the API accepts every instant to plus or minus 2^53-1 ms: there the text of the same moment 40
 * cycles of 400 years nearer is taken, and its year put back.
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
