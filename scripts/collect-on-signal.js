// node --expose-gc --import scripts/collect-on-signal.js: collects garbage on SIGUSR2, so that what a process keeps can be
// told from what it has not collected yet.
import process from 'node:process';

process.on('SIGUSR2', () => globalThis.gc());
