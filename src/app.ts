import './platform/json.ts';
import type { FastifyInstance } from 'fastify';
import { auditTasks } from './audit/jobs.ts';
import { auditRoutes } from './audit/routes.ts';
import { showRefusal } from './checkout/page-layout.ts';
import { checkoutRoutes } from './checkout/routes.ts';
import { checkoutPages } from './checkout/routes-pages.ts';
import { portalPages } from './checkout/routes-portal.ts';
import { portalPlanPages } from './checkout/routes-portal-plans.ts';
import { customerRoutes } from './customers/routes.ts';
import { entitlementRoutes } from './entitlements/routes.ts';
import { claimRoutes } from './entitlements/routes-claims.ts';
import { entitlementLookRoutes } from './entitlements/routes-entitlements.ts';
import { invoicingRoutes } from './invoicing/routes.ts';
import { redeemedDiscountRoutes } from './invoicing/routes-discounts.ts';
import { printRoutes } from './invoicing/routes-print.ts';
import { taxRateRoutes } from './invoicing/routes-tax-rates.ts';
import { ledgerRoutes } from './ledger/routes.ts';
import { creditRoutes } from './ledger/routes-credits.ts';
import { ledgerEntryRoutes } from './ledger/routes-ledger.ts';
import { lifecycleTasks } from './lifecycle/jobs.ts';
import { adjustRoutes } from './lifecycle/routes-adjust.ts';
import { clockRoutes } from './lifecycle/routes-clock.ts';
import { collectingRoutes } from './lifecycle/routes-collecting.ts';
import { creditLifecycleRoutes } from './lifecycle/routes-credits.ts';
import { customerLifecycleRoutes } from './lifecycle/routes-customers.ts';
import { featureRoutes } from './lifecycle/routes-features.ts';
import { holdRoutes } from './lifecycle/routes-holds.ts';
import { registerInvariants } from './lifecycle/routes-invariants.ts';
import { pauseRoutes } from './lifecycle/routes-pause.ts';
import { lifecyclePricingRoutes } from './lifecycle/routes-pricing.ts';
import { lifecyclePricingModelRoutes } from './lifecycle/routes-pricing-models.ts';
import { settingsLifecycleRoutes } from './lifecycle/routes-settings.ts';
import { subscriptionLifecycleRoutes } from './lifecycle/routes-subscriptions.ts';
import { upcomingInvoiceRoutes } from './lifecycle/routes-upcoming-invoice.ts';
import { usageLifecycleRoutes } from './lifecycle/routes-usage.ts';
import { listInvariantCounts } from './lifecycle/store-checks.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { settingsRoutes } from './organizations/routes-settings.ts';
import { pingDatabase } from './organizations/store.ts';
import { paymentTasks } from './payments/jobs.ts';
import { paymentRoutes } from './payments/routes.ts';
import { paymentMethodRoutes } from './payments/routes-payment-methods.ts';
import { processorEventHooks } from './payments/routes-processor-events.ts';
import type { AdmissionLimits } from './platform/admission.ts';
import { type ConnectionLimits, connectionLimits } from './platform/connections.ts';
import type { Database } from './platform/database.ts';
import type { Hook } from './platform/hook.ts';
import { createHttp } from './platform/http.ts';
import { idempotencyTasks } from './platform/idempotency.ts';
import type { Outside, TaskList } from './platform/jobs.ts';
import { startKeyUse } from './platform/key-use.ts';
import { registerMetrics } from './platform/metrics.ts';
import { createOpenApi, type OutgoingMessage } from './platform/openapi.ts';
import type { Pages } from './platform/page.ts';
import { RateLimit } from './platform/rate-limit.ts';
import { registerReference } from './platform/reference-page.ts';
import type { Route } from './platform/route.ts';
import { version } from './platform/version.ts';
import { pricingRoutes } from './pricing/routes.ts';
import { catalogRoutes } from './pricing/routes-catalogs.ts';
import { discountRoutes } from './pricing/routes-discounts.ts';
import { pricingModelRoutes } from './pricing/routes-pricing-models.ts';
import { purchaseRoutes } from './purchases/routes.ts';
import { subscriptionRoutes } from './subscriptions/routes.ts';
import { usageRoutes } from './usage/routes.ts';
import { usageSummaryRoutes } from './usage/routes-summary.ts';
import { eventMessages } from './webhooks/event-messages.ts';
import { webhookTasks } from './webhooks/jobs.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { deliveryRoutes } from './webhooks/routes-deliveries.ts';
import { eventRoutes } from './webhooks/routes-events.ts';

