import { Readable } from 'node:stream';
import type { Database } from '../database/database.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { firstIdAt } from './audit-entry.ts';
import {
  type Change,
  type Following,
  messageOf,
  mostRecent,
  overlapMs,
  typesOf,
  unseenOf,
  windowMs,
} from './change-feed.ts';
import * as store from './store.ts';

/** The part of the services that streams use. */
export interface WithChangeFeed {
  readonly changeFeed?: ChangeFeed;
}

/** Runs a read for the caller of the stream, who may have been signed out meanwhile. */
type ReadMore = <Read>(read: (work: Work) => Promise<Read>) => Promise<Read>;

// A person sees a change within a second, and one environment costs one short query a second.
const lookEveryMs = 1_000;
// Proxies close a connection without traffic, many of them after 30 or 60 seconds.
const heartbeatMs = 15_000;
// Sessions that have ended are noticed within this time, also when nothing changes.
const askAgainMs = 10_000;
// Records without an audit log, such as usage, are read again at this interval; so is anything that was missed.
const refreshMs = 60_000;
// Later positions are read from the log; after a longer absence, everything is read again.
const longestAbsenceMs = 10 * 60_000;
// Each stream holds a connection and a transaction a second at most.
const mostStreams = 200;
// As many windows as one person looks at.
export const mostOfOneCaller = 12;
// Some hundred messages: a reader who takes none is gone.
const mostUnreadBytes = 64 * 1024;

/** Reads where a stream begins: after the position that its reader knows, if that is not too old. */
export async function beginFollowing(
  work: Work,
  { lastPosition, seconds }: { readonly lastPosition: number | null; readonly seconds: number },
): Promise<Following> {
  const { environmentId, userId, apiKeyId } = work;
  const position = Date.now();
  const isKnown = lastPosition !== null && position - lastPosition < longestAbsenceMs;
  const since = Math.min(position - windowMs, isKnown ? lastPosition - overlapMs : position);
  const changes = await store.recentChanges(work, firstIdAt(since), mostRecent);
  const missed = isKnown ? changes.filter(({ id }) => id > firstIdAt(lastPosition - overlapMs)) : [];
  return {
    environmentId,
    caller: String(userId ?? apiKeyId),
    position,
    recent: changes.map(({ id }) => id),
    missed: isKnown && changes.length < mostRecent ? typesOf(missed) : lastPosition === null ? [] : null,
    seconds,
  };
}

/** One stream. Each message is read for its caller, so none follows the end of a session or the revocation of a key. */
class Stream extends Readable {
  readonly caller: string;
  readonly environmentId: number;
  readonly #readMore: ReadMore;
  readonly #endsAt: number;
  /** The changes before it began, which a look of other streams may still have to find. */
  readonly #known: ReadonlySet<string>;
  #askedAt: number;
  #wroteAt: number;
  #refreshedAt: number;
  #isAsking = false;
  /** The changes that came while it was reading others; null when they are not known. */
  #waiting: readonly string[] | null = [];

  constructor({ caller, environmentId, position, seconds, missed, recent }: Following, readMore: ReadMore) {
    super({ highWaterMark: mostUnreadBytes, read: () => undefined });
    this.caller = caller;
    this.environmentId = environmentId;
    this.#readMore = readMore;
    this.#known = new Set(recent);
    this.#endsAt = position + seconds * 1_000;
    this.#askedAt = this.#wroteAt = this.#refreshedAt = position;
    this.push(messageOf(position, missed?.length === 0 ? undefined : missed));
    if (seconds === 0) this.push(null);
  }

