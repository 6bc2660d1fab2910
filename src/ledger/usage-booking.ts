import type { Instant } from '../kernel/calendar.ts';
import { applyCredits, type UsableCredit } from '../rating/credits.ts';

/** An account that is locked, as the bookings of this unit of work meet it. */
export interface LockedAccount {
  readonly id: string;
  readonly pricingModelId: string;
  /** What the sides leave, holds and credits that have ended included. */
  readonly available: bigint;
  /** Units set aside by holds that have not ended. */
  readonly held: bigint;
  /** When its last entry was booked. An entry never carries an earlier instant. */
  readonly bookedAt: Instant;
  readonly credits: readonly UsableCredit[];
  /** What is left of credits that have ended and are not booked as such. */
  readonly lapsed: bigint;
}

/** What a customer may still use: credits that can be used, less usage that no credit covered and what is held. */
export function balanceOf({ available, lapsed, held }: LockedAccount): bigint {
  return available - lapsed - held;
}

/** Usage of one price on an account that is locked. */
export interface AccountUsage {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly billingPeriodId: string | null;
  /** 1 or more. */
  readonly units: bigint;
}

/** The usages with those of one account and price added up, in the order in which they were first named. */
export function mergeUsages(usages: readonly AccountUsage[]): AccountUsage[] {
  const merged = new Map<string, { usage: AccountUsage; units: bigint }>();
  for (const usage of usages) {
    const key = `${usage.ledgerAccountId} ${usage.priceId}`;
    const sum = merged.get(key);
    if (sum === undefined) merged.set(key, { usage, units: usage.units });
    else sum.units += usage.units;
  }
  return Array.from(merged.values(), ({ usage, units }) => ({ ...usage, units }));
}

/** A usage as it is booked: which credits cover how much of it, and what that leaves. */
export interface BookedUsage extends AccountUsage {
  readonly applications: readonly { readonly id: string; readonly amount: bigint }[];
  readonly uncovered: bigint;
  readonly availableAfter: bigint;
}

/** The account as it is once the usage is booked. */
export interface UsedAccount {
  readonly account: LockedAccount;
  readonly used: bigint;
  readonly covered: bigint;
}

/**
 * Covers usages one after the other with the credits of their accounts, as `applyCredits` does, and says what becomes of
 * each account that is used. Worked example L1.
 */
export function coverUsages(
  accounts: ReadonlyMap<string, LockedAccount>,
  usages: readonly AccountUsage[],
): { booked: BookedUsage[]; accounts: UsedAccount[] } {
  const used = new Map<string, UsedAccount>();
  const booked = usages.map((usage): BookedUsage => {
    const { account, ...sums } = used.get(usage.ledgerAccountId) ?? startOf(accounts, usage.ledgerAccountId);
    const { applications, uncovered } = applyCredits(account.credits, usage.units);
    const available = account.available - usage.units;
    used.set(account.id, {
      account: { ...account, available, credits: rest(account.credits, applications) },
      used: sums.used + usage.units,
      covered: sums.covered + usage.units - uncovered,
    });
    return { ...usage, applications, uncovered, availableAfter: available };
  });
  return { booked, accounts: [...used.values()] };
}

function startOf(accounts: ReadonlyMap<string, LockedAccount>, id: string): UsedAccount {
  const account = accounts.get(id);
  if (account === undefined) throw new Error(`account ${id} is not locked`);
  return { account, used: 0n, covered: 0n };
}

function rest(credits: readonly UsableCredit[], applications: BookedUsage['applications']): readonly UsableCredit[] {
  if (applications.length === 0) return credits;
  const amounts = new Map(applications.map(({ id, amount }) => [id, amount]));
  return credits.flatMap((credit) => {
    const remaining = credit.remaining - (amounts.get(credit.id) ?? 0n);
    return remaining === 0n ? [] : [{ ...credit, remaining }];
  });
}
