import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { findEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { PressedService, queryAsOwner, until } from '../support/pressed.ts';
import { PressingUsage, setUpUsage, storedEvents } from '../support/pressing-usage.ts';

// A disk of our own that can be filled: a file system in memory, which only root may mount.
const diskMebibytes = 256;
const key = 'sk_test_pressed';

/** Mounts the disk, or answers why that cannot be done here. */
async function mountDisk(): Promise<{ path: string } | { reason: string }> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return { reason: 'only root on Linux can mount a disk' };
  const path = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMebibytes}m`, 'tmpfs', path], { stdio: 'pipe' });
    return { path };
  } catch (error) {
    await rm(path, { recursive: true });
    return { reason: `no disk can be mounted here: ${(error as Error).message}` };
  }
}

/** Writes a file until the disk is full. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    for (const size of [2 ** 20, 2 ** 12]) {
      const block = Buffer.alloc(size, 1);
      for (let written = 0; written < diskMebibytes * 2 ** 20; written += size) {
        if ((await file.write(block)).bytesWritten < size) break;
      }
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    await file.close();
  }
}

test('on a full disk the service says so, loses nothing that it acknowledged, and goes on by itself when there is room', async (t) => {
  const disk = await mountDisk();
  if ('reason' in disk) {
    assert.notEqual(process.env.CI, 'true', `${disk.reason}: CI has to run this as root`);
    return t.skip(disk.reason);
  }
  const dataDirectory = join(disk.path, 'data');
  const service = await PressedService.start({
    TOLLKEEPER_DATA_DIR: dataDirectory,
    TOLLKEEPER_TEST_KEY: key,
    LOG_LEVEL: 'error',
  });
  try {
    const request = service.request.bind(service);
    const usage = new PressingUsage({ request, key, subscriptionId: await setUpUsage(request, key) });
    usage.start(8);
    await until('events are answered', () => usage.count(200) > 50);
    const balloon = join(disk.path, 'balloon');
    await fill(balloon);
    await until('the full disk is named', () => [...usage.refusals].some((words) => /out of disk space/.test(words)));
    await until('many are refused', () => usage.count(503) > 20);
    assert.deepEqual([await service.status('/health'), await service.status('/ready')], [200, 503]);
    assert.match(service.output, /PostgreSQL is out of disk space. Free some space/);

    await rm(balloon);
    const before = usage.count(200);
    await until('events are answered again', () => usage.count(200) > before + 50);
    assert.equal(await service.status('/ready'), 200);
    await usage.stop();
    assert.deepEqual(
      [...usage.statuses.keys()].filter((status) => status !== 200 && status !== 503),
      [],
    );
    const postgres = await findEmbeddedPostgres(dataDirectory);
    assert(postgres !== null);
    usage.assertStored(await queryAsOwner(postgres.url, storedEvents));
    assert(service.isRunning, 'it is the same process');
    await service.stop();
  } finally {
    await service.remove();
    execFileSync('umount', ['--lazy', disk.path]);
    await rm(disk.path, { recursive: true, force: true });
  }
});
