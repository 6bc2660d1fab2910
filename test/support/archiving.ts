import process from 'node:process';
import { PassThrough } from 'node:stream';
import { eraseFromArchives, keepPartitions, restoreArchive } from '../../src/archives/actions.ts';
import { type ArchiveStorage, directoryStorage } from '../../src/archives/store-files.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';

// A process that moves events, and stops in the middle of a file until it is killed.

const [url = '', schema = '', directory = '', action = '', at = '0', customer = ''] = process.argv.slice(2);
const stored = directoryStorage(directory);

function stopInTheMiddle(): PassThrough {
  console.log('in the middle');
  return new PassThrough({ transform: () => setInterval(() => undefined, 1_000) });
}

const storage: ArchiveStorage = {
  ...stored,
  write: (name, source) => stored.write(name, action === 'restore' ? source : source.pipe(stopInTheMiddle())),
  read: async (name) => (action === 'restore' ? (await stored.read(name)).pipe(stopInTheMiddle()) : stored.read(name)),
};
const pool = createPool({ schema, url, size: 4, as: 'worker' });
const settings = { deduplicationDays: 2, retentionDays: 4 };
const archives = { settings, worker: createDatabase(pool), pool, storage };
if (action === 'archive') await keepPartitions(archives, Number(at));
else if (action === 'restore') await restoreArchive(archives, Number(at));
else await eraseFromArchives(archives, Number(at), customer);
