/**
 * The numbers of the locks that are held for longer than a transaction, over all processes on one database: here together,
 * so that no two things wait for each other by mistake.
 */
export const advisoryLocks = {
  /** Which workers are alive: this number, a worker's id. */
  workers: 7002,
  /** Who sends webhooks. */
  sender: 7003,
  /** Who checks the invariants. */
  checks: 7004,
} as const;
