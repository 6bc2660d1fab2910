import type { Readable } from 'node:stream';
import type { Parts } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { EventStream, type EventStreams, lookEveryMs, openingOf } from '../http/event-stream.ts';
import type { ReadMore } from '../http/route.ts';
import type { Instant } from '../kernel/calendar.ts';
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

/** Reads where a stream begins in one cell: after the position that its reader knows, if that is not too old. */
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

/** A look at the changes of a cell. They are known up to `position`, which is earlier in an outage. */
interface Look {
  readonly now: Instant;
  readonly position: Instant;
}

/** A stream of what changes in all cells. */
class Stream extends EventStream {
  /** The position of each cell up to which the reader knows what changed there. */
  readonly #positions: Instant[];

  constructor(parts: Parts<Following>) {
    const [opening] = parts;
    super(opening);
    this.#positions = parts.map(({ openedAt }) => openedAt);
    const missed = parts.map((part) => part.missed);
    const types = missed.includes(null) ? null : [...new Set(missed.flatMap((each) => each ?? []))].sort();
    this.write(opening.openedAt, this.#message(types?.length === 0 ? undefined : types));
    if (opening.seconds === 0) this.end();
  }

  /** Tells of a look at a cell. Without `records`, nothing changed there. */
  tell(cell: number, { now, position }: Look, records?: readonly string[] | null): void {
    this.#positions[cell] = position;
    if (records === undefined) this.beat(now, this.#message());
    else this.write(now, this.#message(records));
  }

  /** A reader that begins again misses nothing of any cell. */
  #message(records?: readonly string[] | null): string {
    return messageOf(Math.min(...this.#positions), records);
  }
}

/** The part of a stream in one cell. Each message is read for its caller, so none follows the end of a session or the revocation of a key. */
class Follower {
  readonly #stream: Stream;
  readonly #cell: number;
  readonly #readMore: ReadMore;
  /** The changes before it began, which a look of other streams may still have to find. */
  readonly #known: ReadonlySet<string>;
  #askedAt: number;
  #refreshedAt: number;
  #isAsking = false;
  /** The changes that came while it was reading others; null when they are not known. */
  #waiting: readonly string[] | null = [];

  constructor(stream: Stream, cell: number, { openedAt, recent }: Following, readMore: ReadMore) {
    this.#stream = stream;
    this.#cell = cell;
    this.#readMore = readMore;
    this.#known = new Set(recent);
    this.#askedAt = this.#refreshedAt = openedAt;
  }

  /** Tells of a look. `fresh` are the changes since the one before; null when they are not known. */
  async look(look: Look, fresh: readonly string[] | null): Promise<void> {
    const { now } = look;
    if (this.#stream.isOver(now)) return;
    if (now - this.#refreshedAt >= refreshMs) this.#waiting = null;
    const waiting = this.#waiting;
    const both =
      waiting === null || fresh === null ? null : [...waiting, ...fresh.filter((id) => !this.#known.has(id))];
    this.#waiting = both !== null && both.length > mostRecent ? null : both;
    if (this.#isAsking) return;
    const isDue = this.#waiting?.length !== 0 || now - this.#askedAt >= askAgainMs;
    if (isDue) await this.#ask(look);
    else this.#stream.tell(this.#cell, look);
  }

  async #ask(look: Look): Promise<void> {
    const asked = this.#waiting;
    this.#isAsking = true;
    this.#waiting = [];
    try {
      const visible = await this.#readMore((work) => store.visibleChanges(work, asked ?? []), this.#cell);
      this.#askedAt = look.now;
      if (asked === null) this.#refreshedAt = look.now;
      const isNews = asked === null || visible.length > 0;
      this.#stream.tell(this.#cell, look, isNews ? asked && typesOf(visible) : undefined);
    } catch (error) {
      if (error instanceof Problem && error.status < 500) this.#stream.end();
      // The database did not answer: the next look tells that anything may have changed.
      else this.#waiting = null;
    } finally {
      this.#isAsking = false;
    }
  }
}

/** An environment in one cell that somebody follows. */
interface Watched {
  readonly database: Database;
  readonly environmentId: number;
  readonly followers: Set<Follower>;
  seen: ReadonlySet<string>;
  lookedAt: number;
  isLooking: boolean;
}

/** A cell that a stream follows. */
export interface FollowedCell extends Following {
  readonly database: Database;
}

/**
 * The streams of one process. One short query a second finds the new changes of each environment that somebody follows, so
 * it needs no message of another process and can miss none.
 */
export class ChangeFeed {
  readonly #streams: EventStreams;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(streams: EventStreams) {
    this.#streams = streams;
  }

  /** Begins a stream. */
  follow(parts: Parts<FollowedCell>, readMore: ReadMore): Readable {
    const stream = new Stream(parts);
    this.#streams.add(stream);
    const [{ seconds }] = parts;
    if (seconds === 0) return stream;
    for (const [cell, part] of parts.entries()) this.#join(stream, part, new Follower(stream, cell, part, readMore));
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
    return stream;
  }

  #join(stream: Stream, { database, environmentId, recent, openedAt }: FollowedCell, follower: Follower): void {
    const isSame = (each: Watched) => each.database === database && each.environmentId === environmentId;
    const watched = [...this.#watched].find(isSame) ?? {
      database,
      environmentId,
      followers: new Set(),
      seen: new Set(recent),
      lookedAt: openedAt,
      isLooking: false,
    };
    watched.followers.add(follower);
    this.#watched.add(watched);
    stream.once('close', () => {
      watched.followers.delete(follower);
      if (watched.followers.size === 0) this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  }

  /** A cell that does not respond holds up none of the others. */
  #look(): void {
    for (const watched of this.#watched) if (!watched.isLooking) void this.#lookAt(watched);
  }

  async #lookAt(watched: Watched): Promise<void> {
    watched.isLooking = true;
    const now = Date.now();
    const found = await this.#unseen(watched, now);
    watched.isLooking = false;
    // Not awaited: a caller's transaction holds up nobody else.
    for (const follower of watched.followers) void follower.look({ now, position: watched.lookedAt }, found);
  }

  async #unseen(watched: Watched, position: number): Promise<readonly string[] | null> {
    const { database, environmentId, seen, lookedAt } = watched;
    try {
      const after = firstIdAt(position - windowMs);
      const recent = (work: Work) => store.recentChanges(work, after, mostRecent);
      const changes: readonly Change[] = (await runInEnvironment(database, { environmentId }, recent))?.answer ?? [];
      watched.seen = new Set(changes.map(({ id }) => id));
      watched.lookedAt = position;
      return unseenOf(changes, { seen, sinceLookMs: position - lookedAt })?.map(({ id }) => id) ?? null;
    } catch {
      // An outage: the next look that succeeds knows by its time that changes may be missing.
      return [];
    }
  }
}
