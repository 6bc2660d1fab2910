import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accessPath } from '../../src/embedded-postgres/access.ts';
import { postgresAccount } from '../../src/embedded-postgres/account.ts';
import { backupParts, copyFile, copyTree, takeBackup } from '../../src/embedded-postgres/backup.ts';
import { give, placeCluster } from '../../src/embedded-postgres/cluster.ts';
import { makeDataDirectory } from '../../src/embedded-postgres/data-directory.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';

/** A server that is as fast as a test may be. */
export const settingsOfPair = { fsync: 'off', shared_buffers: '64MB', max_connections: '60' };

/** Starts a hot standby of an embedded server, which streams from it. `url` is that of the superuser. */
export async function startStandby(dataDirectory: string, url: string, place: string): Promise<EmbeddedPostgres> {
  const backup = join(place, 'backup');
  await takeBackup(dataDirectory, url, backup);
  const copy = await makeDataDirectory(join(place, 'standby'));
  const account = await postgresAccount(null, () => undefined);
  const sharedDirectory = '/var/lib/tollkeeper';
  await placeCluster({ dataDirectory: copy, account, sharedDirectory, sync: false }, async (cluster) => {
    await copyTree(join(backup, backupParts.cluster), cluster, { made: (path) => give(path, account) });
    const signal = join(cluster, 'standby.signal');
    await writeFile(signal, '');
    await give(signal, account);
  });
  await copyFile(join(backup, backupParts.access), accessPath(copy));
  const { hostname, port, username, password } = new URL(url);
  const settings = {
    ...settingsOfPair,
    primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password}`,
  };
  return startEmbeddedPostgres({ dataDirectory: copy, settings, log: () => undefined });
}
