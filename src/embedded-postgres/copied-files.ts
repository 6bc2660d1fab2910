import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './data-directory.ts';
import { syncDirectory } from './durable-files.ts';

// Durable file copies: synced to disk before they are reported as done.

const chunkBytes = 2 ** 20;
// Parallel copies keep the disk busy.
const copiedAtOnce = 16;

/** The size of a copied tree. */
export interface Copied {
  readonly files: number;
  readonly bytes: number;
}

export interface CopyOptions {
  /** Whether to copy a path, relative to the tree; a skipped directory is skipped with its contents. */
  readonly takes?: (path: string) => boolean;
  /** Called for every file and directory created. */
  readonly made?: (path: string) => Promise<void>;
}

/**
 * Copies a tree that others may be writing to. A file that disappears meanwhile is skipped; one that grows or shrinks
 * is copied as read. Throws on anything other than a file or directory.
 */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<Copied> {
  const files: string[] = [];
  const directories = [''];
  for (const directory of directories) {
    for (const entry of await readdir(join(from, directory), { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (!(options.takes?.(path) ?? true)) continue;
      if (entry.isDirectory()) directories.push(path);
      else if (entry.isFile()) files.push(path);
      else throw new Error(`${join(from, path)} is neither a file nor a directory and cannot be copied`);
    }
  }
  for (const directory of directories) {
    await mkdir(join(to, directory), { recursive: true, mode: 0o700 });
    await options.made?.(join(to, directory));
  }
  const copied = await copyAll(from, to, files, options);
  for (const directory of directories) await syncDirectory(join(to, directory));
  return copied;
}

async function copyAll(from: string, to: string, files: readonly string[], { made }: CopyOptions): Promise<Copied> {
  const waiting = files.values();
  let [count, bytes] = [0, 0];
  const copy = async () => {
    // The iterator is shared, so each worker takes the next waiting path.
    for (const path of waiting) {
      const taken = await copyFile(join(from, path), join(to, path));
      if (taken === null) continue;
      await made?.(join(to, path));
      count += 1;
      bytes += taken;
    }
  };
  await Promise.all(Array.from({ length: copiedAtOnce }, copy));
  return { files: count, bytes };
}

/** Copies one file and returns its size, or null if it does not exist. Throws if the target exists. */
export async function copyFile(from: string, to: string): Promise<number | null> {
  const source = await open(from, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (source === null) return null;
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      let bytes = 0;
      for (;;) {
        const { bytesRead } = await source.read(chunk, 0, chunk.length, null);
        if (bytesRead === 0) break;
        await target.writeFile(chunk.subarray(0, bytesRead));
        bytes += bytesRead;
      }
      await target.sync();
      return bytes;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
