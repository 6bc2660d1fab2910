import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type EventSettings, isArchiveAddress } from './archives/archive.ts';
import { defaultSchema } from './database/database.ts';
import { connectionLimits } from './http/connections.ts';
import { shortestOperatorToken } from './http/operator.ts';
import { nearestOf } from './http/unknown-fields.ts';
import { type Network, parseNetworks } from './jobs/address-guard.ts';
import { parseEncryptionKeys } from './jobs/encryption.ts';
import { type AttemptLimits, attemptLimits } from './payments/attempt.ts';

const ApiKeyText = z
  .string()
  .regex(/^[\x21-\x7e][\x20-\x7e]{6,198}[\x21-\x7e]$/, 'must be 8 to 200 printable characters');

// Secret and restricted keys contain their mode; a publishable key cannot move money.
const StripeKey = z
  .string()
  .regex(
    /^(sk|rk)_(test|live)_[A-Za-z0-9]+$/,
    'must be a Stripe secret key: sk_live_..., sk_test_..., rk_live_... or rk_test_...',
  );
const StripePublishableKey = z
  .string()
  .regex(/^pk_(test|live)_[A-Za-z0-9]+$/, 'must be a Stripe publishable key: pk_live_... or pk_test_...');
const StripeWebhookSecret = z
  .string()
  .regex(/^whsec_\S+$/, 'must be the signing secret of a webhook endpoint: whsec_...');

const HttpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });

// Links are made of it by appending a path. Without a scheme, `localhost:3000` would be an address of the scheme
// `localhost`.
const PublicUrl = HttpUrl.regex(
  /^[^?#]*$/,
  'must have no query and no fragment, because links begin with it',
).transform((address) => address.replace(/\/+$/, ''));

const PostgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address');

// The queue's schema has a longer name, and PostgreSQL cuts names off at 63 characters.
export const SchemaName = z
  .string()
  .regex(
    /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,39}$/,
    'must be 1 to 40 lower-case letters, digits and underscores, and not begin with pg_',
  );

