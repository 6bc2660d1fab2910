import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createDatabase, createPool, type Database, defaultSchema } from '../src/database/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/embedded-postgres/start.ts';
import { killAndWait, postmasterOf } from '../test/support/kill.ts';

// Small, because several run on one machine. Durability settings keep PostgreSQL's defaults.
const settings = { shared_buffers: '64MB', max_connections: '200' };
// Every comparison sends the same statements, and to plan one takes longer than to run it.
const ownerSettings = { plan_cache_mode: 'force_generic_plan' };
const applicationName = 'tollkeeper-service';

/** An embedded PostgreSQL with the durability of a user's, whose processes may be killed. */
export class DatabaseServer {
  readonly #dataDirectory: string;
  #server: EmbeddedPostgres | null = null;
  #owner: { readonly database: Database; end(): Promise<void> } | null = null;

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory;
  }

  /** Starts it, also after a kill. */
  async start(): Promise<void> {
    const options = { dataDirectory: this.#dataDirectory, log: () => undefined, settings };
    await this.#endOwner();
    this.#server = await startEmbeddedPostgres(options);
  }

  get url(): string {
    if (this.#server === null) throw new Error('PostgreSQL was not started');
    return this.#server.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The owner's connection, without a proxy. */
  get owner(): Database {
    if (this.#owner === null) {
      const pool = createPool({ schema: defaultSchema, url: this.url, size: 2, as: 'owner', settings: ownerSettings });
      // A killed connection fails its queries.
      pool.on('error', () => undefined);
      this.#owner = { database: createDatabase(pool), end: () => pool.end() };
    }
    return this.#owner.database;
  }

  async #endOwner(): Promise<void> {
    const owner = this.#owner;
    this.#owner = null;
    await owner?.end().catch(() => undefined);
  }

  /** kill -9 of one backend of the service. PostgreSQL then ends all others and recovers by itself. */
  async killBackend(): Promise<boolean> {
    await this.#endOwner();
    const witness = new Client({ connectionString: this.url });
    const ended = Promise.withResolvers<void>();
    witness.once('end', ended.resolve);
    witness.on('error', () => undefined);
    await witness.connect();
    const { rows } = await witness.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = $1 order by state = 'active' desc, pid limit 1`,
      [applicationName],
    );
    const [row] = rows;
    if (row === undefined) {
      await witness.end();
      return false;
    }
    await killAndWait([row.pid]);
    await ended.promise;
    return true;
  }

  /** kill -9 of the server: the postmaster first, so that it restarts nothing, then all of its children. */
  async kill(): Promise<void> {
    const postmaster = await postmasterOf(this.#dataDirectory);
    if (postmaster === null) return;
    const { rows } = await withClient(this.url, (client) =>
      client.query<{ pid: number }>('select pid from pg_stat_activity'),
    );
    await this.#endOwner();
    await killAndWait([postmaster, ...rows.map(({ pid }) => pid)]);
  }

  /** Resolves when it accepts connections. */
  async untilReady(): Promise<void> {
    for (const end = Date.now() + 60_000; ; await sleep(20)) {
      try {
        await withClient(this.url, (client) => client.query('select 1'));
        return;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    await this.#endOwner();
    await this.#server?.stop().catch(() => undefined);
    const postmaster = await postmasterOf(this.#dataDirectory);
    if (postmaster !== null) await killAndWait([postmaster]);
  }
}

async function withClient<Answer>(url: string, act: (client: Client) => Promise<Answer>): Promise<Answer> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await act(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
