import './http/json-bigint.ts';
import type { FastifyInstance } from 'fastify';
import { analyticsTasks } from './analytics/jobs.ts';
import { registerInvariants } from './api/invariants.ts';
import { registerSignIn, sessionsOf, signInWhenAsked } from './api/me.ts';
import { processorEventHooks } from './api/processor-events.ts';
import { routes, routesOfPeople } from './api/routes.ts';
import type { WithArchives } from './archives/actions.ts';
import { archiveTasks } from './archives/jobs.ts';
import { ChangeFeed, type WithChangeFeed } from './audit/actions-changes.ts';
import { auditTasks } from './audit/jobs.ts';
import { billingTasks } from './billing/jobs.ts';
import { showRefusal } from './checkout/page-layout.ts';
import { invoicePages } from './checkout/routes-invoice.ts';
import { checkoutPages } from './checkout/routes-pages.ts';
import { portalPages } from './checkout/routes-portal.ts';
import { portalControlPages } from './checkout/routes-portal-controls.ts';
import { portalPlanPages } from './checkout/routes-portal-plans.ts';
import type { Cells, WithCells } from './database/cells.ts';
import { canStore, type Database } from './database/database.ts';
import type { PageShare } from './database/page-share.ts';
import type { ReadReplica } from './database/read-replica.ts';
import { erasureTasks } from './erasure/jobs.ts';
import { copyTasks } from './http/cells.ts';
import { type ConnectionLimits, connectionLimits } from './http/connections.ts';
import type { Dashboard } from './http/dashboard.ts';
import { EventStreams, type WithEventStreams } from './http/event-stream.ts';
import type { Hook } from './http/hook.ts';
import { idempotencyTasks } from './http/idempotency.ts';
import { startKeyUse } from './http/key-use.ts';
import type { LoadLimits } from './http/load-shedding.ts';
import { createLog, type Log } from './http/log.ts';
import { type MetricSources, registerMetrics } from './http/metrics.ts';
import type { OutgoingMessage } from './http/openapi.ts';
import type { Pages } from './http/page.ts';
import { RateLimit } from './http/rate-limit.ts';
import { limitReaders, registerReference } from './http/reference-page.ts';
import { createHttp } from './http/server.ts';
import { version } from './http/version.ts';
import { invariantTasks } from './invariants/jobs.ts';
import type { WithChecks } from './invariants/run-checks.ts';
import { listInvariantCounts } from './invariants/store-checks.ts';
import type { WithEncryption } from './jobs/encryption.ts';
import type { TaskList } from './jobs/queue.ts';
import type { WithMail } from './mail/actions.ts';
import { mailTasks } from './mail/jobs.ts';
import type { WithStripe } from './payments/actions.ts';
import type { WithChargeReports } from './payments/actions-settle.ts';
import type { WithAttemptLimits } from './payments/attempt.ts';
import { paymentTasks } from './payments/jobs.ts';
import { peopleTasks } from './people/jobs.ts';
import type { WithWebhooks } from './webhooks/actions.ts';
import { eventMessages } from './webhooks/event-messages.ts';
import { webhookTasks } from './webhooks/jobs.ts';

/** Every message that the service sends to registered addresses. */
export const messages: readonly OutgoingMessage[] = eventMessages;

/** Endpoints for external services, outside the API. */
const hooks: readonly Hook[] = processorEventHooks;

/** Pages for browsers. */
const pages: Pages = {
  pages: [...checkoutPages, ...invoicePages, ...portalPages, ...portalPlanPages, ...portalControlPages],
  showRefusal,
};

/** All background jobs, by name. */
export const tasks: TaskList = {
  ...idempotencyTasks,
  ...copyTasks,
  ...auditTasks,
  ...billingTasks,
  ...paymentTasks,
  ...webhookTasks,
  ...mailTasks,
  ...archiveTasks,
  ...erasureTasks,
  ...invariantTasks,
  ...analyticsTasks,
  ...peopleTasks,
};

/** The schedule of periodic jobs, in cron syntax (UTC). */
export const crontab = `
* * * * * find_due_work
17 * * * * take_mrr_balances
*/5 * * * * merge_daily_sums
29 * * * * keep_usage_partitions
7 * * * * check_invariants
41 3 * * 0 check_invariants ?id=check_all_invariants {full:true}
*/10 * * * * forget_old_answers
*/10 * * * * forget_processor_events
*/10 * * * * forget_attempts
*/10 * * * * forget_webhook_attempts
*/10 * * * * forget_sign_ins
`;

