import process from 'node:process';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endFile, endProcess } from '../test/support/process-end.ts';
import { drawFromSeed } from '../test/support/seed.ts';
import { holder, takeFile, titleOf } from './test-queue.ts';

// Runs test files in one process, one after the other, each as a suite of its name. The program and what the files share
// are loaded once. Arguments name the files; without any, they are taken from a queue that several workers share
// (scripts/test-queue.ts).

async function* files(): AsyncGenerator<string> {
  const given = process.argv.slice(2);
  yield* given;
  if (given.length > 0) return;
  for (let file = await takeFile(); file !== null; file = await takeFile()) yield file;
}

drawFromSeed();

// One test that holds all of them: to Node's runner a moment without any would be the end.
test(holder, async () => {
  for await (const file of files()) {
    await describe(titleOf(file), () => import(pathToFileURL(file).href));
    await endFile();
  }
  await endProcess();
});
