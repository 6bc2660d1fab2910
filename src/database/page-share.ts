import type { KyselyPlugin } from 'kysely';
import type pg from 'pg';
import { Problem } from '../kernel/problem.ts';
import { createDatabase, type Database } from './database.ts';

/** The limits of a kind of work. */
interface PlaceLimits {
  /** Work at a time. */
  readonly most: number;
  /** Work that may wait for a place. */
  readonly mostWaiting: number;
  readonly waitMs: number;
}

/** Places for a kind of work. Work beyond them waits in order, and leaves the queue when nobody waits for it any more. */
class Places {
  readonly #limits: PlaceLimits;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Takes a place, and returns the function that gives it back. Refuses with `overloaded` when the queue is full or the
   * wait too long. Throws the reason of `gone` when that is aborted first.
   */
  async take(gone?: AbortSignal): Promise<() => void> {
    gone?.throwIfAborted();
    if (this.#taken < this.#limits.most) this.#taken += 1;
    else await this.#turn(gone);
    let isBack = false;
    return () => {
      if (!isBack) this.#giveBack();
      isBack = true;
    };
  }

  #turn(gone: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#limits.mostWaiting) throw new Problem('overloaded');
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', giveUp);
        this.#waiting.delete(begin);
      };
      const begin = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(gone?.reason);
      };
      const timer = setTimeout(() => {
        leave();
        reject(new Problem('overloaded'));
      }, this.#limits.waitMs);
      gone?.addEventListener('abort', giveUp);
      this.#waiting.add(begin);
    });
  }

  /** A place that is given back goes to the first in the queue. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}

// One connection in twenty: a page takes a few milliseconds, so two of them serve a hundred pages a second.
const shareOfConnections = 0.05;
// Somebody who waits longer has left.
const waitMs = 5_000;
const mostWaitingEach = 25;
// One of the two threads that lay out documents, so that the other is free for the API.
const documentLimits: PlaceLimits = { most: 1, mostWaiting: 10, waitMs: 10_000 };

/** The part of a process that pages use at a time. Everything else is left to the API, however many pages are asked for. */
export class PageShare {
  readonly connections: Places;
  readonly documents = new Places(documentLimits);
  readonly #pool: pg.Pool;
  /** The places of the pools of other cells: where one does not respond, pages of the others go on. */
  readonly #ofCells = new WeakMap<pg.Pool, Places>();

  /** `size` is the number of connections of the pool. */
  constructor(pool: pg.Pool, size: number) {
    this.connections = placesOf(size);
    this.#pool = pool;
  }

  /**
   * The database of one request. When its client is gone, it waits for no connection any more. A request that only reads
   * sends no further statement then; one that changes something ends what it has begun. `pool` is that of another cell.
   */
  database(gone: AbortSignal, onlyReads: boolean, pool?: pg.Pool): Database {
    const places = pool === undefined ? this.connections : this.#placesIn(pool);
    let hasBegun = false;
    const takePlace = async () => {
      const giveBack = await places.take(onlyReads || !hasBegun ? gone : undefined);
      hasBegun = true;
      return giveBack;
    };
    return createDatabase(pool ?? this.#pool, { takePlace, plugins: onlyReads ? [stopWhen(gone)] : [] });
  }

  #placesIn(pool: pg.Pool): Places {
    const known = this.#ofCells.get(pool) ?? placesOf(pool.options.max);
    this.#ofCells.set(pool, known);
    return known;
  }
}

function placesOf(size: number): Places {
  const most = Math.max(1, Math.floor(size * shareOfConnections));
  return new Places({ most, mostWaiting: most * mostWaitingEach, waitMs });
}

function stopWhen(gone: AbortSignal): KyselyPlugin {
  return {
    transformQuery({ node }) {
      gone.throwIfAborted();
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}
