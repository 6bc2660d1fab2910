import { open } from 'node:fs/promises';
import process from 'node:process';

/**
 * Writes a file that is on the disk when this ends: a new one (`wx`, throws when there is one already), in place of what
 * it holds (`w`), or behind it (`a`). Only its owner may read it.
 */
export async function writeDurably(path: string, content: string, flag: 'wx' | 'w' | 'a'): Promise<void> {
  const file = await open(path, flag, 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the names in a directory outlive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows opens no directories, and needs no such thing.
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
