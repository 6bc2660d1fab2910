import { z } from 'zod';
import type { Parts } from '../database/cells.ts';
import { Timestamp } from '../kernel/json.ts';

const count = z.int();
/** The most that is counted: a look at what there is to do needs no more. */
export const mostToLookAt = 1000;

/** The records of an environment that somebody should look at. */
export const Attention = z
  .object({
    pastDueSubscriptions: count,
    unpaidSubscriptions: count,
    pastDueInvoices: count.meta({ description: 'Invoices that `GET /invoices?pastDue=true` lists.' }),
    failedPayments: count.meta({ description: 'Charges of the last 7 days that failed.' }),
    reversedPayments: count.meta({
      description: 'Payments that a lost dispute or a returned debit took back, changed in the last 7 days.',
    }),
    draftInvoices: count,
    failingWebhooks: count.meta({ description: 'Webhooks whose attempts fail, or that the service switched off.' }),
    stuckSubscriptions: count.meta({
      description: 'Subscriptions whose due work failed. It is tried again by itself.',
    }),
    brokenInvariants: count.nullable().meta({
      description: 'Invariants of the whole service that the last check found broken. Null before the first check.',
    }),
  })
  .meta({ id: 'Attention', description: 'Each count is at most 1,000.' });
export type Attention = z.infer<typeof Attention>;

/** How the service works for one environment. */
export const Health = z
  .object({
    version: z.string(),
    database: z.object({
      version: z.string(),
      roundTripMs: z.number().meta({ description: 'The time of one question to the database.' }),
    }),
    work: z
      .object({
        periodsDue: count.meta({ description: 'Billing periods that have ended and wait for their renewal.' }),
        attemptsDue: count.meta({ description: 'Invoices whose next attempt is due.' }),
        stuckSubscriptions: count,
        messagesPending: count.meta({ description: 'Webhook messages that wait, with those between two attempts.' }),
        oldestMessageAt: Timestamp.nullable(),
      })
      .meta({ description: 'The work of the environment that is due. Each count is at most 1,000.' }),
    checks: z
      .object({
        checkedAt: Timestamp,
        durationMs: z.int(),
        invariants: z.array(z.object({ name: z.string(), sentence: z.string(), holds: z.boolean() })),
      })
      .nullable()
      .meta({ description: 'The last check of the whole service. Null before the first. It names no records.' }),
  })
  .meta({ id: 'Health' });
export type Health = z.infer<typeof Health>;

/** The checks of all cells. An invariant holds if it does in each, and the oldest check tells when all were checked. */
function joinChecks(parts: readonly Health['checks'][]): Health['checks'] {
  const known = parts.filter((checks) => checks !== null);
  if (known.length === 0) return null;
  const invariants = known.flatMap((checks) => checks.invariants);
  const broken = new Set(invariants.filter(({ holds }) => !holds).map(({ name }) => name));
  const byName = new Map(invariants.map((each) => [each.name, { ...each, holds: !broken.has(each.name) }]));
  return {
    checkedAt: Math.min(...known.map(({ checkedAt }) => checkedAt)),
    durationMs: Math.max(...known.map(({ durationMs }) => durationMs)),
    invariants: [...byName.values()],
  };
}

/** The attention that one cell needs. The state of a webhook may be another in each. */
type AttentionPart = Omit<Attention, 'failingWebhooks' | 'brokenInvariants'> & {
  readonly failingWebhooks: readonly string[];
  readonly checks: Health['checks'];
};

/** The attention that all cells need. */
export function toAttention(parts: Parts<AttentionPart>): Attention {
  const total = (name: Exclude<keyof AttentionPart, 'failingWebhooks' | 'checks'>) =>
    atMost(parts.reduce((sum, part) => sum + part[name], 0));
  const checks = joinChecks(parts.map((part) => part.checks));
  return {
    pastDueSubscriptions: total('pastDueSubscriptions'),
    unpaidSubscriptions: total('unpaidSubscriptions'),
    pastDueInvoices: total('pastDueInvoices'),
    failedPayments: total('failedPayments'),
    reversedPayments: total('reversedPayments'),
    draftInvoices: total('draftInvoices'),
    failingWebhooks: atMost(new Set(parts.flatMap(({ failingWebhooks }) => failingWebhooks)).size),
    stuckSubscriptions: total('stuckSubscriptions'),
    brokenInvariants: checks?.invariants.filter(({ holds }) => !holds).length ?? null,
  };
}

function atMost(counted: number): number {
  return Math.min(counted, mostToLookAt);
}

/** The health of all cells: the work of all is due, and the slowest database answers last. */
export function toHealth(parts: Parts<Health>): Health {
  const [{ version, database }] = parts;
  const total = (name: 'periodsDue' | 'attemptsDue' | 'stuckSubscriptions' | 'messagesPending') =>
    atMost(parts.reduce((sum, part) => sum + part.work[name], 0));
  const oldest = parts.flatMap(({ work }) => work.oldestMessageAt ?? []);
  return {
    version,
    database: { ...database, roundTripMs: Math.max(...parts.map((part) => part.database.roundTripMs)) },
    work: {
      periodsDue: total('periodsDue'),
      attemptsDue: total('attemptsDue'),
      stuckSubscriptions: total('stuckSubscriptions'),
      messagesPending: total('messagesPending'),
      oldestMessageAt: oldest.length === 0 ? null : Math.min(...oldest),
    },
    checks: joinChecks(parts.map(({ checks }) => checks)),
  };
}