  /** Tells of a look at `position`. `fresh` are the changes since the one before; null when they are not known. */
  async look(position: number, fresh: readonly string[] | null): Promise<void> {
    // Nobody reads the end of a stream whose connection was lost before its first byte.
    if (position >= this.#endsAt + heartbeatMs) return void this.destroy();
    if (position >= this.#endsAt) return this.end();
    if (position - this.#refreshedAt >= refreshMs) this.#waiting = null;
    const waiting = this.#waiting;
    const both =
      waiting === null || fresh === null ? null : [...waiting, ...fresh.filter((id) => !this.#known.has(id))];
    this.#waiting = both !== null && both.length > mostRecent ? null : both;
    if (this.#isAsking) return;
    const isDue = this.#waiting?.length !== 0 || position - this.#askedAt >= askAgainMs;
    if (isDue) await this.#ask(position);
    if (position - this.#wroteAt >= heartbeatMs) this.#write(position);
  }

  end(): void {
    if (!this.readableEnded && !this.destroyed) this.push(null);
  }

  async #ask(position: number): Promise<void> {
    const asked = this.#waiting;
    this.#isAsking = true;
    this.#waiting = [];
    try {
      const visible = await this.#readMore((work) => store.visibleChanges(work, asked ?? []));
      this.#askedAt = position;
      if (asked === null) this.#refreshedAt = position;
      if (asked === null || visible.length > 0) this.#write(position, asked && typesOf(visible));
    } catch (error) {
      if (error instanceof Problem && error.status < 500) this.end();
      // The database did not answer: the next look tells that anything may have changed.
      else this.#waiting = null;
    } finally {
      this.#isAsking = false;
    }
  }

  #write(position: number, records?: readonly string[] | null): void {
    if (this.readableEnded || this.destroyed) return;
    if (this.readableLength > mostUnreadBytes) return void this.destroy();
    this.push(messageOf(position, records));
    this.#wroteAt = position;
  }
}

interface Watched {
  readonly streams: Set<Stream>;
  seen: ReadonlySet<string>;
  lookedAt: number;
}

/**
 * The streams of one process. One short query a second finds the new changes of each environment that somebody follows, so
 * it needs no message of another process and can miss none.
 */
export class ChangeFeed {
  readonly #database: Database;
  readonly #watched = new Map<number, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isStopped = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Begins a stream. Refuses more of them than the process, or one caller, may have. */
  follow(following: Following, readMore: ReadMore): Readable {
    const streams = [...this.#watched.values()].flatMap((watched) => [...watched.streams]);
    if (this.#isStopped || streams.length >= mostStreams) throw new Problem('overloaded');
    if (streams.filter(({ caller }) => caller === following.caller).length >= mostOfOneCaller)
      throw new Problem('tooManyStreams', { limit: mostOfOneCaller });
    const stream = new Stream(following, readMore);
    if (following.seconds > 0) this.#join(stream, following);
    return stream;
  }

  /** Ends every stream, and begins no other. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const { streams } of this.#watched.values()) for (const stream of streams) stream.end();
  }

  #join(stream: Stream, { environmentId, recent, position }: Following): void {
    const watched = this.#watched.get(environmentId) ?? {
      streams: new Set(),
      seen: new Set(recent),
      lookedAt: position,
    };
    watched.streams.add(stream);
    this.#watched.set(environmentId, watched);
    stream.once('close', () => {
      watched.streams.delete(stream);
      if (watched.streams.size === 0 && this.#watched.get(environmentId) === watched)
        this.#watched.delete(environmentId);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    this.#timer ??= setInterval(() => void this.#look(), lookEveryMs).unref();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (const [environmentId, watched] of this.#watched) {
      const position = Date.now();
      const found = await this.#unseen(environmentId, watched, position);
      // Not awaited: a caller's transaction holds up nobody else.
      for (const stream of watched.streams) void stream.look(position, found);
    }
    this.#isLooking = false;
  }

  async #unseen(environmentId: number, watched: Watched, position: number): Promise<readonly string[] | null> {
    try {
      const after = firstIdAt(position - windowMs);
      const recent = (work: Work) => store.recentChanges(work, after, mostRecent);
      const changes: readonly Change[] =
        (await runInEnvironment(this.#database, { environmentId }, recent))?.answer ?? [];
      const { seen, lookedAt } = watched;
      watched.seen = new Set(changes.map(({ id }) => id));
      watched.lookedAt = position;
      return unseenOf(changes, { seen, sinceLookMs: position - lookedAt })?.map(({ id }) => id) ?? null;
    } catch {
      // An outage: the next look that succeeds knows by its time that changes may be missing.
      return [];
    }
  }
}
