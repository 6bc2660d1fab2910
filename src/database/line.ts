import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { createDatabase, type Database, poolOf } from './database.ts';
import type { PreparingClient } from './prepared-statements.ts';
import { failureSoFar, untilTaken } from './work.ts';

// One that takes longer waits for something itself, and holds nobody else up.
const mostHeldMs = 10;

/**
 * The same database, for transactions that come one after the other: they follow one another on one connection. One that is
 * complete, its commit included, is sent behind the commit of the one before it, without waiting for that to be answered:
 * the database goes on at once, in the same process, where it would wait for this one to hear, to send the next, and for
 * another of its own to wake up. One that wants answers on its way waits until the one before has ended; after 10 ms it gets a
 * connection of its own.
 */
export function createLine(database: Database): Database {
  return createDatabase(new Line(poolOf(database)));
}

class Line implements PostgresPool {
  readonly options: PostgresPool['options'];
  readonly #pool: PostgresPool;
  #last: Follower | null = null;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
    this.options = pool.options;
  }

  async connect(): Promise<PostgresPoolClient> {
    const ahead = this.#last;
    const follower = new Follower(this.#pool, () => {
      if (this.#last === follower) this.#last = null;
    });
    this.#last = follower;
    if (ahead !== null) follower.follow(ahead);
    else
      await follower.goAlone().catch((error: unknown) => {
        follower.release();
        throw error;
      });
    return follower as unknown as PostgresPoolClient;
  }

  async end(): Promise<void> {
    // The pool is not the line's own.
  }
}

type Client = PreparingClient & pg.PoolClient;
type Result = Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>;

/** A connection of the pool, and how many transactions are on it that have not ended. */
interface Track {
  readonly client: Client;
  users: number;
  /**
   * A statement has failed. Who is on it will send a rollback, when it hears of that: it must not meet the transaction of
   * somebody who came later, so nobody comes any more.
   */
  hasFailed: boolean;
  isBroken: boolean;
}

/** A statement that waits until it is known where it goes. */
interface Kept {
  readonly text: string;
  readonly values: unknown[];
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

/** What one transaction takes for its connection. */
class Follower {
  readonly #pool: PostgresPool;
  readonly #forget: () => void;
  #ahead: Follower | null = null;
  #behind: Follower | null = null;
  #track: Track | null = null;
  #kept: Kept[] = [];
  #commit: Kept | null = null;
  /** Whether nothing of it can fail to be sent. */
  #isPlain = true;
  #committedAt: number | null = null;
  #hasEnded = false;
  #failure: { readonly reason: unknown } | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: PostgresPool, forget: () => void) {
    this.#pool = pool;
    this.#forget = forget;
  }

  /** Waits for the connection of the one ahead. */
  follow(ahead: Follower): void {
    this.#ahead = ahead;
    ahead.#behind = this;
    this.#timer = setTimeout(() => this.#leave(), mostHeldMs);
  }

  /** Gets a connection of its own. */
  async goAlone(): Promise<void> {
    this.#ahead = null;
    const client = (await this.#pool.connect()) as unknown as Client;
    this.#enter({ client, users: 0, hasFailed: false, isBroken: false });
  }

  query(text: string, values: unknown[] = []): Promise<Result> {
    if (this.#track !== null) return this.#send(this.#track, text, values);
    if (text === 'rollback') return Promise.resolve(this.#drop());
    if (this.#failure !== null) return Promise.reject(this.#failure.reason);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const kept: Kept = { text, values, resolve, reject };
    this.#isPlain &&= values.every(isPlain);
    if (text === 'commit') this.#commit = kept;
    else this.#kept.push(kept);
    // As a connection does: what a begin fails with is what comes behind it fails with.
    if (text === 'begin') resolve(empty('BEGIN'));
    this.#look();
    return promise;
  }

  release(isBroken = false): void {
    clearTimeout(this.#timer);
    this.#hasEnded = true;
    // One that gave up before its turn wants no connection any more.
    this.#ahead = null;
    this.#forget();
    const track = this.#track;
    if (track !== null) track.isBroken ||= isBroken;
    this.#tell();
    if (track === null) return;
    track.users -= 1;
    if (track.users === 0) track.client.release(track.isBroken);
  }

  /** Lets the one behind see what has become of this one. */
  #tell(): void {
    const behind = this.#behind;
    if (behind !== null) behind.#look();
  }

  /** Goes on behind the one ahead where that can be done now. */
  #look(): void {
    const ahead = this.#ahead;
    if (ahead === null) return;
    const track = ahead.#track;
    if (track === null) {
      if (ahead.#hasEnded) this.#leave();
    } else if (track.hasFailed || track.isBroken) this.#leave();
    else if (ahead.#hasEnded) this.#enter(track);
    else if (this.#commit !== null && this.#isPlain && ahead.#committedAt !== null) {
      // What is stuck by now would hold this up too.
      if (performance.now() - ahead.#committedAt > mostHeldMs) this.#leave();
      else this.#enter(track);
    }
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.goAlone().catch((error: unknown) => this.#fail(error));
  }

  #enter(track: Track): void {
    clearTimeout(this.#timer);
    this.#ahead = null;
    this.#track = track;
    track.users += 1;
    if (this.#hasEnded) {
      this.release();
      return;
    }
    // The one before is answered when it has ended, not with this.
    track.client.endBatch();
    // All of it in one go, up to the commit, so that no rollback of another one comes between. Where one statement fails, the
    // database skips the rest up to the next Sync, also where that is the begin, as the one before has failed and is still open.
    const sent = this.#kept.splice(0).map((kept) => this.#sendKept(track, kept));
    if (this.#commit === null) return;
    if (this.#isPlain) void this.#sendKept(track, this.#commit);
    else void this.#sendCommit(track, this.#commit, sent);
  }

  /** Sends the commit behind the rest, unless something of that could not even be sent. Nobody else is on the track. */
  async #sendCommit(track: Track, commit: Kept, sent: readonly Promise<unknown>[]): Promise<void> {
    await untilTaken();
    const failure = await failureSoFar(sent);
    if (failure === undefined) await this.#sendKept(track, commit);
    else commit.reject(failure);
  }

  /** Tells whoever waits for it. */
  #sendKept(track: Track, { text, values, resolve, reject }: Kept): Promise<unknown> {
    const answered = this.#send(track, text, values);
    void answered.then(resolve, reject);
    return answered;
  }

  #send(track: Track, text: string, values: unknown[]): Promise<Result> {
    const answered: Promise<Result> = track.client.query(text, values);
    answered.catch(() => {
      track.hasFailed = true;
    });
    if (text === 'commit') {
      this.#committedAt = performance.now();
      this.#tell();
    }
    return answered;
  }

  /** Nothing of it was sent, so there is nothing to undo. Nobody looks at what is told. */
  #drop(): Result {
    for (const { resolve } of this.#kept.splice(0)) resolve(empty(''));
    return empty('ROLLBACK');
  }

  /** There is no connection for it. */
  #fail(reason: unknown): void {
    this.#failure = { reason };
    for (const { reject } of this.#kept.splice(0)) reject(reason);
    this.#commit?.reject(reason);
  }
}

/** What the driver makes a text of without asking anybody. */
function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object' || Buffer.isBuffer(value);
}

function empty(command: string): Result {
  return { command, rowCount: null, rows: [] };
}
