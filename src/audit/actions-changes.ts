import type { Readable } from 'node:stream';
import type { Database } from '../database/database.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { EventStream, type EventStreams, lookEveryMs, openingOf } from '../http/event-stream.ts';
import type { ReadMore } from '../http/route.ts';
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

// Sessions that have ended are noticed within this time, also when nothing changes.
const askAgainMs = 10_000;
// Records without an audit log, such as usage, are read again at this interval; so is anything that was missed.
const refreshMs = 60_000;
// Later positions are read from the log; after a longer absence, everything is read again.
const longestAbsenceMs = 10 * 60_000;

/** Reads where a stream begins: after the position that its reader knows, if that is not too old. */
export async function beginFollowing(
  work: Work,
  { lastPosition, seconds }: { readonly lastPosition: number | null; readonly seconds: number },
): Promise<Following> {
  const opening = openingOf(work, seconds);
  const position = opening.openedAt;
  const isKnown = lastPosition !== null && position - lastPosition < longestAbsenceMs;
  const since = Math.min(position - windowMs, isKnown ? lastPosition - overlapMs : position);
  const changes = await store.recentChanges(work, firstIdAt(since), mostRecent);
  const missed = isKnown ? changes.filter(({ id }) => id > firstIdAt(lastPosition - overlapMs)) : [];
  return {
    ...opening,
    environmentId: work.environmentId,
    recent: changes.map(({ id }) => id),
    missed: isKnown && changes.length < mostRecent ? typesOf(missed) : lastPosition === null ? [] : null,
  };
}

/** One stream. Each message is read for its caller, so none follows the end of a session or the revocation of a key. */
class Stream extends EventStream {
  readonly #readMore: ReadMore;
  /** The changes before it began, which a look of other streams may still have to find. */
  readonly #known: ReadonlySet<string>;
  #askedAt: number;
  #refreshedAt: number;
  #isAsking = false;
  /** The changes that came while it was reading others; null when they are not known. */
  #waiting: readonly string[] | null = [];

  constructor(following: Following, readMore: ReadMore) {
    super(following);
    const { openedAt, missed, recent, seconds } = following;
    this.#readMore = readMore;
    this.#known = new Set(recent);
    this.#askedAt = this.#refreshedAt = openedAt;
    this.write(openedAt, messageOf(openedAt, missed?.length === 0 ? undefined : missed));
    if (seconds === 0) this.end();
  }

  /** Tells of a look at `position`. `fresh` are the changes since the one before; null when they are not known. */
  async look(position: number, fresh: readonly string[] | null): Promise<void> {
    if (this.isOver(position)) return;
    if (position - this.#refreshedAt >= refreshMs) this.#waiting = null;
    const waiting = this.#waiting;
    const both =
      waiting === null || fresh === null ? null : [...waiting, ...fresh.filter((id) => !this.#known.has(id))];
    this.#waiting = both !== null && both.length > mostRecent ? null : both;
    if (this.#isAsking) return;
    const isDue = this.#waiting?.length !== 0 || position - this.#askedAt >= askAgainMs;
    if (isDue) await this.#ask(position);
    this.beat(position, messageOf(position));
  }

  async #ask(position: number): Promise<void> {
    const asked = this.#waiting;
    this.#isAsking = true;
    this.#waiting = [];
    try {
      const visible = await this.#readMore((work) => store.visibleChanges(work, asked ?? []));
      this.#askedAt = position;
      if (asked === null) this.#refreshedAt = position;
      if (asked === null || visible.length > 0) this.write(position, messageOf(position, asked && typesOf(visible)));
    } catch (error) {
      if (error instanceof Problem && error.status < 500) this.end();
      // The database did not answer: the next look tells that anything may have changed.
      else this.#waiting = null;
    } finally {
      this.#isAsking = false;
    }
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
  readonly #streams: EventStreams;
  readonly #watched = new Map<number, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(database: Database, streams: EventStreams) {
    this.#database = database;
    this.#streams = streams;
  }

  /** Begins a stream. */
  follow(following: Following, readMore: ReadMore): Readable {
    const stream = new Stream(following, readMore);
    this.#streams.add(stream);
    if (following.seconds > 0) this.#join(stream, following);
    return stream;
  }

  #join(stream: Stream, { environmentId, recent, openedAt }: Following): void {
    const watched = this.#watched.get(environmentId) ?? {
      streams: new Set(),
      seen: new Set(recent),
      lookedAt: openedAt,
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
