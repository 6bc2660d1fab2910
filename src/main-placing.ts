import assert from 'node:assert/strict';
import type pg from 'pg';
import type { Config } from './config.ts';
import {
  alignSequences,
  atNode,
  type Cluster,
  type ClusterNode,
  countSessions,
  defineOnNodes,
  distribute,
  findNode,
  isCoordinator,
  listNodes,
  moveTo,
  onCoordinator,
  openOn,
  withCluster,
} from './database/citus.ts';
import { createDatabase, defaultSchema } from './database/database.ts';
import { knownMigrations, listMissingMigrations, makeQueue } from './database/migrate.ts';
import { type MovedJobs, moveJobs } from './jobs/moved-jobs.ts';
import { type Output, print } from './main-admin.ts';
import { connectWorker, openServer, type SchemaOfServer, schemaOf, withOwner } from './main-database.ts';
import { changeAddress, listCells } from './organizations/store-cells.ts';

interface PlaceOptions extends Output {
  /** The node as the cluster names it: host and port. When absent, Citus chooses one for a new schema, and a placed one stays. */
  readonly node?: string;
}

interface Placed {
  readonly node: ClusterNode;
  readonly jobs: MovedJobs;
}

/**
 * Places the schema of a cell on a node of its Citus cluster, or moves it to another node while it is in use. Each step is safe to
 * repeat, so an interrupted call is made again.
 */
export async function placeCell(config: Config, name: string, { node, ...output }: PlaceOptions): Promise<void> {
  const home = await openServer(config, null, { creates: false });
  try {
    const isHome = name === home.schema;
    const server = isHome ? home : await findSchema(home, name);
    const placed = await withOwner(server, (pool) => place(pool, server, node));
    const address = addressOf(server, placed.node);
    if (!isHome) await withOwner(home, (pool) => changeAddress(createDatabase(pool), { name, address }));
    const { moved, left } = placed.jobs;
    print(output, { name, address, jobs: { moved, left } }, textOf(name, address, { isHome, left }));
  } finally {
    await home.stop();
  }
}

function textOf(
  name: string,
  address: string,
  { isHome, left }: { readonly isHome: boolean; readonly left: number },
): string {
  const { host } = new URL(address);
  return [
    `${name} is on ${host}.`,
    ...(isHome
      ? ['Set DATABASE_URL and TOLLKEEPER_MIGRATE_URL to this host and port, and start the service again.']
      : []),
    ...(left > 0
      ? [`${left} jobs are still run at the former address. Run this command again once the service has left it.`]
      : []),
  ].join('\n');
}

async function findSchema(home: SchemaOfServer, name: string): Promise<SchemaOfServer> {
  const { worker, workerPool } = await connectWorker(home, { access: 'read' });
  try {
    const cell = (await listCells(worker)).find((known) => known.name === name);
    if (cell === undefined) throw new Error(`There is no cell ${name}. List them with: tollkeeper cells list`);
    return schemaOf(home, cell);
  } finally {
    await workerPool.end();
  }
}

async function place(pool: pg.Pool, server: SchemaOfServer, wanted: string | undefined): Promise<Placed> {
  if (server.schema === defaultSchema)
    throw new Error(
      `Citus does not distribute the schema ${defaultSchema}. Begin the installation with another DATABASE_SCHEMA.`,
    );
  const nodes = await listNodes(pool);
  if (nodes.length === 0)
    throw new Error(
      'This database does not have the extension citus. Only a Citus cluster has nodes to place a schema on: see docs/scaling.md.',
    );
  const target = wanted === undefined ? null : nodeOf(nodes, wanted);
  return withCluster(pool, nodes, (cluster) => placeFrom(cluster, { schema: server.schema, target }));
}

function nodeOf(nodes: readonly ClusterNode[], wanted: string): ClusterNode {
  const node = nodes.find(({ host, port }) => wanted === `${host}:${port}`);
  if (node !== undefined && !isCoordinator(node)) return node;
  throw new Error(
    `--node: ${wanted} is no node of the cluster. Its nodes are: ${nodes
      .filter((known) => !isCoordinator(known))
      .map(({ host, port }) => `${host}:${port}`)
      .join(', ')}`,
  );
}

interface Placing {
  readonly schema: string;
  readonly target: ClusterNode | null;
}

async function placeFrom(cluster: Cluster, placing: Placing): Promise<Placed> {
  const { schema } = placing;
  return onCoordinator(cluster, schema, async (client) => {
    const node = await bringTo(client, cluster, placing);
    await alignSequences(client, schema);
    await openOn(client, schema, node, (await knownMigrations()).at(-1) ?? '');
    return { node, jobs: await bringJobs(cluster, node) };
  });
}

/** Brings the tables to a node, with all that they need there. Returns the node. */
async function bringTo(
  client: pg.PoolClient,
  { nodes, coordinator, poolOf }: Cluster,
  { schema, target }: Placing,
): Promise<ClusterNode> {
  const before = await findNode(coordinator);
  if (before === null) await refuseService(client);
  const missing = await listMissingMigrations(coordinator);
  if (missing === null || missing.length > 0)
    throw new Error(`The schema ${schema} is not up to date. Run: tollkeeper migrate`);
  if (before === null) await distribute(client, schema);
  for (const node of nodes) if (!isCoordinator(node)) await makeQueue(poolOf(node), schema);
  await defineOnNodes(client, schema);
  const node = await findNode(coordinator);
  assert(node, 'a distributed schema has its tables on a node');
  if (target === null || target.group === node.group) return node;
  await moveTo(client, schema, target);
  return target;
}

async function refuseService(client: pg.PoolClient): Promise<void> {
  const sessions = await countSessions(client);
  if (sessions > 0)
    throw new Error(
      `A service has ${sessions} connections to this cluster. Stop it first: the tables are copied while nobody uses them.`,
    );
}

/** Moves the jobs of all other nodes. */
async function bringJobs({ nodes, poolOf }: Cluster, node: ClusterNode): Promise<MovedJobs> {
  const sum = { moved: 0, left: 0 };
  for (const former of nodes.filter(({ group }) => group !== node.group)) {
    const { moved, left } = await moveJobs(poolOf(former), poolOf(node));
    sum.moved += moved;
    sum.left += left;
  }
  return sum;
}

/** The address of a node without a login. */
function addressOf({ url }: SchemaOfServer, node: ClusterNode): string {
  const address = atNode(url, node);
  address.username = '';
  address.password = '';
  return address.href;
}
