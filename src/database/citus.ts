import assert from 'node:assert/strict';
import pg from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { createPoolAt, serviceRole, workerRole } from './database.ts';

// Citus keeps a schema whole on one node of its cluster. The service connects to that node: the coordinator knows neither the
// environment of a transaction nor the jobs of its commit. So a node refuses to work for another one.

/** A node of a Citus cluster. */
export interface ClusterNode {
  /** Zero for the coordinator. */
  readonly group: number;
  readonly host: string;
  readonly port: number;
}

const coordinatorGroup = 0;

/** The nodes of the cluster of a server, the coordinator first. None: the database is not one of Citus. */
export async function listNodes(pool: pg.Pool): Promise<readonly ClusterNode[]> {
  const { rows: found } = await pool.query<{ there: boolean }>(
    `select to_regclass('pg_catalog.pg_dist_node') is not null as there`,
  );
  if (!found[0]?.there) return [];
  const { rows } = await pool.query<ClusterNode>(
    `select groupid as "group", nodename as host, nodeport as port from pg_dist_node
      where isactive and noderole = 'primary' order by groupid`,
  );
  return rows;
}

export function isCoordinator({ group }: ClusterNode): boolean {
  return group === coordinatorGroup;
}

/** The node that has a schema; null for a schema that has not been distributed. */
export async function findNode(pool: pg.Pool): Promise<ClusterNode | null> {
  const { rows } = await pool.query<ClusterNode>(
    `select n.groupid as "group", n.nodename as host, n.nodeport as port
       from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid join pg_dist_node n on n.groupid = p.groupid
      where s.logicalrelid = to_regclass('one_row') and n.noderole = 'primary'`,
  );
  return rows[0] ?? null;
}

/** Whether a schema is placed. Refuses a server that is another node of its cluster. */
export async function isPlacedHere(pool: pg.Pool, schema: string): Promise<boolean> {
  if ((await listNodes(pool)).length === 0) return false;
  const node = await findNode(pool);
  if (node === null) return false;
  const { rows } = await pool.query<{ group: number }>('select groupid as "group" from pg_dist_local_group');
  if (rows[0]?.group === node.group) return true;
  throw new Error(`The schema ${schema} is on the node ${node.host}:${node.port} of Citus. Set DATABASE_URL to it.`);
}

/** A cluster while somebody changes it. */
export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly coordinator: pg.Pool;
  readonly poolOf: (node: ClusterNode) => pg.Pool;
}

/** Acts with connections to all nodes, which are as those of a pool. */
export async function withCluster<Answer>(
  pool: pg.Pool,
  nodes: readonly ClusterNode[],
  act: (cluster: Cluster) => Promise<Answer>,
): Promise<Answer> {
  const coordinator = nodes.find(isCoordinator);
  if (coordinator === undefined)
    throw new Error(
      "The cluster does not know its coordinator. Run there: select citus_set_coordinator_host('<host>', <port>)",
    );
  const pools = new Map(nodes.map((node) => [node.group, connectNode(pool, node)]));
  const poolOf = ({ group }: ClusterNode) => {
    const found = pools.get(group);
    assert(found, 'each node has a pool');
    return found;
  };
  try {
    return await act({ nodes, coordinator: poolOf(coordinator), poolOf });
  } finally {
    for (const opened of pools.values()) await opened.end();
  }
}

/** Acts with connections that may change tables. While the schema is on a node of Citus, only the coordinator may. */
export async function whereTablesChange<Answer>(
  pool: pg.Pool,
  act: (pool: pg.Pool) => Promise<Answer>,
): Promise<Answer> {
  const nodes = await listNodes(pool);
  if (nodes.length === 0 || (await findNode(pool)) === null) return act(pool);
  return withCluster(pool, nodes, ({ coordinator }) => act(coordinator));
}

function connectNode(pool: pg.Pool, node: ClusterNode): pg.Pool {
  return createPoolAt(
    pool,
    (url) => atNode(url, node).href,
    isCoordinator(node)
      ? { 'citus.enable_unsafe_triggers': 'on', 'citus.propagate_set_commands': 'local' }
      : // The queue of a node is its own, and Citus would make it on all of them.
        { 'citus.enable_ddl_propagation': 'off' },
  );
}

