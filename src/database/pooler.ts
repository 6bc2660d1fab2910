import type pg from 'pg';
import { type Patience, serviceRole, sessionSettings, workerRole } from './database.ts';

interface Session {
  readonly login: string;
  readonly role: string;
  /** Whether the login can be more than the service: what row-level security does not bind, or binds to no environment. */
  readonly mayMore: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Refuses a pooler whose sessions are not those of the service. A transaction may run in any session, so the role and the
 * settings are those of the login, and the login can be nothing else. Throws an error with the statements that make it so.
 */
export async function refuseUnboundPooler(pool: pg.Pool, schema: string, patience: Patience): Promise<void> {
  const wanted = sessionSettings(schema, patience);
  const { rows } = await pool.query<Session>(
    `select session_user as login, current_user as role,
            pg_has_role(session_user, $1, 'member') or exists (
              select from pg_class where relnamespace = current_schema()::regnamespace and pg_has_role(session_user, relowner, 'member')
            ) as "mayMore",
            (select jsonb_object_agg(name, setting) from pg_settings where name = any($2)) as settings`,
    [workerRole, Object.keys(wanted)],
  );
  const [session] = rows;
  if (session === undefined) throw new Error('DATABASE_POOLER_URL: the pooler gives no answer.');
  const { login, role, mayMore, settings } = session;
  if (mayMore) {
    throw new Error(
      `DATABASE_POOLER_URL: ${login} can see the rows of all organizations, so it may not serve requests. Use a login of its own:\n` +
        statementsFor('tollkeeper_requests', wanted, [
          "create role tollkeeper_requests login noinherit password '<password>'",
        ]),
    );
  }
  const isBound = role === serviceRole && Object.entries(wanted).every(([name, value]) => settings[name] === value);
  if (!isBound) {
    throw new Error(
      `DATABASE_POOLER_URL: the sessions of ${login} have other settings than the service needs. As a superuser, run the following, ` +
        `and let the pooler connect anew (RECONNECT):\n${statementsFor(login, wanted, [])}`,
    );
  }
}

function statementsFor(login: string, wanted: Readonly<Record<string, string>>, first: readonly string[]): string {
  const settings = Object.entries({ role: serviceRole, ...wanted });
  return [
    ...first,
    `grant ${serviceRole} to ${login}`,
    ...settings.map(([name, value]) => `alter role ${login} set ${name} = '${value}'`),
  ]
    .map((statement) => `  ${statement};`)
    .join('\n');
}
