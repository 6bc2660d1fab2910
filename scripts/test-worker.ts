import { registerHooks } from 'node:module';
import process from 'node:process';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endProcess, shareProcess } from '../test/support/process-end.ts';
import { holder, takeFile, titleOf } from './test-queue.ts';

// Runs test files in one process, one after the other, each as a suite of its name. The program is loaded once, and is
// fast when its first files are through. Arguments name the files; without any, they are taken from a queue that several
// workers share (scripts/test-queue.ts).

const tests = new URL('../test/', import.meta.url).href;
const loadedOnce = new Set(
  ['browser', 'databases', 'process-end'].map((name) => new URL(`support/${name}.ts`, tests).href),
);

// Modules of tests keep state for one test file: each file loads them for itself.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const run = /\?file=\d+$/.exec(context.parentURL ?? '')?.[0];
    if (run === undefined || !resolved.url.startsWith(tests) || loadedOnce.has(resolved.url)) return resolved;
    return { ...resolved, url: resolved.url + run };
  },
});

let runs = 0;

async function* files(): AsyncGenerator<string> {
  const given = process.argv.slice(2);
  yield* given;
  if (given.length > 0) return;
  for (let file = await takeFile(); file !== null; file = await takeFile()) yield file;
}

if (process.argv.length !== 3) shareProcess();
// One test that holds all of them: to Node's runner a moment without any would be the end.
test(holder, async () => {
  for await (const file of files()) {
    await describe(titleOf(file), () => import(`${pathToFileURL(file).href}?file=${++runs}`));
  }
  await endProcess();
});
