import './platform/json.ts';
import type { FastifyInstance } from 'fastify';
import { customerRoutes } from './customers/routes.ts';
import { entitlementRoutes } from './entitlements/routes.ts';
import { claimRoutes } from './entitlements/routes-claims.ts';
import { invoicingRoutes } from './invoicing/routes.ts';
import { ledgerRoutes } from './ledger/routes.ts';
import { lifecycleTasks } from './lifecycle/jobs.ts';
import { customerLifecycleRoutes } from './lifecycle/routes-customers.ts';
import { featureRoutes } from './lifecycle/routes-features.ts';
import { lifecyclePricingRoutes } from './lifecycle/routes-pricing.ts';
import { lifecyclePricingModelRoutes } from './lifecycle/routes-pricing-models.ts';
import { subscriptionLifecycleRoutes } from './lifecycle/routes-subscriptions.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { pingDatabase } from './organizations/store.ts';
import { paymentTasks } from './payments/jobs.ts';
import { paymentRoutes } from './payments/routes.ts';
import { paymentMethodRoutes } from './payments/routes-payment-methods.ts';
import type { Database } from './platform/database.ts';
import { createHttp } from './platform/http.ts';
import { idempotencyTasks } from './platform/idempotency.ts';
import type { TaskList } from './platform/jobs.ts';
import { startKeyUse } from './platform/key-use.ts';
import { registerMetrics } from './platform/metrics.ts';
import { createOpenApi } from './platform/openapi.ts';
import { registerReference } from './platform/reference-page.ts';
import type { Route } from './platform/route.ts';
import { version } from './platform/version.ts';
import { pricingRoutes } from './pricing/routes.ts';
import { pricingModelRoutes } from './pricing/routes-pricing-models.ts';
import { subscriptionRoutes } from './subscriptions/routes.ts';
import { usageRoutes } from './usage/routes.ts';
import { webhookTasks } from './webhooks/jobs.ts';
import { webhookRoutes } from './webhooks/routes.ts';

/** Every operation of the API. */
export const routes: readonly Route[] = [
  ...organizationRoutes,
  ...customerRoutes,
  ...customerLifecycleRoutes,
  ...subscriptionRoutes,
  ...subscriptionLifecycleRoutes,
  ...pricingRoutes,
  ...pricingModelRoutes,
  ...lifecyclePricingRoutes,
  ...lifecyclePricingModelRoutes,
  ...entitlementRoutes,
  ...claimRoutes,
  ...featureRoutes,
  ...ledgerRoutes,
  ...usageRoutes,
  ...invoicingRoutes,
  ...paymentRoutes,
  ...paymentMethodRoutes,
  ...webhookRoutes,
];

/** Everything that runs in the background, by the name of its job. */
export const tasks: TaskList = { ...idempotencyTasks, ...lifecycleTasks, ...paymentTasks, ...webhookTasks };

/** What runs from time to time, in cron's notation (UTC). */
export const crontab = `
* * * * * end_due
*/10 * * * * forget_old_answers
`;

export interface AppOptions {
  /** Bound by row-level security. */
  readonly database: Database;
  readonly logLevel: string;
  /** Where the service is reached from outside, if that was said. */
  readonly publicUrl?: string | null;
  /** True when every migration of this version has run. */
  readonly migrated: () => Promise<boolean>;
}

/** The HTTP side of the service, ready to listen. Closing it writes down what is still in memory. */
export async function createApp({
  database,
  logLevel,
  publicUrl = null,
  migrated,
}: AppOptions): Promise<FastifyInstance> {
  const keyUse = startKeyUse(database);
  const server = createHttp({ database, routes, tasks, keyUse, logLevel, publicUrl });
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
