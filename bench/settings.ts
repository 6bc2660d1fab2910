// Settings that can be changed for an experiment. The defaults are those of the documented figures.

/** The duration of a load in seconds. */
export const seconds = numberOf('BENCH_SECONDS', 10);

/** Subscriptions due at once in `renewals`; a year uses a tenth of them. */
export const renewalSubscriptions = numberOf('BENCH_SUBSCRIPTIONS', 10_000);
// Two rates are compared, so that a few batches of each suffice.
export const comparedSubscriptions = Math.ceil(renewalSubscriptions / 4);

/** Existing usage events for `bulk-ingest-at-20m`. */
export const storedEvents = numberOf('BENCH_STORED', 20_000_000);

/** The partitions that hold them. */
export const storedPartitions = numberOf('BENCH_STORED_PARTITIONS', 1);

/** Older partitions of usage events, with which new ones are compared. */
export const olderPartitions = numberOf('BENCH_PARTITIONS', 0, 0);

/** Invoice lines for `export`. */
export const exportedLines = numberOf('BENCH_EXPORTED', 1_000_000);

/** Connections of a load, each with one request in flight. */
export const connectionsOr = (usual: number): number => numberOf('BENCH_CONNECTIONS', usual);

function numberOf(name: string, usual: number, least = 1): number {
  const value = Number(process.env[name] ?? usual);
  if (!Number.isSafeInteger(value) || value < least) throw new Error(`${name} must be a whole number from ${least} on`);
  return value;
}
