/** JSON.rawJSON writes a text as it is; TypeScript's library does not know it yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** Money and balances are bigints inside and integer literals in JSON, exact at any size. Import this file for its effect. */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint) {
    return rawJson(this.toString());
  },
  configurable: true,
  writable: true,
});
