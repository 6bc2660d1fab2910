/** The files of this project, as the rules see them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is not ours: installed, recorded or made by running the service. */
const notOurs = new Set(['node_modules', '.git', '.tollkeeper', 'coverage', 'dist']);

/** Reads every file under root: path from root -> text. A file that is not text is read as if it were. */
export function readTree(root: string): Map<string, string> {
  const files = new Map<string, string>();
  const readFolder = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (notOurs.has(entry.name) || entry.name.endsWith('.log')) continue;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) readFolder(path);
      else if (entry.isFile()) files.set(path, readFileSync(join(root, path), 'utf8'));
    }
  };
  readFolder('');
  return files;
}
