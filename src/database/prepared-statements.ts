import process from 'node:process';
import pg from 'pg';
import { expectRows, type KnownRows, knownRows } from './known-rows.ts';
import { type SyncPerTurn, syncPerTurn } from './sync-per-turn.ts';

// A text that comes again is worth preparing; one that is made for its number of rows is not.
const sightingsBeforePreparing = 3;
// Each prepared statement costs memory in every connection. The program has fewer than this of fixed text.
const maxStatements = 500;

// A statement over a long list is planned for that list: a plan made for any would join row by row.
const longestListPrepared = 8;

// How long the end of a transaction that leaves nothing waits for company.
const heldBackMs = 1;

const sightings = new Map<string, number>();
const names = new Map<string, string>();

/** The name under which a connection prepares this text, or undefined when it is sent anew each time. */
function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= maxStatements) return known;
  const seen = (sightings.get(text) ?? 0) + 1;
  if (seen < sightingsBeforePreparing) {
    // Texts that never come again must not gather.
    if (sightings.size >= maxStatements) sightings.clear();
    sightings.set(text, seen);
    return undefined;
  }
  sightings.delete(text);
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

function isEmpty(values: unknown): boolean {
  return values === undefined || (Array.isArray(values) && values.length === 0);
}

/** Begins and ends a transaction: prepared from the first on, as there are no values to tell them by. */
const transactionStatements = new Set(['begin', 'commit', 'rollback']);

/**
 * A connection that prepares the statements that come again: parsing and planning them takes PostgreSQL longer than
 * carrying them out. What is sent in one turn goes out in one write and is answered in one: to wake the other side for each
 * statement costs more than to carry it out. Nothing changes for the caller.
 */
export class PreparingClient extends pg.Client {
  readonly #turn: SyncPerTurn;
  /** By the names of what this connection has prepared. */
  readonly #rows = new Map<string, KnownRows>();
  #heldBack: NodeJS.Timeout | null = null;
  #isGathering = false;
  #endsWithTurn = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.#turn = syncPerTurn(this.connection);
  }

  // The signature of pg's own method has a dozen forms; only that of text and values is looked at.
  // biome-ignore lint/suspicious/noExplicitAny: whatever it is given, the parent's method is given too.
  override query(...parameters: any[]): any {
    this.#gather();
    const [text, values, ...rest] = parameters;
    if (typeof text !== 'string' || rest.length > 0) return this.#send(parameters);
    // Behind a statement that fails the database skips what comes before the Sync, and a rollback must not be skipped: the
    // next transaction would begin in the one that failed. Nor must one to a savepoint.
    if (text.startsWith('rollback')) this.#turn.ask();
    if (transactionStatements.has(text) && isEmpty(values)) return this.#endOrBegin(text);
    if (!Array.isArray(values)) return this.#send(parameters);
    if (values.some((value) => Array.isArray(value) && value.length > longestListPrepared))
      return this.#send(parameters);
    const name = nameOf(text);
    return name === undefined ? this.#send(parameters) : this.#named(name, text, values);
  }

  /** Where what comes next fails or follows a failure, that is to be told apart from what was sent before, also in this turn. */
  endBatch(): void {
    this.#turn.ask();
  }

  /** As the parent does with `{ name, text, values }`, without the copy that it makes of that: it takes as long as sending it. */
  #named(name: string, text: string, values: unknown[]): Promise<pg.QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
    const known = this.#rows.get(name);
    const query = new pg.Query(text, values, (error: Error | undefined | null, result: pg.QueryResult) => {
      if (error) return reject(error);
      if (known === undefined) this.#rows.set(name, knownRows(result));
      resolve(result);
    });
    if (known !== undefined) expectRows(query, known);
    this.#send([Object.assign(query, { name })]);
    return promise;
  }

  /**
   * The begin of a transaction is not waited for: what follows goes the same way behind it, and fails where it did. Its own
   * failure would be that of the connection. Nor is its rollback: nobody asks what was undone. It goes out with the first
   * statement of the next transaction, or by itself a moment later.
   */
  #endOrBegin(text: string): Promise<Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>> {
    const answered = this.#named(text, text, []);
    if (text === 'commit') return answered;
    answered.catch(() => undefined);
    if (text === 'rollback') this.#holdBack();
    return Promise.resolve({ command: text.toUpperCase(), rowCount: null, rows: [] });
  }

  #holdBack(): void {
    clearTimeout(this.#heldBack ?? undefined);
    this.#heldBack = setTimeout(() => this.#release(), heldBackMs);
  }

  /** What is sent from now on waits for what comes next in this turn. */
  #gather(): void {
    clearTimeout(this.#heldBack ?? undefined);
    this.#heldBack = null;
    if (!this.#isGathering) this.connection.stream.cork();
    this.#isGathering = true;
    if (this.#endsWithTurn) return;
    this.#endsWithTurn = true;
    // Behind those whose promises the end of the turn has kept (`untilTaken`), as Node keeps them once all ticks are done: what
    // they send then, such as a commit, goes the same way.
    process.nextTick(() => queueMicrotask(() => process.nextTick(() => this.#endTurn())));
  }

  #endTurn(): void {
    this.#endsWithTurn = false;
    if (this.#heldBack === null) this.#release();
  }

  #release(): void {
    this.#heldBack = null;
    this.#isGathering = false;
    this.#turn.ask();
    this.connection.stream.uncork();
  }

  #send(parameters: unknown[]): unknown {
    return (super.query as (...all: unknown[]) => unknown).apply(this, parameters);
  }
}