/** Every operation of the API. */
export const routes: readonly Route[] = [
  ...organizationRoutes,
  ...settingsRoutes,
  ...settingsLifecycleRoutes,
  ...auditRoutes,
  ...customerRoutes,
  ...customerLifecycleRoutes,
  ...subscriptionRoutes,
  ...subscriptionLifecycleRoutes,
  ...adjustRoutes,
  ...pauseRoutes,
  ...pricingRoutes,
  ...pricingModelRoutes,
  ...catalogRoutes,
  ...discountRoutes,
  ...redeemedDiscountRoutes,
  ...lifecyclePricingRoutes,
  ...lifecyclePricingModelRoutes,
  ...entitlementRoutes,
  ...claimRoutes,
  ...entitlementLookRoutes,
  ...featureRoutes,
  ...ledgerRoutes,
  ...creditLifecycleRoutes,
  ...creditRoutes,
  ...ledgerEntryRoutes,
  ...usageLifecycleRoutes,
  ...usageRoutes,
  ...usageSummaryRoutes,
  ...holdRoutes,
  ...upcomingInvoiceRoutes,
  ...invoicingRoutes,
  ...collectingRoutes,
  ...printRoutes,
  ...taxRateRoutes,
  ...purchaseRoutes,
  ...checkoutRoutes,
  ...paymentRoutes,
  ...paymentMethodRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...eventRoutes,
  ...clockRoutes,
];

/** Every message that we send to addresses that others have registered. */
export const messages: readonly OutgoingMessage[] = eventMessages;

/** Where others tell us something, outside of the API. */
const hooks: readonly Hook[] = processorEventHooks;

/** What people open in a browser. */
const pages: Pages = { pages: [...checkoutPages, ...portalPages, ...portalPlanPages], showRefusal };

/** Everything that runs in the background, by the name of its job. */
export const tasks: TaskList = {
  ...idempotencyTasks,
  ...auditTasks,
  ...lifecycleTasks,
  ...paymentTasks,
  ...webhookTasks,
};

/** What runs from time to time, in cron's notation (UTC). */
export const crontab = `
* * * * * find_due_work
7 * * * * check_invariants
41 3 * * 0 check_invariants ?id=check_all_invariants {full:true}
*/10 * * * * forget_old_answers
*/10 * * * * forget_processor_events
*/10 * * * * forget_webhook_attempts
`;

export interface AppOptions {
  /** Bound by row-level security. */
  readonly database: Database;
  readonly logLevel: string;
  /** What the service was started with to reach others. */
  readonly outside?: Outside;
  /** Where the service is reached from outside, if that was said. */
  readonly publicUrl?: string | null;
  /** What opens `/invariants`; without it there is none. */
  readonly operatorToken?: string | null;
  /** How much is taken on; without it, everything. */
  readonly limits?: AppLimits;
  /** How long connections may be held, where it is not as usual. */
  readonly connections?: ConnectionLimits;
  /** True when every migration of this version has run. */
  readonly migrated: () => Promise<boolean>;
}

export interface AppLimits extends AdmissionLimits {
  /** Requests a second of one key; 0 for any number. */
  readonly rateLimit: number;
}

/** The HTTP side of the service, ready to listen. Closing it writes down what is still in memory. */
export async function createApp({
  database,
  logLevel,
  outside = {},
  publicUrl = null,
  operatorToken = null,
  limits,
  connections = connectionLimits,
  migrated,
}: AppOptions): Promise<FastifyInstance> {
  const keyUse = startKeyUse(database);
  const limited =
    limits === undefined ? {} : { admission: limits, rateLimit: new RateLimit({ perKey: limits.rateLimit }) };
  const context = { database, tasks, outside, keyUse };
  const server = createHttp({ ...context, ...limited, routes, hooks, pages, logLevel, publicUrl, connections });
  server.addHook('onClose', () => keyUse.stop());
  registerMetrics(server, () => listInvariantCounts(database));
  if (outside.checks !== undefined && operatorToken !== null) registerInvariants(server, outside.checks, operatorToken);
  const document = createOpenApi({ routes, messages, version });
  // Kept as bytes: who asks for it a thousand times and does not read costs no copy of it each time.
  const documentBytes = Buffer.from(JSON.stringify(document));
  // The second is where existing clients look for it.
  for (const path of ['/openapi.json', '/api/openapi'])
    server.get(path, (_request, reply) => reply.type('application/json; charset=utf-8').send(documentBytes));
  await registerReference(server, document);
  server.get('/health', async () => ({ status: 'ok', version }));
  server.get('/ready', async (_request, reply) => {
    const ready = (await pingDatabase(database)) && (await migrated().catch(() => false));
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', version });
  });
  return server;
}