/** Everything outside of the database that a process was started with. */
export type ExternalServices = WithEncryption &
  WithCells &
  WithStripe &
  WithWebhooks &
  WithMail &
  WithChecks &
  WithArchives &
  WithChargeReports &
  WithAttemptLimits;

interface AppOptions {
  /** Bound by row-level security. */
  readonly database: Database;
  /** The cells of the customers; when absent, all are in `database`. */
  readonly cells?: Cells;
  /** A copy of the database for lists, reports and exports. */
  readonly replica?: ReadReplica | null;
  /** The worker's connection for people who sign in; nobody can when absent. */
  readonly people?: Database | null;
  /** Silent when absent. */
  readonly log?: Log;
  /** Metrics besides those of requests and of the last check; without it there are none. */
  readonly metrics?: Partial<MetricSources>;
  readonly services?: ExternalServices;
  /** The address of the service for others, if it is configured. */
  readonly publicUrl?: string | null;
  /** The token for `/invariants`; without it that page does not exist. */
  readonly operatorToken?: string | null;
  /** Load limits; unlimited when absent. */
  readonly limits?: AppLimits;
  /** The part of the database connections that pages use; all when absent. */
  readonly pageShare?: PageShare;
  /** Connection limits that differ from the defaults. */
  readonly connections?: ConnectionLimits;
  /** Whether every migration of this version has run. */
  readonly migrated: () => Promise<boolean>;
  /** The built dashboard; null where it was not built. */
  readonly dashboard?: Dashboard | null;
}

interface AppLimits extends LoadLimits {
  /** Requests per second of one key; 0 for no limit. */
  readonly rateLimit: number;
  /** Requests for pages per second of one address; 0 for no limit. */
  readonly pagesPerAddress: number;
}

function rateLimitOf({ rateLimit: perKey, pagesPerAddress }: AppLimits): RateLimit {
  return new RateLimit({ perKey, pagesPerAddress });
}

/** The HTTP server, ready to listen. Closing it flushes data in memory. */
export async function createApp({
  database,
  cells,
  replica = null,
  people = null,
  log = createLog('silent').log,
  metrics = {},
  services = {},
  publicUrl = null,
  operatorToken = null,
  limits,
  pageShare,
  connections = connectionLimits,
  migrated,
  dashboard = null,
}: AppOptions): Promise<FastifyInstance> {
  const keyUse = startKeyUse(database);
  const limited = limits === undefined ? {} : { loadLimits: limits, rateLimit: rateLimitOf(limits) };
  const eventStreams = new EventStreams();
  const changeFeed = new ChangeFeed(eventStreams);
  const withFeed = { ...services, changeFeed, eventStreams } satisfies ExternalServices &
    WithChangeFeed &
    WithEventStreams;
  const context = { database, cells, replica, tasks, services: withFeed, keyUse, ...(pageShare && { pageShare }) };
  const { encryption } = services;
  const signIn =
    people && encryption
      ? signInWhenAsked({
          worker: people,
          encryption,
          outbound: services.webhooks?.outbound,
          log: (level, message) => log[level](`sign-in: ${message}`),
        })
      : null;
  const signInContext = signIn && { ...limited, signIn, publicUrl };
  const sessions = signInContext && sessionsOf(signInContext);
  const served = { routes: [...routes, ...routesOfPeople], hooks, pages, dashboard };
  const server = createHttp({ ...context, ...limited, ...served, sessions, log, publicUrl, connections });
  if (signInContext) registerSignIn(server, signInContext);
  server.addHook('preClose', async () => eventStreams.stop());
  server.addHook('onClose', () => keyUse.stop());
  if ('rateLimit' in limited) limitReaders(server, limited.rateLimit);
  registerMetrics(server, { listCounts: () => listInvariantCounts(database), ...metrics });
  if (services.checks !== undefined && operatorToken !== null)
    registerInvariants(server, services.checks, operatorToken);
  registerReference(server);
  server.get('/health', async () => ({ status: 'ok', version }));
  // However many ask, the database is asked once at a time.
  let looking: Promise<boolean> | null = null;
  const isReady = async () => (await canStore(database)) && (await migrated().catch(() => false));
  server.get('/ready', async (_request, reply) => {
    looking ??= isReady().finally(() => {
      looking = null;
    });
    const ready = await looking;
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', version });
  });
  return server;
}
