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

/** Empties the usage events. */
export async function emptyUsageEvents(client: pg.Client): Promise<void> {
  await client.query('truncate usage_events cascade');
}