/** A text parsed by `parse`, whose error becomes the issue. */
function parsedBy<Value>(parse: (text: string) => Value) {
  return z.string().transform((text, context): Value => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}

/** A whole number in decimal digits. */
function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

function isTestKey(key: string): boolean {
  return /^.._test_/.test(key);
}

const Variables = z.object({
  PORT: wholeNumber(0, 65_535).default(3000),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATABASE_URL: PostgresUrl.optional(),
  TOLLKEEPER_MIGRATE_URL: PostgresUrl.optional(),
  DATABASE_SCHEMA: SchemaName.default(defaultSchema),
  DATABASE_READ_URL: PostgresUrl.optional(),
  DATABASE_POOLER_URL: PostgresUrl.optional(),
  TOLLKEEPER_READ_LAG_MS: wholeNumber(1_000, 3_600_000).default(5_000),
  TOLLKEEPER_DATA_DIR: z
    .string()
    .min(1)
    .default(fileURLToPath(new URL('../.tollkeeper', import.meta.url))),
  TOLLKEEPER_WAL_ARCHIVE: z.string().min(1).optional(),
  TOLLKEEPER_WORK: z.enum(['on', 'off']).default('on'),
  TOLLKEEPER_PROCESSES: wholeNumber(1, 64).default(1),
  TOLLKEEPER_OPERATOR_TOKEN: z
    .string()
    .regex(
      new RegExp(`^[\\x21-\\x7e]{${shortestOperatorToken},200}$`),
      `must be ${shortestOperatorToken} to 200 printable characters without spaces`,
    )
    .optional(),
  TOLLKEEPER_TEST_KEY: ApiKeyText.optional(),
  TOLLKEEPER_LIVE_KEY: ApiKeyText.optional(),
  TOLLKEEPER_URL: HttpUrl.optional(),
  TOLLKEEPER_KEY: ApiKeyText.optional(),
  TOLLKEEPER_PUBLIC_URL: PublicUrl.optional(),
  TOLLKEEPER_ENCRYPTION_KEY: parsedBy(parseEncryptionKeys).optional(),
  TOLLKEEPER_WEBHOOK_ALLOW: parsedBy(parseNetworks).optional(),
  TOLLKEEPER_SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' }).optional(),
  TOLLKEEPER_MAIL_FROM: z.email('must be an e-mail address, such as billing@example.com').max(320).optional(),
  STRIPE_SECRET_KEY: StripeKey.optional(),
  STRIPE_PUBLISHABLE_KEY: StripePublishableKey.optional(),
  STRIPE_WEBHOOK_SECRET: StripeWebhookSecret.optional(),
  STRIPE_TEST_SECRET_KEY: StripeKey.refine(isTestKey, 'must be a test mode key: sk_test_... or rk_test_...').optional(),
  STRIPE_TEST_PUBLISHABLE_KEY: StripePublishableKey.optional(),
  STRIPE_TEST_WEBHOOK_SECRET: StripeWebhookSecret.optional(),
  STRIPE_API_BASE: HttpUrl.optional(),
  TOLLKEEPER_CONNECTIONS: wholeNumber(1, 1_000).default(40),
  TOLLKEEPER_CONNECTIONS_PER_ADDRESS: wholeNumber(0, 1_000_000).default(connectionLimits.perAddress),
  TOLLKEEPER_ATTEMPTS_PER_LINK: wholeNumber(0, 1_000_000).default(attemptLimits.link),
  TOLLKEEPER_ATTEMPTS_PER_CUSTOMER: wholeNumber(0, 1_000_000).default(attemptLimits.customer),
  TOLLKEEPER_ATTEMPTS_PER_ADDRESS: wholeNumber(0, 1_000_000).default(attemptLimits.network),
  TOLLKEEPER_ATTEMPTS_PER_ENVIRONMENT: wholeNumber(0, 1_000_000).default(attemptLimits.environment),
  TOLLKEEPER_STATEMENT_TIMEOUT_MS: wholeNumber(100, 3_600_000).default(30_000),
  TOLLKEEPER_RATE_LIMIT: wholeNumber(0, 1_000_000).default(10_000),
  TOLLKEEPER_PAGES_PER_ADDRESS: wholeNumber(0, 1_000_000).default(50),
  TOLLKEEPER_MAX_REQUESTS: wholeNumber(1, 1_000_000).default(5_000),
  TOLLKEEPER_MAX_BODIES_MIB: wholeNumber(16, 1_000_000).default(256),
  TOLLKEEPER_START_WAIT_S: wholeNumber(0, 86_400).default(60),
  // The database keeps the last month in any case.
  TOLLKEEPER_AUDIT_DAYS: wholeNumber(30, 36_500).optional(),
  TOLLKEEPER_DEDUPLICATION_DAYS: wholeNumber(1, 36_500).optional(),
  TOLLKEEPER_RETENTION_DAYS: wholeNumber(1, 36_500).optional(),
  TOLLKEEPER_ARCHIVE: z
    .string()
    .min(1)
    .refine(isArchiveAddress, 'must be a directory, or a bucket such as s3://bucket/folder')
    .optional(),
  // The variable of every client of S3 for a storage other than S3.
  AWS_ENDPOINT_URL_S3: HttpUrl.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('warn'),
});

/** The names of all settings. */
export const settingNames: readonly string[] = Object.keys(Variables.shape);

const ownPrefix = 'TOLLKEEPER_';
const ownNames = settingNames.flatMap((name) => (name.startsWith(ownPrefix) ? name.slice(ownPrefix.length) : []));
// Variables of the launcher and the tests, which a process may inherit.
const otherVariables = /^TOLLKEEPER_(LAUNCHER|TEST_(CHROME|CITUS|DATABASE|PICTURES|POSTGRES|QUEUE|SEED|SERVER))$/;

/** Refuses variables that look like settings and are none: a misspelt limit would silently not hold. */
function refuseUnknown(given: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(given).filter(
    (name) => name.startsWith(ownPrefix) && !settingNames.includes(name) && !otherVariables.test(name),
  );
  if (unknown.length === 0) return;
  throw new InvalidConfig(
    unknown
      .map((name) => {
        const nearest = nearestOf(name.slice(ownPrefix.length), ownNames);
        return `${name}: is not a setting${nearest === null ? '' : `; did you mean ${ownPrefix}${nearest}?`}`;
      })
      .join('\n'),
  );
}

const Environment = Variables.refine(
  (variables) =>
    variables.TOLLKEEPER_TEST_KEY === undefined || variables.TOLLKEEPER_TEST_KEY !== variables.TOLLKEEPER_LIVE_KEY,
  { path: ['TOLLKEEPER_LIVE_KEY'], message: 'must differ from TOLLKEEPER_TEST_KEY: a key belongs to one mode' },
)
  .refine((given) => given.TOLLKEEPER_MIGRATE_URL === undefined || given.DATABASE_URL !== undefined, {
    path: ['TOLLKEEPER_MIGRATE_URL'],
    message: 'requires DATABASE_URL, the address that the service works with',
  })
  .refine((given) => given.DATABASE_READ_URL === undefined || given.DATABASE_URL !== undefined, {
    path: ['DATABASE_READ_URL'],
    message: 'requires DATABASE_URL, the server that it follows',
  })
  .refine((given) => given.DATABASE_POOLER_URL === undefined || given.DATABASE_URL !== undefined, {
    path: ['DATABASE_POOLER_URL'],
    message: 'requires DATABASE_URL, the server behind the pooler',
  })
  .refine((given) => given.TOLLKEEPER_SMTP_URL === undefined || given.TOLLKEEPER_MAIL_FROM !== undefined, {
    path: ['TOLLKEEPER_SMTP_URL'],
    message: 'requires TOLLKEEPER_MAIL_FROM, the address of the sender',
  })
  .refine((given) => given.TOLLKEEPER_SMTP_URL === undefined || given.TOLLKEEPER_PUBLIC_URL !== undefined, {
    path: ['TOLLKEEPER_SMTP_URL'],
    message: 'requires TOLLKEEPER_PUBLIC_URL, the address of the service in the links of emails',
  })
  .refine((given) => given.TOLLKEEPER_MAIL_FROM === undefined || given.TOLLKEEPER_SMTP_URL !== undefined, {
    path: ['TOLLKEEPER_MAIL_FROM'],
    message: 'requires TOLLKEEPER_SMTP_URL, the mail server',
  })
  .refine((given) => given.STRIPE_TEST_SECRET_KEY === undefined || !isTestKey(given.STRIPE_SECRET_KEY ?? ''), {
    path: ['STRIPE_TEST_SECRET_KEY'],
    message: 'must be left out: STRIPE_SECRET_KEY is already a test mode key',
  })
  .refine((given) => !given.TOLLKEEPER_RETENTION_DAYS || given.TOLLKEEPER_ARCHIVE, {
    path: ['TOLLKEEPER_RETENTION_DAYS'],
    message: 'requires TOLLKEEPER_ARCHIVE, the place of the archives',
  })
  .refine(
    ({ TOLLKEEPER_RETENTION_DAYS: kept, TOLLKEEPER_DEDUPLICATION_DAYS: compared }) =>
      kept === undefined || (compared !== undefined && compared <= kept),
    {
      path: ['TOLLKEEPER_RETENTION_DAYS'],
      message:
        'must be at least TOLLKEEPER_DEDUPLICATION_DAYS, which must be set: repeats are found among events that are not archived',
    },
  )
  .refine((given) => !given.STRIPE_WEBHOOK_SECRET || given.STRIPE_SECRET_KEY, {
    path: ['STRIPE_WEBHOOK_SECRET'],
    message: 'requires STRIPE_SECRET_KEY',
  })
  .refine((given) => !given.STRIPE_TEST_WEBHOOK_SECRET || given.STRIPE_TEST_SECRET_KEY, {
    path: ['STRIPE_TEST_WEBHOOK_SECRET'],
    message: 'requires STRIPE_TEST_SECRET_KEY',
  })
  .refine((given) => fits(given.STRIPE_PUBLISHABLE_KEY, given.STRIPE_SECRET_KEY), {
    path: ['STRIPE_PUBLISHABLE_KEY'],
    message: 'requires STRIPE_SECRET_KEY and must be of the same mode',
  })
  .refine((given) => fits(given.STRIPE_TEST_PUBLISHABLE_KEY, given.STRIPE_TEST_SECRET_KEY), {
    path: ['STRIPE_TEST_PUBLISHABLE_KEY'],
    message: 'must be of test mode, and requires STRIPE_TEST_SECRET_KEY',
  });

function fits(publishableKey: string | undefined, secretKey: string | undefined): boolean {
  if (publishableKey === undefined) return true;
  return secretKey !== undefined && isTestKey(publishableKey) === isTestKey(secretKey);
}

/** A Stripe account, in one mode. */
interface StripeConfig {
  readonly livemode: boolean;
  readonly secretKey: string;
  /** The key of its card form in a browser; null if our pages should not show it. */
  readonly publishableKey: string | null;
  /** The signing secret of its events; null to accept none. */
  readonly webhookSecret: string | null;
  /** The address of its API; null for Stripe's own. */
  readonly apiBase: string | null;
}

/** The configuration from environment variables, read once at startup. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** The server to use, or null for the embedded one. */
  readonly databaseUrl: string | null;
  /** The schema of the installation. Several installations may share a database. */
  readonly schema: string;
  /** The address of a pooler in front of that server, for requests; null without one. */
  readonly poolerUrl: string | null;
  /** A read replica of that server, and the age that its state may have; null without one. */
  readonly replica: { readonly url: string; readonly mostLagMs: number } | null;
  /** The address of the owner of that database, who migrates it; null if the user of `databaseUrl` does. */
  readonly migrateUrl: string | null;
  readonly dataDirectory: string;
  /** The directory of the embedded server's WAL archive; null for none. */
  readonly walArchive: string | null;
  /** False for a copy under inspection, which runs no jobs and sends no webhooks. */
  readonly works: boolean;
  /** Processes of `serve` that answer requests, on the cores of one machine. */
  readonly processes: number;
  /** The token for operator endpoints; null disables them. */
  readonly operatorToken: string | null;
  readonly testKey: string | null;
  readonly liveKey: string | null;
  /** The running service that commands of a client talk to, and their key. */
  readonly client: { readonly url: string | null; readonly key: string | null };
  /** The public address of the service, if it differs from host and port. */
  readonly publicUrl: string | null;
  /** The first encrypts, all decrypt; null for the key of the data directory. */
  readonly encryptionKeys: readonly Buffer[] | null;
  /** Non-public networks that webhooks may be sent to; null if not configured. */
  readonly webhookAllow: readonly Network[] | null;
  /** The mail server and the address of the sender; null to send no emails. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** The Stripe accounts: at most one per mode. */
  readonly stripe: readonly StripeConfig[];
  /** Retention of the audit log in days; null for unlimited. */
  readonly auditDays: number | null;
  /** How long usage events are compared and kept; null for ever. */
  readonly events: EventSettings;
  /** The place of archives; null without one. */
  readonly archive: string | null;
  /** The address of a storage with the protocol of S3; null for S3. */
  readonly archiveEndpoint: string | null;
  readonly logLevel: string;
  readonly limits: LimitsConfig;
}

