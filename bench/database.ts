import pg from 'pg';

/** Runs `act` with a connection of the database's owner. */
export async function connected<Answer>(url: string, act: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

/** The first number of the first row; bigint and numeric arrive as text. */
export async function readNumber(client: pg.Client, query: string): Promise<number> {
  const { rows } = await client.query<string[]>({ text: query, rowMode: 'array' });
  return Number(rows[0]?.[0]);
}

/** Empties the usage events. The accounts refer to the events of measured meters, and would be emptied with them. */
export async function emptyUsageEvents(client: pg.Client): Promise<void> {
  await client.query(
    'alter table ledger_accounts drop constraint if exists ledger_accounts_environment_id_value_event_id_fkey',
  );
  await client.query('truncate usage_events cascade');
}
