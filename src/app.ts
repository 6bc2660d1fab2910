import './platform/json.ts';
import type { FastifyInstance } from 'fastify';
import { organizationRoutes } from './organizations/routes.ts';
import { pingDatabase } from './organizations/store.ts';
import type { Database } from './platform/database.ts';
import { createHttp } from './platform/http.ts';
import type { TaskList } from './platform/jobs.ts';
import { startKeyUse } from './platform/key-use.ts';
import { registerMetrics } from './platform/metrics.ts';
import { createOpenApi } from './platform/openapi.ts';
import { registerReference } from './platform/reference-page.ts';
import type { Route } from './platform/route.ts';
import { version } from './platform/version.ts';

/** Every operation of the API. */
export const routes: readonly Route[] = [...organizationRoutes];

/** Everything that runs in the background, by the name of its job. */
export const tasks: TaskList = {};

/** What runs from time to time, in cron's notation (UTC). */
export const crontab = '';

export interface AppOptions {
  /** Bound by row-level security. */
  readonly database: Database;
  readonly logLevel: string;
  /** True when every migration of this version has run. */
  readonly migrated: () => Promise<boolean>;
}

/** The HTTP side of the service, ready to listen. Closing it writes down what is still in memory. */
export async function createApp({ database, logLevel, migrated }: AppOptions): Promise<FastifyInstance> {
  const keyUse = startKeyUse(database);
  const server = createHttp({ database, routes, tasks, keyUse, logLevel });
  server.addHook('onClose', () => keyUse.stop());
  registerMetrics(server);
  const document = createOpenApi(routes, version);
  server.get('/openapi.json', async () => document);
  await registerReference(server, document);
  server.get('/health', async () => ({ status: 'ok', version }));
  server.get('/ready', async (_request, reply) => {
    const ready = (await pingDatabase(database)) && (await migrated());
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', version });
  });
  return server;
}
