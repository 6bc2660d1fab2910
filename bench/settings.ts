// What may be set from outside, for a try: each has the value that the documented figures were taken with.

/** How long a load runs, in seconds. */
export const seconds = numberOf('BENCH_SECONDS', 10);

/** Subscriptions that come due at once in `renewals`; a year takes a tenth of them. */
export const renewalSubscriptions = numberOf('BENCH_SUBSCRIPTIONS', 10_000);

/** Usage events that are there before `bulk-ingest-at-20m` is measured. */
export const storedEvents = numberOf('BENCH_STORED', 20_000_000);

/** Connections of a load, each with one request under way. */
export const connectionsOr = (usual: number): number => numberOf('BENCH_CONNECTIONS', usual);

function numberOf(name: string, usual: number): number {
  const value = Number(process.env[name] ?? usual);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a whole number from 1 on`);
  return value;
}
