import { sql } from 'kysely';
import type { Database } from './database.ts';

// A read replica is a hot standby of PostgreSQL. It answers lists, reports and exports, whose rows may be a moment old, and nothing
// that decides.

interface Sample {
  readonly at: number;
  /** The position in the WAL that the primary had reached by then, in bytes. */
  readonly position: bigint;
}

interface ReplicaOptions {
  readonly database: Database;
  /** The server that it follows. */
  readonly primary: Database;
  /** A connection to the replica for looking at its position, so that reads do not delay it. */
  readonly watched: Database;
  /** The replica is not used while its state is older. */
  readonly mostLagMs: number;
  /** Called when the replica is no longer used, and when it is used again. */
  readonly onChange?: (isUsed: boolean, reason: string) => void;
}

const lookEveryMs = 500;
// Five minutes of samples. A replica that is further behind is proven by the later ones.
const mostSamples = 600;

interface Identity {
  readonly cluster: bigint;
  readonly database: number;
}

/** A replica, and the age of its state at the most. */
export class ReadReplica {
  readonly #options: ReplicaOptions;
  readonly #samples: Sample[] = [];
  #provenAt = Number.NEGATIVE_INFINITY;
  #wasUsed = false;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ReplicaOptions) {
    this.#options = options;
  }

  /** The replica, if its state is recent enough. */
  get database(): Database | null {
    return this.lagMs <= this.#options.mostLagMs ? this.#options.database : null;
  }

  /** The state of the replica is no older. Infinite until it is known, and while it cannot be known it grows. */
  get lagMs(): number {
    return Date.now() - this.#provenAt;
  }

  /** Looks at once, and from then on twice a second. */
  async start(): Promise<void> {
    await this.#look();
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
  }

  #wait(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
      void this.#looking.then(() => this.#wait());
    }, lookEveryMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    let reason = '';
    try {
      await this.#compare();
    } catch (error) {
      reason = (error as Error).message;
    }
    const isUsed = this.database !== null;
    if (isUsed === this.#wasUsed) return;
    this.#wasUsed = isUsed;
    this.#options.onChange?.(isUsed, reason);
  }

  /** The primary's position at an instant, once the replica has replayed it, proves that its state is no older. */
  async #compare(): Promise<void> {
    const { primary, watched } = this.#options;
    const at = Date.now();
    const { rows: reached } = await sql<Identity & { position: bigint }>`
      select pg_current_wal_lsn() - '0/0'::pg_lsn as position, ${identity}`.execute(primary);
    const { rows: replayed } = await sql<Identity & { position: bigint | null }>`
      select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() - '0/0'::pg_lsn end as position,
             ${identity}`.execute(watched);
    const [[here], [there]] = [reached, replayed];
    if (here === undefined || there === undefined) return;
    const isFollower = here.cluster === there.cluster && here.database === there.database;
    // A server that was promoted has a history of its own.
    if (there.position === null || !isFollower) {
      this.#provenAt = Number.NEGATIVE_INFINITY;
      throw new Error(`DATABASE_READ_URL ${isFollower ? 'is not, or no longer, a replica' : 'is another database'}`);
    }
    this.#samples.push({ at, position: here.position });
    if (this.#samples.length > mostSamples) this.#samples.shift();
    const { position } = there;
    while (this.#samples[0] !== undefined && this.#samples[0].position <= position)
      this.#provenAt = this.#samples.shift()?.at ?? this.#provenAt;
  }
}

const identity = sql`
  (select system_identifier::numeric from pg_control_system()) as cluster,
  (select oid::integer from pg_database where datname = current_database()) as database`;
