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

/**
 * Adds `/metrics` in Prometheus format: the process, requests by route and status, and the counts of the last invariant
 * check. `readMore` reads further metrics.
 */
export function registerMetrics(
  server: FastifyInstance,
  listCounts: () => Promise<readonly CheckedCount[]>,
  readMore: () => Promise<string>,
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
  const showCounts = registerCounts(registry);
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
    done();
  });
  const read = async () => {
    // Process metrics are most needed when the database is not responding.
    showCounts(await listCounts().catch(() => []));
    return `${await registry.metrics()}\n${await readMore()}`;
  };
  let kept: { readonly at: number; readonly text: Promise<string> } | null = null;
  const readOnce = () => {
    if (kept === null || performance.now() - kept.at >= keptMs) {
      kept = { at: performance.now(), text: read() };
      // A text that could not be read is not kept.
      kept.text.catch(() => {
        kept = null;
      });
    }
    return kept.text;
  };
  server.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await readOnce()));
}

/** The gauges of the last check. They have no sample before the first check, or when it cannot be read. */
function registerCounts(registry: Registry): (counts: readonly CheckedCount[]) => void {
  const registers = [registry];
  const violations = new Gauge({
    name: 'tollkeeper_invariant_violations',
    help: 'Number of rows that broke an invariant in its last check.',
    labelNames: ['invariant'],
    registers,
  });
  const checkedAt = new Gauge({
    name: 'tollkeeper_invariants_checked_timestamp_seconds',
    help: 'Time of the last check of the invariants.',
    // A gauge without labels would report 0 before the first check; an unused label suppresses that.
    labelNames: ['never'],
    registers,
  });
  const duration = new Gauge({
    name: 'tollkeeper_invariants_check_duration_seconds',
    help: 'Duration of the last check of the invariants.',
    labelNames: ['never'],
    registers,
  });
  return (counts) => {
    for (const gauge of [violations, checkedAt, duration]) gauge.reset();
    for (const each of counts) {
      violations.set({ invariant: each.name }, each.violations);
      checkedAt.set({}, each.checkedAt / 1000);
      duration.set({}, each.durationMs / 1000);
    }
  };
}
