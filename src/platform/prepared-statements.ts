import pg from 'pg';

// A text that comes again is worth preparing; one that is made for its number of rows is not.
const sightingsBeforePreparing = 3;
// Each prepared statement costs memory in every connection. The program has fewer than this of fixed text.
const maxStatements = 500;

// A statement over a long list is planned for that list: a plan made for any would join row by row.
const longestListPrepared = 8;

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

/**
 * A connection that prepares the statements that come again: parsing and planning them takes PostgreSQL longer than
 * carrying them out. Nothing changes for the caller.
 */
export class PreparingClient extends pg.Client {
  // The signature of pg's own method has a dozen forms; only that of text and values is looked at.
  // biome-ignore lint/suspicious/noExplicitAny: whatever it is given, the parent's method is given too.
  override query(...parameters: any[]): any {
    const [text, values, ...rest] = parameters;
    if (typeof text !== 'string' || !Array.isArray(values)) return this.#plain(parameters);
    if (values.some((value) => Array.isArray(value) && value.length > longestListPrepared))
      return this.#plain(parameters);
    const name = nameOf(text);
    return name === undefined ? this.#plain(parameters) : this.#plain([{ name, text, values }, ...rest]);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  #plain(parameters: any[]): any {
    return (super.query as (...all: unknown[]) => unknown).apply(this, parameters);
  }
}
