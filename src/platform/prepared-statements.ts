import process from 'node:process';
import pg from 'pg';

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

/**
 * A connection that prepares the statements that come again: parsing and planning them takes PostgreSQL longer than
 * carrying them out. Nothing changes for the caller.
 */
export class PreparingClient extends pg.Client {
  #heldBack: NodeJS.Timeout | null = null;

  // The signature of pg's own method has a dozen forms; only that of text and values is looked at.
  // biome-ignore lint/suspicious/noExplicitAny: whatever it is given, the parent's method is given too.
  override query(...parameters: any[]): any {
    const [text, values, ...rest] = parameters;
    if (text === 'begin' && isEmpty(values)) return this.#begin();
    if (text === 'rollback' && isEmpty(values)) return this.#rollback();
    if (typeof text !== 'string' || !Array.isArray(values)) return this.#plain(parameters);
    if (values.some((value) => Array.isArray(value) && value.length > longestListPrepared))
      return this.#plain(parameters);
    const name = nameOf(text);
    if (name === undefined) return this.#plain(parameters);
    return rest.length > 0 ? this.#plain([{ name, text, values }, ...rest]) : this.#named(name, text, values);
  }

  /** As the parent does with `{ name, text, values }`, without the copy that it makes of that: it takes as long as sending it. */
  #named(name: string, text: string, values: unknown[]): Promise<pg.QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
    const query = new pg.Query(text, values, (error: Error | undefined | null, result: pg.QueryResult) =>
      error ? reject(error) : resolve(result),
    );
    this.#plain([Object.assign(query, { name })]);
    return promise;
  }

  /**
   * The begin of a transaction is not waited for: what follows goes the same way behind it, and fails where it did. Its own
   * failure would be that of the connection.
   */
  #begin(): Promise<pg.QueryResult> {
    this.#plain(['begin']).catch(() => undefined);
    return Promise.resolve({ command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] });
  }

  /**
   * Nor is its rollback: nobody asks what was undone. It goes out with the first statement of the next transaction, or by
   * itself a moment later.
   */
  #rollback(): Promise<pg.QueryResult> {
    const { stream } = this.connection;
    stream.cork();
    this.#heldBack = setTimeout(() => {
      this.#heldBack = null;
      stream.uncork();
    }, heldBackMs);
    super.query('rollback').catch(() => undefined);
    return Promise.resolve({ command: 'ROLLBACK', rowCount: null, oid: 0, fields: [], rows: [] });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  #plain(parameters: any[]): any {
    // What is sent in one turn goes out in one write: to wake the server for each statement costs more than to carry it out.
    const { stream } = this.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    if (this.#heldBack !== null) {
      clearTimeout(this.#heldBack);
      this.#heldBack = null;
      process.nextTick(() => stream.uncork());
    }
    return (super.query as (...all: unknown[]) => unknown).apply(this, parameters);
  }
}
