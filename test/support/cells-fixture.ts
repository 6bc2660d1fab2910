import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { createOrganization } from '../../src/main-admin.ts';
import { OwnPostgres } from './pressed.ts';
import { printed } from './printed.ts';

/** A server for a home cell in the schema `home`, whose login owns nothing, with a second database for other cells. */
export interface CellsServer {
  readonly postgres: OwnPostgres;
  /** The owner, in the database of the home cell. */
  readonly admin: pg.Client;
  /** The owner, in the other database. */
  readonly elsewhere: pg.Client;
  /** The address of a cell in the other database. */
  readonly addressElsewhere: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

export async function startCellsServer(
  key: string,
  ...binaries: Parameters<typeof OwnPostgres.start>
): Promise<CellsServer> {
  const postgres = await OwnPostgres.start(...binaries);
  const connect = async (address: string) => {
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    return client;
  };
  const admin = await connect(postgres.url);
  await admin.query('create database elsewhere');
  const elsewhere = await connect(Object.assign(new URL(postgres.url), { pathname: '/elsewhere' }).href);
  const settings = {
    DATABASE_URL: Object.assign(new URL(postgres.url), { username: 'requests', password: 'p' }).href,
    TOLLKEEPER_MIGRATE_URL: postgres.url,
    DATABASE_SCHEMA: 'home',
    TOLLKEEPER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'error',
    TOLLKEEPER_TEST_KEY: key,
  };
  await printed(() => createOrganization(readConfig(settings), { name: 'Acme', json: true }));
  return {
    postgres,
    admin,
    elsewhere,
    addressElsewhere: `postgres://127.0.0.1:${new URL(postgres.url).port}/elsewhere`,
    settings,
    async stop() {
      await admin.end();
      await elsewhere.end();
      await postgres.remove();
    },
  };
}
