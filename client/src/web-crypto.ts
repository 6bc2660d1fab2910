let found: Crypto | undefined;

/** The platform's Web Crypto: global everywhere but in Node 18. */
export async function webCrypto(): Promise<Crypto> {
  found ??= globalThis.crypto ?? (await cryptoOfNode());
  return found;
}

async function cryptoOfNode(): Promise<Crypto> {
  // The name is in a variable so that bundlers for browsers, which never reach this, do not resolve the module.
  const name = 'node:crypto';
  const { webcrypto } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  return webcrypto;
}
