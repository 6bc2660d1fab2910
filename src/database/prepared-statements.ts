import { createHash } from 'node:crypto';

// A text that comes again is worth preparing. A text that is made for its number of rows is not.
const sightingsBeforePreparing = 3;
// Each prepared statement costs memory in every connection. The program has fewer than this of fixed text.
const maxStatements = 500;
// A statement over a long list is planned for that list: a plan made for any list would join row by row.
const longestListPrepared = 8;

/** Names the statements of a pool. PostgreSQL prepares a named statement once for each connection, and plans it less often. */
export class StatementNames {
  readonly #sightings = new Map<string, number>();
  readonly #names = new Map<string, string>();

  /** Undefined for a statement that is sent without being prepared. */
  nameOf(text: string, values: readonly unknown[]): string | undefined {
    if (values.some((value) => Array.isArray(value) && value.length > longestListPrepared)) return undefined;
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= maxStatements) return known;
    const seen = (this.#sightings.get(text) ?? 0) + 1;
    if (seen < sightingsBeforePreparing) {
      // Texts that never come again must not accumulate.
      if (this.#sightings.size >= maxStatements) this.#sightings.clear();
      this.#sightings.set(text, seen);
      return undefined;
    }
    this.#sightings.delete(text);
    // The same text has the same name for everybody who shares the connections.
    const name = createHash('sha1').update(text).digest('base64');
    this.#names.set(text, name);
    return name;
  }
}
