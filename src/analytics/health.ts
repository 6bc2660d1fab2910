import { z } from 'zod';
import { Timestamp } from '../kernel/json.ts';

const count = z.int();

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
