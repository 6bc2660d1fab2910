import type { Instant } from '../kernel/calendar.ts';
import { applyCredits, type CreditApplication, type UsableCredit } from '../rating/credits.ts';

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
  /** What paid for usage and is not in the row of its credit yet. */
  readonly drawn: Drawn | null;
  /** The roll-up that is added to on the account. */
  readonly open: RollUp | null;
}

/** What the events of a series with a date in one hour add up to, or what some of them add to that. */
export interface RollUp {
  readonly seriesId: number;
  /** The instant at which the hour begins. */
  readonly hour: Instant;
  readonly units: bigint;
  readonly events: number;
}

/** Units of a credit that are drawn: they paid for usage, and its row, which says that `drawable` are left, does not know. */
export interface Drawn {
  readonly creditId: string;
  readonly amount: bigint;
  readonly drawable: bigint;
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

/** A usage as it is booked: which credits cover how much of it, and what that leaves. */
export interface BookedUsage extends AccountUsage {
  readonly applications: readonly CreditApplication[];
  readonly uncovered: bigint;
  readonly availableAfter: bigint;
}

/** The account as it is once the usage is booked, and what is to be written about it. */
export interface UsedAccount {
  readonly account: LockedAccount;
  readonly used: bigint;
  readonly covered: bigint;
  /** How much is to be added to what was applied of its credits, in their rows. */
  readonly applied: readonly CreditApplication[];
}

/** When usage is booked, and which roll-ups are open on their accounts with it, by account: of the others what was stays. */
export interface BookedAt {
  readonly now: Instant;
  readonly open: ReadonlyMap<string, RollUp>;
}

/**
 * Covers usages one after the other with the credits of their accounts, as `applyCredits` does, and says what becomes of
 * each account that is used. Worked example L1.
 */
export function coverUsages(
  accounts: ReadonlyMap<string, LockedAccount>,
  usages: readonly AccountUsage[],
  at: BookedAt,
): { booked: BookedUsage[]; accounts: UsedAccount[] } {
  const used = new Map<string, Progress>();
  const booked = usages.map((usage): BookedUsage => {
    const progress = used.get(usage.ledgerAccountId) ?? startOf(accounts, usage.ledgerAccountId);
    const { applications, uncovered } = applyCredits(progress.credits, usage.units);
    used.set(usage.ledgerAccountId, {
      account: progress.account,
      credits: rest(progress.credits, applications),
      used: progress.used + usage.units,
      applications: progress.applications.concat(applications),
    });
    return {
      ...usage,
      applications,
      uncovered,
      availableAfter: progress.account.available - progress.used - usage.units,
    };
  });
  return { booked, accounts: Array.from(used.values(), (progress) => toUsed(progress, at)) };
}

/** How far the usages of an account are covered. */
interface Progress {
  /** As it was before. */
  readonly account: LockedAccount;
  readonly credits: readonly UsableCredit[];
  readonly used: bigint;
  readonly applications: readonly CreditApplication[];
}

function startOf(accounts: ReadonlyMap<string, LockedAccount>, id: string): Progress {
  const account = accounts.get(id);
  if (account === undefined) throw new Error(`account ${id} is not locked`);
  return { account, credits: account.credits, used: 0n, applications: [] };
}

function rest(credits: readonly UsableCredit[], applications: readonly CreditApplication[]): readonly UsableCredit[] {
  if (applications.length === 0) return credits;
  return credits.flatMap((credit) => {
    // One or two, mostly.
    const application = applications.find(({ id }) => id === credit.id);
    if (application === undefined) return credit.remaining === 0n ? [] : [credit];
    const remaining = credit.remaining - application.amount;
    return remaining === 0n ? [] : [{ ...credit, remaining }];
  });
}

function toUsed({ account, credits, used, applications }: Progress, { now, open }: BookedAt): UsedAccount {
  const applied = sumById(applications);
  const { drawn, written } = drawCredits(account, applied);
  const available = account.available - used;
  const bookedAt = Math.max(account.bookedAt, now);
  return {
    account: { ...account, available, credits, drawn, bookedAt, open: open.get(account.id) ?? account.open },
    used,
    covered: sumOf(applied),
    applied: written,
  };
}

/** The units of all. */
export function sumOf(applications: readonly CreditApplication[]): bigint {
  return applications.reduce((sum, { amount }) => sum + amount, 0n);
}

function sumById(applications: readonly CreditApplication[]): readonly CreditApplication[] {
  if (applications.length < 2) return applications;
  const sums = new Map<string, bigint>();
  for (const { id, amount } of applications) sums.set(id, (sums.get(id) ?? 0n) + amount);
  return Array.from(sums, ([id, amount]) => ({ id, amount }));
}

/**
 * How what is applied of credits is kept. As long as one credit pays and something is left of it, the account alone is
 * written: it is drawn. When another one pays too, or it is used up, the rows of all that paid are written.
 *
 * Worked example: of a credit of 10, 4 are drawn, then 5: 9 are drawn of 10. With the next 3, of which it pays 1, 10 are
 * written into its row, and nothing is drawn.
 */
function drawCredits(
  { credits, drawn }: LockedAccount,
  applied: readonly CreditApplication[],
): { drawn: Drawn | null; written: readonly CreditApplication[] } {
  const [only] = applied;
  if (only === undefined) return { drawn, written: [] };
  if (applied.length === 1 && (drawn === null || drawn.creditId === only.id)) {
    const left = credits.find(({ id }) => id === only.id)?.remaining ?? 0n;
    const before = drawn ?? { creditId: only.id, amount: 0n, drawable: left };
    if (left > only.amount) return { drawn: { ...before, amount: before.amount + only.amount }, written: [] };
  }
  const earlier = drawn === null ? [] : [{ id: drawn.creditId, amount: drawn.amount }];
  return { drawn: null, written: sumById([...earlier, ...applied]) };
}