/** Limits of one process. */
interface LimitsConfig {
  /** Database connections for requests, of all processes that `serve` starts. */
  readonly connections: number;
  /** Connections to the service from one address; 0 for no limit. */
  readonly connectionsPerAddress: number;
  /** The timeout of a request's statements. */
  readonly statementTimeoutMs: number;
  /** Requests per second of one key; 0 for no limit. */
  readonly rateLimit: number;
  /** Requests for pages per second of one address; 0 for no limit. */
  readonly pagesPerAddress: number;
  /** Requests in flight. */
  readonly maxRequests: number;
  /** Bytes of request bodies in flight. */
  readonly maxBodiesBytes: number;
  /** How long a start waits for the server of DATABASE_URL. */
  readonly startWaitMs: number;
  /** Failed attempts to pay or to enter a discount code in a day. */
  readonly attempts: AttemptLimits;
}

/** An invalid setting. The message names the variable and states what is valid. */
export class InvalidConfig extends Error {}

/** Reads the configuration. An empty variable counts as absent. Throws InvalidConfig. */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''),
  );
  refuseUnknown(given);
  const result = Environment.safeParse(given);
  if (!result.success) {
    throw new InvalidConfig(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
  }
  const { data } = result;
  return {
    port: data.PORT,
    host: data.HOST,
    databaseUrl: data.DATABASE_URL ?? null,
    schema: data.DATABASE_SCHEMA,
    poolerUrl: data.DATABASE_POOLER_URL ?? null,
    replica:
      data.DATABASE_READ_URL === undefined
        ? null
        : { url: data.DATABASE_READ_URL, mostLagMs: data.TOLLKEEPER_READ_LAG_MS },
    migrateUrl: data.TOLLKEEPER_MIGRATE_URL ?? null,
    dataDirectory: data.TOLLKEEPER_DATA_DIR,
    walArchive: data.TOLLKEEPER_WAL_ARCHIVE ?? null,
    works: data.TOLLKEEPER_WORK === 'on',
    processes: data.TOLLKEEPER_PROCESSES,
    operatorToken: data.TOLLKEEPER_OPERATOR_TOKEN ?? null,
    testKey: data.TOLLKEEPER_TEST_KEY ?? null,
    liveKey: data.TOLLKEEPER_LIVE_KEY ?? null,
    client: { url: data.TOLLKEEPER_URL ?? null, key: data.TOLLKEEPER_KEY ?? data.TOLLKEEPER_TEST_KEY ?? null },
    publicUrl: data.TOLLKEEPER_PUBLIC_URL ?? null,
    encryptionKeys: data.TOLLKEEPER_ENCRYPTION_KEY ?? null,
    webhookAllow: data.TOLLKEEPER_WEBHOOK_ALLOW ?? null,
    mail: mailServer(data),
    stripe: stripeAccounts(data),
    auditDays: data.TOLLKEEPER_AUDIT_DAYS ?? null,
    events: {
      deduplicationDays: data.TOLLKEEPER_DEDUPLICATION_DAYS ?? null,
      retentionDays: data.TOLLKEEPER_RETENTION_DAYS ?? null,
    },
    archive: data.TOLLKEEPER_ARCHIVE ?? null,
    archiveEndpoint: data.AWS_ENDPOINT_URL_S3 ?? null,
    logLevel: data.LOG_LEVEL,
    limits: {
      connections: data.TOLLKEEPER_CONNECTIONS,
      connectionsPerAddress: data.TOLLKEEPER_CONNECTIONS_PER_ADDRESS,
      statementTimeoutMs: data.TOLLKEEPER_STATEMENT_TIMEOUT_MS,
      rateLimit: data.TOLLKEEPER_RATE_LIMIT,
      pagesPerAddress: data.TOLLKEEPER_PAGES_PER_ADDRESS,
      maxRequests: data.TOLLKEEPER_MAX_REQUESTS,
      maxBodiesBytes: data.TOLLKEEPER_MAX_BODIES_MIB * 2 ** 20,
      startWaitMs: data.TOLLKEEPER_START_WAIT_S * 1000,
      attempts: {
        link: data.TOLLKEEPER_ATTEMPTS_PER_LINK,
        customer: data.TOLLKEEPER_ATTEMPTS_PER_CUSTOMER,
        network: data.TOLLKEEPER_ATTEMPTS_PER_ADDRESS,
        environment: data.TOLLKEEPER_ATTEMPTS_PER_ENVIRONMENT,
      },
    },
  };
}

function mailServer({
  TOLLKEEPER_SMTP_URL: url,
  TOLLKEEPER_MAIL_FROM: from,
}: z.infer<typeof Variables>): Config['mail'] {
  return url === undefined || from === undefined ? null : { url, from };
}

/** The mode of a key is the mode of the environments that it serves. */
function stripeAccounts(given: z.infer<typeof Variables>): StripeConfig[] {
  const apiBase = given.STRIPE_API_BASE ?? null;
  const accounts = [
    {
      secretKey: given.STRIPE_SECRET_KEY,
      publishableKey: given.STRIPE_PUBLISHABLE_KEY ?? null,
      webhookSecret: given.STRIPE_WEBHOOK_SECRET ?? null,
    },
    {
      secretKey: given.STRIPE_TEST_SECRET_KEY,
      publishableKey: given.STRIPE_TEST_PUBLISHABLE_KEY ?? null,
      webhookSecret: given.STRIPE_TEST_WEBHOOK_SECRET ?? null,
    },
  ];
  return accounts.flatMap(({ secretKey, ...account }) =>
    secretKey === undefined ? [] : [{ livemode: !isTestKey(secretKey), secretKey, ...account, apiBase }],
  );
}
