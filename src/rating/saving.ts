/** What an interval of some months costs. */
interface IntervalAmount {
  readonly amount: bigint;
  readonly months: bigint;
}

/**
 * The whole percent that the longer interval saves for the same time, rounded down, so that nobody is promised more. Null:
 * it saves less than one percent.
 */
export function savedPercent(short: IntervalAmount, long: IntervalAmount): bigint | null {
  const before = short.amount * long.months;
  const after = long.amount * short.months;
  const percent = before > 0n && after < before ? ((before - after) * 100n) / before : 0n;
  return percent > 0n ? percent : null;
}
