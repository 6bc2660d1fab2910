import { type Archives, listAllArchives, openArchives, releaseArchive, restoreArchive } from './archives/actions.ts';
import type { Config } from './config.ts';
import { type Output, print } from './main-admin.ts';
import { archivesOfCell, connectCell, withWorker } from './main-database.ts';

/** Acts on the archives of the home cell, or of another one. */
function on<Answer>(
  config: Config,
  { action, cell }: { readonly action: string; readonly cell: string | undefined },
  act: (archives: Archives) => Promise<Answer>,
): Promise<Answer> {
  const auditContext = { actor: 'operator', action: `archives ${action}` } as const;
  return withWorker(
    config,
    async (access, server) => {
      if (cell === undefined || cell === server.schema) return act(await openArchives(access, config));
      const there = await connectCell(access.worker, server, cell, { auditContext });
      try {
        return await act(await openArchives(there, archivesOfCell(config, cell)));
      } finally {
        await there.workerPool.end();
      }
    },
    { access: action === 'list' ? 'read' : 'change', auditContext },
  );
}

function dateOf(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString().slice(0, 10);
}

interface ArchiveOptions extends Output {
  readonly cell?: string;
}

/** Prints the archives with their files and sums. */
export async function showArchives(config: Config, { cell, ...output }: ArchiveOptions): Promise<void> {
  const archives = await on(config, { action: 'list', cell }, listAllArchives);
  const lines = archives.map(
    ({ number, state, openedAt, closedAt, events, bytes, file, sha256 }) =>
      `${number}  ${state}  arrived ${dateOf(openedAt)} to ${dateOf(closedAt)}  ${events} events  ${bytes} bytes  ${file}  ${sha256}`,
  );
  print(output, { archives }, lines.length === 0 ? 'There are no archives.' : lines.join('\n'));
}

export async function restore(config: Config, given: string, { cell, ...output }: ArchiveOptions): Promise<void> {
  const number = numberOf(given);
  const isNew = await on(config, { action: 'restore', cell }, (archives) => restoreArchive(archives, number));
  const text = isNew
    ? `The events of archive ${number} are back.`
    : `The events of archive ${number} are there already.`;
  print(output, { number, restored: true }, `${text} Drop them again with: tollkeeper archives release ${number}`);
}

export async function release(config: Config, given: string, { cell, ...output }: ArchiveOptions): Promise<void> {
  const number = numberOf(given);
  const isNew = await on(config, { action: 'release', cell }, (archives) => releaseArchive(archives, number));
  const text = isNew ? `The events of archive ${number} are dropped.` : `Archive ${number} is not restored.`;
  print(output, { number, restored: false }, text);
}

function numberOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new Error(`${text} is not the number of an archive, such as 3.`);
  return Number(text);
}
