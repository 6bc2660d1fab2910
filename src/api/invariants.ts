import type { FastifyInstance } from 'fastify';
import { isOperator } from '../http/operator.ts';
import type { Checks } from '../invariants/run-checks.ts';
import { invalid, Problem } from '../kernel/problem.ts';

/**
 * Adds `/invariants` for the operator: the last check, or a new one with `?fresh=true`. Outside the API, because its
 * rows span all tenants.
 */
export function registerInvariants(server: FastifyInstance, checks: Checks, operatorToken: string): void {
  server.get<{ Querystring: { fresh?: string } }>('/invariants', async (request) => {
    if (!isOperator(request.headers.authorization, operatorToken)) throw new Problem('operatorTokenWrong');
    const { fresh = 'false' } = request.query;
    if (fresh !== 'true' && fresh !== 'false') throw invalid(['fresh'], 'must be true or false');
    const report = fresh === 'true' ? await checks.run({ full: false, waits: false }) : await checks.last();
    if (report === null) throw new Problem('notCheckedYet');
    return report;
  });
}
