import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const ApiKeyText = z
  .string()
  .regex(/^[\x21-\x7e][\x20-\x7e]{6,198}[\x21-\x7e]$/, 'must be 8 to 200 printable characters');

const Variables = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address')
    .optional(),
  TOLLKEEPER_DATA_DIR: z
    .string()
    .min(1)
    .default(fileURLToPath(new URL('../.tollkeeper', import.meta.url))),
  TOLLKEEPER_TEST_KEY: ApiKeyText.optional(),
  TOLLKEEPER_LIVE_KEY: ApiKeyText.optional(),
  TOLLKEEPER_PUBLIC_URL: z.url().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('warn'),
});

const Environment = Variables.refine(
  (variables) =>
    variables.TOLLKEEPER_TEST_KEY === undefined || variables.TOLLKEEPER_TEST_KEY !== variables.TOLLKEEPER_LIVE_KEY,
  { path: ['TOLLKEEPER_LIVE_KEY'], message: 'must differ from TOLLKEEPER_TEST_KEY: a key belongs to one mode' },
);

/** What the environment variables say, read once at the start. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** The server to use, or null for the embedded one. */
  readonly databaseUrl: string | null;
  readonly dataDirectory: string;
  readonly testKey: string | null;
  readonly liveKey: string | null;
  /** The address under which customers reach the service, where it differs from host and port. */
  readonly publicUrl: string | null;
  readonly logLevel: string;
}

/** A setting that cannot be used; the message names the variable and says what would be right. */
export class InvalidConfig extends Error {}

/** Reads the configuration. An empty variable counts as absent. Throws InvalidConfig. */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = Environment.safeParse(given);
  if (!result.success) {
    throw new InvalidConfig(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
  }
  const { data } = result;
  return {
    port: data.PORT,
    host: data.HOST,
    databaseUrl: data.DATABASE_URL ?? null,
    dataDirectory: data.TOLLKEEPER_DATA_DIR,
    testKey: data.TOLLKEEPER_TEST_KEY ?? null,
    liveKey: data.TOLLKEEPER_LIVE_KEY ?? null,
    publicUrl: data.TOLLKEEPER_PUBLIC_URL ?? null,
    logLevel: data.LOG_LEVEL,
  };
}
