import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { type ProblemName, problemCode, reasonOf, registry, statusOfCode } from '../kernel/problem.ts';
import type { Route } from './route.ts';

// Some refusals carry further fields, such as the balance that did not suffice.
export const ErrorBody = z
  .looseObject({
    message: z.string().meta({ description: 'The reason, in a sentence for people.' }),
    code: z.string().meta({ description: 'The kind of refusal, for programs: `NOT_FOUND`.' }),
    reason: z.string().meta({
      description:
        'The refusal itself, for programs: `capacity_exhausted`. A reason keeps its name; new ones may be added.',
      example: 'customer_not_found',
    }),
    issues: z
      .array(z.object({ message: z.string(), path: z.array(z.union([z.string(), z.number()])), code: z.string() }))
      .optional()
      .meta({ description: 'Each fault of the request and the path of the field that has it.' }),
    error: z.string().meta({ description: 'The same text as `message`.' }),
    request_id: z.string().meta({ description: 'The id of the request, as in the header `X-Request-Id`.' }),
  })
  .meta({ id: 'Error' });

interface Refusal {
  readonly status: number;
  readonly problems: readonly ProblemName[];
}

/** The responses of each route's refusals. Responses that several routes share are components. */
export function responsesOfRefusals(routes: readonly Route[]) {
  const uses = Map.groupBy(routes.flatMap(refusalsOf), nameOf);
  const shared = [...uses].filter(([, refusals]) => refusals.length > 1);
  const components = Object.fromEntries(
    shared.flatMap(([name, [refusal]]) => (refusal === undefined ? [] : [[name, responseOf(refusal)]])),
  );
  const responsesOf = (route: Route): ZodOpenApiResponsesObject =>
    Object.fromEntries(
      refusalsOf(route).map((refusal) => {
        const name = nameOf(refusal);
        const response = name in components ? { $ref: `#/components/responses/${name}` } : responseOf(refusal);
        return [String(refusal.status), response];
      }),
    );
  return { responsesOf, components };
}

/** The refusals of a route by status: those of its own first, then those that its kind of request may meet. */
function refusalsOf(route: Route): Refusal[] {
  const problems = new Set<ProblemName>([
    ...route.refuses,
    ...(route.batched ? (['tooBusy'] as const) : []),
    'invalidRequest',
    'unauthorized',
    ...(route.needs === null ? [] : (['permissionMissing'] as const)),
    ...(route.method === 'GET' ? [] : (['idempotencyKeyReused', 'idempotencyKeyInUse', 'answerErased'] as const)),
  ]);
  const byStatus = Map.groupBy(problems, (problem) => statusOfCode[problemCode(problem)]);
  return [...byStatus].map(([status, problems]) => ({ status, problems })).sort((a, b) => a.status - b.status);
}

function responseOf({ problems }: Refusal): ZodOpenApiResponseObject {
  const sentences = problems.map((problem) => `\`${reasonOf(problem)}\`: ${sentenceOf(problem)}`);
  return {
    description: sentences.length === 1 ? `${sentences}` : sentences.map((sentence) => `- ${sentence}`).join('\n'),
    content: { 'application/json': { schema: ErrorBody } },
  };
}

function sentenceOf(problem: ProblemName): string {
  if (problem === 'invalidRequest') return 'The request is invalid: `issues` names each field and its fault.';
  return registry[problem][1].replaceAll('<', '\\<');
}

/** `SlugTakenOrIdempotencyConflict`: unique, and readable as the name of a type. */
function nameOf({ problems }: Refusal): string {
  const words = problems.map((problem) => problem.slice(0, 1).toUpperCase() + problem.slice(1));
  return words.join('Or').replace('IdempotencyKeyReusedOrIdempotencyKeyInUse', 'IdempotencyConflict');
}