/** An address with the host and port of a node, whose database has the name and the logins that the coordinator's has. */
export function atNode(url: string, { host, port }: ClusterNode): URL {
  const address = new URL(url);
  address.searchParams.delete('host');
  address.hostname = host.includes(':') ? `[${host}]` : host;
  address.port = String(port);
  return address;
}

/** Acts on the coordinator while nobody else places or migrates the schema. */
export async function onCoordinator<Answer>(
  { coordinator }: Cluster,
  schema: string,
  act: (client: pg.PoolClient) => Promise<Answer>,
): Promise<Answer> {
  // Connections have the settings of a database from their start.
  await prepareNodes(coordinator);
  const client = await coordinator.connect();
  try {
    await client.query('select pg_advisory_lock($1, hashtext($2))', [advisoryLocks.placing, schema]);
    return await act(client);
  } finally {
    client.release(true);
  }
}

/** Distributes a migrated schema, unless it is. The client is the owner's, on the coordinator. Safe to repeat after any interruption. */
export async function distribute(client: pg.PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query('select from pg_dist_schema where schemaid = $1::regnamespace', [`"${schema}"`]);
  if (rows.length > 0) return;
  await client.query('begin');
  await client.query(takeAwayWhatCitusRefuses);
  await client.query('commit');
  await withoutTriggers(client, () =>
    client.query('select citus_schema_distribute($1::regnamespace)', [`"${schema}"`]),
  );
}

/** Copies rows with all triggers off, also on the nodes: the triggers ran when the rows were written. */
async function withoutTriggers(client: pg.PoolClient, copy: () => Promise<unknown>): Promise<void> {
  await client.query('begin');
  await client.query('set local session_replication_role = replica');
  await copy();
  await client.query('commit');
}

// Each statement finds nothing to do where the schema has the form already.
export const takeAwayWhatCitusRefuses = String.raw`do $$
declare
  found record;
begin
  -- Another node that works for the service knows neither the environment of its transaction nor the actor.
  create or replace function is_here() returns boolean language plpgsql stable as $here$
    begin
      if current_setting('application_name') like 'citus_internal%' then
        raise cannot_connect_now using message = 'the schema is on another node';
      end if;
      return true;
    end $here$;
  -- A policy with a subquery, which elsewhere spares a call for each row. The function is called once for each scan.
  for found in
    select polname as name, polrelid::regclass as of_table, pg_get_expr(polqual, polrelid) as condition
      from pg_policy join pg_class c on c.oid = polrelid
     where c.relnamespace = current_schema()::regnamespace and pg_get_expr(polqual, polrelid) !~ 'is_here'
  loop
    execute format('alter policy %I on %s using (is_here() and (%s))', found.name, found.of_table,
      regexp_replace(found.condition, '\( SELECT ([a-z_]+\(\)) AS [a-z_]+\)', '\1', 'g'));
  end loop;
  -- Migrations make policies by secure_tenant_tables, so it makes them in a form that Citus takes.
  for found in
    select pg_get_functiondef(p.oid) as definition
      from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proname = 'secure_tenant_tables'
  loop
    execute regexp_replace(regexp_replace(found.definition, '\(select ([a-z_]+\(\))\) is null', '\1 is not distinct from null', 'g'),
      '\(select ([a-z_]+\(\))\)', '\1', 'g');
  end loop;
  -- Citus places a new table that a statement makes, and not one that a function makes.
  for found in
    select pg_get_functiondef(p.oid) as definition
      from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proname = 'make_usage_partition'
       and p.prosrc !~ 'create_distributed_table'
  loop
    execute replace(found.definition, E'\n  execute format(''grant', E'
  perform create_distributed_table(format(''usage_events_%s'', n)::regclass, null, colocate_with => ''one_row'');
  execute format(''grant');
  end loop;
  -- A function with a parsed body is not carried out on a node.
  for found in
    select pg_get_functiondef(p.oid) as definition
      from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosqlbody is not null
  loop
    execute regexp_replace(regexp_replace(found.definition, '\nBEGIN ATOMIC\n(.*)END\s*$', E'\nAS $body$\n\\1$body$'),
      '\nRETURN (.*)$', E'\nAS $body$ SELECT \\1 $body$');
  end loop;
  -- Citus carries out no SQL function whose statement on tables has parameters.
  for found in
    select split_part(pg_get_functiondef(p.oid), E'\nAS $', 1) as head, rtrim(p.prosrc, E' ;\n') as body,
           p.proretset as returns_rows, p.prorettype::regtype as type
      from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace = current_schema()::regnamespace and l.lanname = 'sql' and p.pronargs > 0 and p.provolatile <> 'i'
  loop
    execute format(E'%s\nAS $body$ #variable_conflict use_column\n%s $body$', replace(found.head, ' LANGUAGE sql', ' LANGUAGE plpgsql'),
      case when found.returns_rows then format('begin return query %s; end', found.body)
           when found.type <> 'void'::regtype
           then format('declare answer %s; begin for answer in %s loop return answer; end loop; return null; end', found.type, found.body)
           else format('begin %s; end', regexp_replace(found.body, '^\s*select\y', 'perform', 'i')) end);
  end loop;
  -- A plan of Citus is made for the values of a statement.
  for found in
    select oid::regprocedure as name from pg_proc
     where pronamespace = current_schema()::regnamespace and array_to_string(proconfig, ' ') like '%plan_cache_mode%'
  loop
    execute format('alter function %s reset plan_cache_mode', found.name);
  end loop;
  -- Numbers come from a sequence of the node, by a trigger: for a default, Citus would collect the rows first.
  create or replace function draw_numbers(of_table text, of_column text, last bigint default null) returns void language plpgsql
    set search_path from current as $draw$
    declare
      sequence text := of_table || '_' || of_column || '_numbers';
    begin
      execute format('create sequence %I', sequence);
      perform setval(sequence::regclass, last) where last is not null;
      execute format('grant usage, select on sequence %I to tollkeeper_service', sequence);
      execute format('create function number_%s() returns trigger language plpgsql set search_path from current as $number$
        begin
          new.%I := nextval(%L);
          return new;
        end $number$', of_table, of_column, sequence);
      execute format('create trigger a_number before insert on %I for each row when (new.%I is null) execute function number_%s()',
        of_table, of_column, of_table);
    end $draw$;
  for found in
    select c.relname as of_table, a.attname as name,
           pg_sequence_last_value(pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass) as last
      from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = current_schema()::regnamespace and a.attidentity <> ''
  loop
    execute format('alter table %I alter %I drop identity', found.of_table, found.name);
    perform draw_numbers(found.of_table, found.name, found.last);
  end loop;
end $$`;

