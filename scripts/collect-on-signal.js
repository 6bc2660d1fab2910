// node --expose-gc --import scripts/collect-on-signal.js: collects garbage on SIGUSR2, so that a measurement counts
// retained memory only.
import process from 'node:process';

process.on('SIGUSR2', () => globalThis.gc());
