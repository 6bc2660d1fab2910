let found: Crypto | undefined;

/** The platform's cryptography: everywhere but in Node 18 it is global. */
export async function webCrypto(): Promise<Crypto> {
  found ??= globalThis.crypto ?? (await cryptoOfNode());
  return found;
}

async function cryptoOfNode(): Promise<Crypto> {
  // The name is in a variable so that bundlers for browsers, where this is never reached, do not look for the module.
  const name = 'node:crypto';
  const { webcrypto } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  return webcrypto;
}