/** Makes the roles of the service on all nodes, which connect to each other with them, and gives their databases the settings for a distributed schema. */
async function prepareNodes(pool: pg.Pool): Promise<void> {
  const commands = [serviceRole, workerRole].map(
    (role) =>
      `do $$ begin create role ${role} login; exception when duplicate_object or unique_violation then alter role ${role} login; end $$`,
  );
  const settings = [
    // Functions change tables whose triggers run further functions.
    'citus.allow_nested_distributed_execution = on',
    // Citus brings functions before the tables that they name.
    'check_function_bodies = off',
  ].map((setting) => `do $$ begin execute format('alter database %I set ${setting}', current_database()); end $$`);
  await onAllNodes(pool, [...commands, `grant ${serviceRole} to ${workerRole}`, ...settings]);
}

// All sequences, types and functions of a schema. Citus brings tables, and only some of what they need.
export const definitions = `
  select 10 as step, format('create sequence if not exists %I', s.sequencename) as command
    from pg_sequences s where s.schemaname = current_schema()
  union all
  select 12, format('grant usage, select on all sequences in schema %I to tollkeeper_service', current_schema())
  union all
  select 15, format('do $type$ begin create type %s as (%s); exception when duplicate_object then null; end $type$', c.oid::regclass,
           (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
              from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'c'
  union all
  select 20, case when p.prosrc ~ $$set_config\\('tollkeeper.environment_id'$$ and p.prosrc !~ 'refuse_elsewhere' and l.lanname = 'plpgsql'
                  then regexp_replace(pg_get_functiondef(p.oid), '\\nbegin\\n', E'\\nbegin\\n  perform refuse_elsewhere();\\n')
                  else pg_get_functiondef(p.oid) end
    from pg_proc p join pg_language l on l.oid = p.prolang
   where p.pronamespace = current_schema()::regnamespace and p.proname <> 'refuse_elsewhere'
  union all
  select 21, format('revoke all on function %s from public', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proacl is not null
     and not exists (select from aclexplode(p.proacl) a where a.grantee = 0)
  union all
  select 22, format('grant execute on function %s to %I', p.oid::regprocedure, a.grantee::regrole)
    from pg_proc p cross join aclexplode(p.proacl) a
   where p.pronamespace = current_schema()::regnamespace and a.grantee not in (0, p.proowner)
   order by 1`;

