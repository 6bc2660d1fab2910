import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { moves, type Side } from './ledger.ts';

export const ledgerEntryTypes = ['grant', 'usage', 'expiry', 'take_back', 'settlement', 'settlement_undone'] as const;
export type LedgerEntryType = (typeof ledgerEntryTypes)[number];

/** The amount that a usage entry took from one grant. */
const UsageCreditApplication = z
  .object({
    usageCreditId: z.string(),
    amount: WholeNumber,
    source: z.string().meta({ description: 'The origin of the credits.' }),
    featureId: z.string().nullable().meta({ description: 'The feature that granted the credits, if any.' }),
    expiresAt: Timestamp.nullable(),
  })
  .meta({ id: 'UsageCreditApplication' });
export type UsageCreditApplication = z.infer<typeof UsageCreditApplication>;

/** A change of a balance, and the grants that a usage entry used. */
export const LedgerEntry = z
  .object({
    id: z.string(),
    createdAt: Timestamp,
    subscriptionId: z.string(),
    usageMeterId: z.string(),
    type: z.enum(ledgerEntryTypes),
    amount: WholeNumber.meta({
      description: 'The change of the balance: credits are positive, usage is negative.',
    }),
    availableAfter: WholeNumber.meta({
      description:
        'The balance after this entry: credits granted and usage settled, less units used, expired and taken back.',
    }),
    priceId: z.string().nullable().meta({ description: 'For usage, the price at which it is counted.' }),
    billingPeriodId: z.string().nullable(),
    usageCreditId: z.string().nullable().meta({ description: 'The credits that were granted, expired or taken back.' }),
    sourceId: z.string().meta({
      description: 'The reason of the entry: the number of a booking of usage events, a credit, or an invoice.',
    }),
    usageCreditApplications: z.array(UsageCreditApplication).meta({
      description: 'For usage, the grants that paid for it, in the order of use. The rest of the amount is overage.',
    }),
  })
  .meta({ id: 'LedgerEntry' });
export type LedgerEntry = z.infer<typeof LedgerEntry>;

/** The available amount of an account at an instant. */
export const LedgerBalance = z
  .object({ subscriptionId: z.string(), usageMeterId: z.string(), availableBalance: WholeNumber })
  .meta({ id: 'LedgerBalance' });
export type LedgerBalance = z.infer<typeof LedgerBalance>;

/** Selects accounts of a customer and a point in time: `asOf` null is now. */
export interface LedgerQuery {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  readonly usageMeterId: string | null;
  readonly asOf: Instant | null;
}

const typeOfMove = {
  grant: 'grant',
  usage: 'usage',
  expiry: 'expiry',
  takeBack: 'take_back',
  settlement: 'settlement',
  settlementUndone: 'settlement_undone',
} as const satisfies Record<keyof typeof moves, LedgerEntryType>;

const typeOfSides = new Map(
  Object.entries(typeOfMove).map(([move, type]) => [sidesText(moves[move as keyof typeof moves]), type]),
);

function sidesText({ debitSide, creditSide }: { debitSide: string; creditSide: string }): string {
  return `${debitSide} ${creditSide}`;
}

/** The type of a move between two sides, and the amount by which it changed the balance. */
export function readMove(sides: { debitSide: string; creditSide: string; amount: bigint }): {
  type: LedgerEntryType;
  amount: bigint;
} {
  const type = typeOfSides.get(sidesText(sides));
  assert(type !== undefined, 'the database knows no other sides');
  const available: Side = 'available';
  return { type, amount: sides.creditSide === available ? sides.amount : -sides.amount };
}
