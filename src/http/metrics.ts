import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

// A scrape takes queries, and nobody scrapes twice a second.
const keptMs = 1_000;

/** The number of rows that break an invariant, by its name, over all tenants. */
interface CheckedCount {
  readonly name: string;
  readonly violations: number;
  readonly checkedAt: number;
  readonly durationMs: number;
}

/** The metrics of several processes of one service. */
export interface MetricsOfAll {
  /** Counts those of this process among them. */
  share(registries: readonly Registry[]): void;
  /** Reads them in Prometheus format. */
  read(): Promise<string>;
}

/** The sources of the metrics. */
export interface MetricSources {
  readonly listCounts: () => Promise<readonly CheckedCount[]>;
  /** Further metrics of this process. */
  readonly ofProcess?: Registry;
  /** The other processes of the service, which have metrics too. */
  readonly together?: MetricsOfAll | null;
}

/** Adds `/metrics` in Prometheus format: the process, requests by route and status, and the counts of the last check. */
export function registerMetrics(
  server: FastifyInstance,
  { listCounts, ofProcess = new Registry(), together = null }: MetricSources,
): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'tollkeeper_' });
  const durations = new Histogram({
    name: 'tollkeeper_http_request_duration_seconds',
    help: 'Duration of requests, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  registerCounts(registry, listCounts);
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
    done();
  });
  together?.share([registry, ofProcess]);
  const read = together === null ? () => Registry.merge([registry, ofProcess]).metrics() : () => together.read();
  const readOnce = keptFor(keptMs, read);
  server.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await readOnce()));
}

/** Keeps what was read for a while, so that many who ask cost one reading. A failed reading is not kept. */
export function keptFor<Value>(keptMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let kept: { readonly at: number; readonly value: Promise<Value> } | null = null;
  return () => {
    if (kept === null || performance.now() - kept.at >= keptMs) {
      kept = { at: performance.now(), value: read() };
      kept.value.catch(() => {
        kept = null;
      });
    }
    return kept.value;
  };
}

/**
 * Gauges of one value that `show` sets when they are read. Every process reads the same from the database, so the greatest of
 * them is that of the service.
 */
export function gaugesOfDatabase(registry: Registry, show: () => Promise<void>) {
  return (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({
      name: `tollkeeper_${name}`,
      help,
      labelNames,
      aggregator: 'max',
      registers: [registry],
      collect: show,
    });
}

/** The gauges of the last check. They have no sample before the first check, or when it cannot be read. */
function registerCounts(registry: Registry, listCounts: MetricSources['listCounts']): void {
  // Process metrics are most needed when the database is not responding.
  const show = keptFor(keptMs, async () => {
    const counts = await listCounts().catch(() => []);
    for (const each of [violations, checkedAt, duration]) each.reset();
    for (const each of counts) {
      violations.set({ invariant: each.name }, each.violations);
      checkedAt.set({}, each.checkedAt / 1000);
      duration.set({}, each.durationMs / 1000);
    }
  });
  const gauge = gaugesOfDatabase(registry, show);
  const violations = gauge('invariant_violations', 'Number of rows that broke an invariant in its last check.', [
    'invariant',
  ]);
  // A gauge without labels would report 0 before the first check; an unused label suppresses that.
  const checkedAt = gauge('invariants_checked_timestamp_seconds', 'Time of the last check of the invariants.', [
    'never',
  ]);
  const duration = gauge('invariants_check_duration_seconds', 'Duration of the last check of the invariants.', [
    'never',
  ]);
}
