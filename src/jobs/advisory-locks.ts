/**
 * Numbers of the advisory locks that outlive a transaction, across all processes on one database. One list keeps them
 * distinct.
 */
export const advisoryLocks = {
  /** Liveness of workers: this number and the worker's id. */
  workers: 7002,
  /** The process that sends webhooks. */
  sender: 7003,
  /** The process that checks the invariants. */
  checks: 7004,
} as const;
