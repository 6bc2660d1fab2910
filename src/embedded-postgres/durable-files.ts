import { open } from 'node:fs/promises';
import process from 'node:process';

/**
 * Writes a file and syncs it to disk: a new file (`wx`, throws if it exists), a replacement (`w`) or an append (`a`).
 * Only its owner can read it.
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

/** Syncs a directory, so that its entries survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open directories and needs no sync.
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