/** Brings sequences, types and functions to all nodes. Nobody enters an environment there until `openOn`. */
export async function defineOnNodes(client: pg.PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ command: string }>(definitions);
  await onAllNodes(client, [
    `set search_path = "${schema}"`,
    'set check_function_bodies = off',
    ...rows.map(({ command }) => command),
  ]);
}

/** Lets one node enter environments, as long as it has the schema: it has the functions of all migrations up to the last one. */
export async function openOn(
  client: pg.PoolClient,
  schema: string,
  node: ClusterNode,
  lastMigration: string,
): Promise<void> {
  await onAllNodes(client, [
    `set search_path = "${schema}"`,
    `create or replace function refuse_elsewhere() returns void language plpgsql stable as $refuse$
     begin
       if not exists (
         select from pg_dist_shard s
           join pg_dist_placement p on p.shardid = s.shardid
           join pg_dist_local_group l on l.groupid = p.groupid
          where s.logicalrelid = to_regclass('one_row') and l.groupid = ${node.group})
       then
         raise cannot_connect_now using message = 'the schema is on another node';
       end if;
     end $refuse$`,
    `comment on function refuse_elsewhere() is '${lastMigration}'`,
  ]);
}

/** The last migration of which the nodes of a placed schema have the functions; null where the schema is not placed, or not yet. */
export async function findLastDefined(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query<{ last: string | null }>(
    `select obj_description(to_regprocedure('refuse_elsewhere()'), 'pg_proc') as last`,
  );
  return rows[0]?.last ?? null;
}

/** Moves a schema to another node while it is in use. */
export async function moveTo(client: pg.PoolClient, schema: string, { host, port }: ClusterNode): Promise<void> {
  await client.query(`select citus_schema_move($1::regnamespace, $2, $3, shard_transfer_mode := 'force_logical')`, [
    `"${schema}"`,
    host,
    port,
  ]);
}

/** Lets the sequences of all nodes continue after the highest number of any, so that the order of numbers survives a move. */
export async function alignSequences(client: pg.PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ result: string }>('select result from run_command_on_all_nodes($1)', [
    `select coalesce(jsonb_object_agg(sequencename, last_value::text), '{}') from pg_sequences
      where schemaname = '${schema}' and last_value is not null`,
  ]);
  const highest = new Map<string, bigint>();
  for (const { result } of rows)
    for (const [name, last] of Object.entries(JSON.parse(result) as Record<string, string>)) {
      const known = highest.get(name) ?? 0n;
      if (BigInt(last) > known) highest.set(name, BigInt(last));
    }
  await onAllNodes(client, [
    `set search_path = "${schema}"`,
    ...[...highest].map(
      ([name, last]) => `select setval('"${name}"', ${last}) from "${name}" where last_value < ${last}`,
    ),
  ]);
}

/** Connections of running services to the databases of all nodes. */
export async function countSessions(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ result: string }>('select result from run_command_on_all_nodes($1)', [
    `select count(*) from pg_stat_activity
      where datname = current_database() and application_name in ('tollkeeper-service', 'tollkeeper-queue')`,
  ]);
  return rows.reduce((sum, { result }) => sum + Number(result), 0);
}

async function onAllNodes(client: pg.Pool | pg.PoolClient, commands: readonly string[]): Promise<void> {
  // One statement: of several, Citus waits for the first alone, and then closes the connection.
  const steps = ['set citus.enable_ddl_propagation = off', ...commands].map(
    (step) => `execute ${pg.escapeLiteral(step)};`,
  );
  const command = `do ${pg.escapeLiteral(`begin\n${steps.join('\n')}\nend`)}`;
  const { rows } = await client.query<{ result: string }>(
    'select result from run_command_on_all_nodes($1) where not success',
    [command],
  );
  if (rows[0] !== undefined) throw new Error(rows[0].result);
}
