/** JSON.rawJSON inserts a text unchanged; TypeScript's library does not declare it yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/**
 * Serializes bigints (money, balances) as integer literals, exact at any size. Import this file for its side effect.
 */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint) {
    return rawJson(this.toString());
  },
  configurable: true,
  writable: true,
});
