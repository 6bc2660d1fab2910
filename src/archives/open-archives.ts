import type { Archives } from './actions.ts';
import type { EventSettings } from './partition.ts';
import { directoryStorage } from './storage.ts';

/** The archives of a process with these settings. */
export function openArchives(
  { worker, workerPool }: { readonly worker: Archives['worker']; readonly workerPool: Archives['pool'] },
  { events, archive }: { readonly events: EventSettings; readonly archive: string | null },
): Archives {
  return { settings: events, worker, pool: workerPool, storage: archive === null ? null : directoryStorage(archive) };
}
