import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import { idArray, idColumn, textArray, type Word } from '../database/array-literal.ts';
import { newId } from '../database/new-id.ts';
import { sentTogether } from '../database/sent-together.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { CreditApplication, UsableCredit } from '../rating/credits.ts';
import { moves } from './ledger.ts';
import {
  type AccountSums,
  mostRemembered,
  type RememberedAccount,
  rememberAccount,
} from './store-remembered-accounts.ts';
import {
  type BookedUsage,
  type Drawn,
  type LockedAccount,
  type RollUp,
  sumOf,
  type UsedAccount,
} from './usage-booking.ts';

interface AccountRow extends AccountSums {
  readonly id: string;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly subscriptionRevision: number;
  readonly usageMeterId: string;
  readonly available: bigint;
  readonly held: bigint;
  readonly drawnCreditId: string | null;
  readonly drawable: bigint;
  readonly openSeriesId: number | null;
  readonly openHour: Instant | null;
  readonly openUnits: bigint | null;
  readonly openEvents: number | null;
  readonly updatedAt: Instant;
}

/** Locks the accounts with these ids, and answers them with the credits that can be used now. */
export async function lockAccountsForUsage(
  work: Work,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LockedAccount>> {
  // Two statements: the second sees what was committed while the first waited for the accounts.
  const [accounts, credits] = await sentTogether([lockAccounts(work, ids), listOpenCredits(work, ids)]);
  const endedHolds = await listEndedHolds(
    work,
    accounts.filter((account) => account.held > 0n),
  );
  return new Map(
    accounts.map((row) => {
      const { id, pricingModelId, available, updatedAt: bookedAt, subscriptionRevision } = row;
      const drawn = drawnOf(row);
      const { usable, lapsed } = openCredits(work, credits.get(id) ?? [], drawn);
      const account: LockedAccount = {
        id,
        pricingModelId,
        available,
        held: row.held,
        bookedAt,
        credits: usable,
        lapsed,
        drawn,
        open: openOf(row),
      };
      if (ids.length <= mostRemembered)
        rememberAccount(work, { account, sums: sumsOf(row), subscriptionRevision, lockedBy: keyOf(row) });
      const ended = endedHolds.get(id) ?? 0n;
      // What is remembered goes on from this very account.
      return [id, ended === 0n ? account : { ...account, held: row.held - ended }];
    }),
  );
}

function sumsOf({ granted, used, covered, applied, expired, settled, takenBack }: AccountRow): AccountSums {
  return { granted, used, covered, applied, expired, settled, takenBack };
}

function drawnOf({ drawnCreditId: creditId, covered, applied, drawable }: AccountRow): Drawn | null {
  return creditId === null ? null : { creditId, amount: covered - applied, drawable };
}

function keyOf({ subscriptionId, usageMeterId }: AccountRow): RememberedAccount['lockedBy'] {
  return { subscriptionId, usageMeterId };
}

function openOf({
  openSeriesId: seriesId,
  openHour: hour,
  openUnits: units,
  openEvents: events,
}: AccountRow): RollUp | null {
  return seriesId === null || hour === null || units === null || events === null
    ? null
    : { seriesId, hour, units, events };
}

async function lockAccounts(work: Work, ids: readonly string[]): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`
    select id, pricing_model_id, subscription_id, subscription_revision, usage_meter_id, granted, used, covered, applied,
           expired, settled, taken_back, available, held, drawn_credit_id, drawable,
           open_series_id, open_hour, open_units, open_events, updated_at
      from ledger_accounts
     where environment_id = ${work.environmentId} and id = any(${idArray(ids)}::text[])
     order by subscription_id, usage_meter_id for no key update`.execute(work.db);
  return rows;
}

/** The credits of locked accounts with a rest, in the order in which they are used, as their rows say it. */
async function listOpenCredits(
  work: Work,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, readonly UsableCredit[]>> {
  const { rows } = await sql<UsableCredit & { ledgerAccountId: string }>`
    select id, ledger_account_id, issued - applied - expired - taken_back as remaining, priority, expires_at
      from usage_credits
     where environment_id = ${work.environmentId} and ledger_account_id = any(${idArray(accountIds)}::text[]) and not spent
     order by ledger_account_id, priority, expires_at nulls last, id`.execute(work.db);
  const byAccount = new Map<string, UsableCredit[]>();
  for (const { ledgerAccountId, ...credit } of rows) {
    const credits = byAccount.get(ledgerAccountId);
    if (credits === undefined) byAccount.set(ledgerAccountId, [credit]);
    else credits.push(credit);
  }
  return byAccount;
}

/** Those that can be used now, and what is left of the others, when what is drawn is taken off. */
function openCredits(work: Work, credits: readonly UsableCredit[], drawn: Drawn | null) {
  const usable: UsableCredit[] = [];
  let lapsed = 0n;
  for (const credit of credits) {
    const remaining = credit.id === drawn?.creditId ? credit.remaining - drawn.amount : credit.remaining;
    if (credit.expiresAt === null || credit.expiresAt > work.now) usable.push({ ...credit, remaining });
    else lapsed += remaining;
  }
  return { usable, lapsed };
}

/** What holds that have ended still stand with on locked accounts. */
async function listEndedHolds(work: Work, accounts: readonly AccountRow[]): Promise<ReadonlyMap<string, bigint>> {
  if (accounts.length === 0) return new Map();
  const { rows } = await sql<{ ledgerAccountId: string; amount: bigint }>`
    select ledger_account_id, sum(amount) as amount from usage_holds
     where environment_id = ${work.environmentId} and ledger_account_id = any(${idColumn(accounts, ({ id }) => id)}::text[])
       and status = 'open' and expires_at <= ${work.now}
     group by ledger_account_id`.execute(work.db);
  return new Map(rows.map((row) => [row.ledgerAccountId, row.amount]));
}

/** Usage that is to be booked, and what becomes of its accounts. */
export interface CoveredUsage {
  readonly booked: readonly BookedUsage[];
  readonly accounts: readonly UsedAccount[];
}

/**
 * Usage on accounts as one statement: the entries with which credits paid for them, what is to be billed, and the sides of
 * the accounts. `sourceId` names what told the usage, and is given once. The accounts are locked, or `remembered`: then the
 * statement locks them, and has the unit of work run again where one is not what is remembered.
 */
export function usageInsertion(
  work: Work,
  sourceId: string | RawBuilder<unknown>,
  { booked, accounts }: CoveredUsage,
  remembered: ReadonlyMap<string, RememberedAccount> | null = null,
): RawBuilder<unknown> {
  const { environmentId, now } = work;
  const byId = new Map(accounts.map((used) => [used.account.id, used.account]));
  const entries = booked.map((usage) => {
    const account = byId.get(usage.ledgerAccountId);
    assert(account !== undefined, 'what is used is there');
    const { pricingModelId, bookedAt: createdAt } = account;
    return { ...usage, id: newId('ledgerEntry'), pricingModelId, createdAt };
  });
  const column = (read: (entry: (typeof entries)[number]) => Word) => idColumn(entries, read);
  const usedCredits = accounts.flatMap(({ applied }) => applied);
  const overages = entries.filter((entry) => entry.uncovered > 0n);
  // What has nothing to write is left out: the database would make it ready all the same.
  const covered = usedCredits.length === 0 ? sql`` : sql`used_credit as (${creditUse(work, usedCredits)}),`;
  const moved =
    remembered === null ? accountUpdate(work, accounts) : rememberedAccountUpdate(work, accounts, remembered);
  const confirmed = remembered === null ? sql`` : confirmation(accounts.length, usedCredits.length);
  const applied = applicationsOf(entries.map(({ applications }) => applications));
  return sql`
    with ${covered} moved_account as (${moved}), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      select ${environmentId}, ${newId('ledgerTransaction')}, ${accounts[0]?.account.pricingModelId}, 'usage_event_processed',
             ${sourceId}, ${now}::bigint, ${now}::bigint ${confirmed}
      returning id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, price_id, billing_period_id, applied_credit_ids, applied_amounts, available_after, created_at)
      select ${environmentId}, new.id, new.pricing_model_id, written_transaction.id, new.ledger_account_id,
             ${moves.usage.debitSide}, ${moves.usage.creditSide}, new.units, new.price_id, new.billing_period_id,
             ${applied.columns}, new.available_after, new.created_at
        from unnest(
               ${column((entry) => entry.id)}::text[], ${column((entry) => entry.pricingModelId)}::text[],
               ${column((entry) => entry.ledgerAccountId)}::text[], ${column((entry) => entry.priceId)}::text[],
               ${column((entry) => entry.billingPeriodId)}::text[], ${column((entry) => entry.units)}::numeric[],
               ${applied.arrays}, ${column((entry) => entry.availableAfter)}::numeric[], ${column((entry) => entry.createdAt)}::bigint[]
             ) as new (id, pricing_model_id, ledger_account_id, price_id, billing_period_id, units,
                     credit, applied, available_after, created_at),
             written_transaction
    ) ${overages.length === 0 ? sql`select 1` : overageInsertion(work, overages)}`;
}

/**
 * Where a ledger transaction comes from that is written only if the accounts that were moved are what is remembered. Nothing
 * else is written before they have their locks: credits change, and entries get their numbers, in the order of those.
 */
function confirmation(accounts: number, usedCredits: number) {
  const areCovered = usedCredits === 0 ? sql`` : sql`and (select count(*) from used_credit) = ${usedCredits}::integer`;
  return sql`
        from (select require_unchanged(count(*) filter (where is_known) = ${accounts}::integer ${areCovered}) as unchanged
                from moved_account) confirmed
       where confirmed.unchanged`;
}

// What is not added to but replaced: what is drawn, and which roll-up is open.
const stateColumns = sql`drawn_credit_id, drawable, open_series_id, open_hour, open_units, open_events`;

/** Sets those from the row `moved`, which has them from `stateArrays`. */
const stateUpdate = sql`
  drawn_credit_id = moved.drawn_credit_id, drawable = moved.drawable, open_series_id = moved.open_series_id,
  open_hour = moved.open_hour, open_units = moved.open_units, open_events = moved.open_events`;

function stateArrays(accounts: readonly UsedAccount[]) {
  const column = (read: (account: LockedAccount) => Word) => idColumn(accounts, ({ account }) => read(account));
  return sql`
    ${column(({ drawn }) => drawn?.creditId ?? null)}::text[], ${column(({ drawn }) => drawn?.drawable ?? 0n)}::numeric[],
    ${column(({ open }) => open?.seriesId ?? null)}::bigint[], ${column(({ open }) => open?.hour ?? null)}::bigint[],
    ${column(({ open }) => open?.units ?? null)}::numeric[], ${column(({ open }) => open?.events ?? null)}::bigint[]`;
}

function accountUpdate({ environmentId, now }: Work, accounts: readonly UsedAccount[]) {
  return sql`
      update ledger_accounts a set used = a.used + moved.used, covered = a.covered + moved.covered,
             applied = a.applied + moved.applied, ${stateUpdate}, updated_at = greatest(a.updated_at, ${now})
        from unnest(
               ${idColumn(accounts, ({ account }) => account.id)}::text[],
               ${idColumn(accounts, ({ used }) => used)}::numeric[],
               ${idColumn(accounts, ({ covered }) => covered)}::numeric[],
               ${idColumn(accounts, ({ applied }) => sumOf(applied))}::numeric[],
               ${stateArrays(accounts)}
             ) as moved (id, used, covered, applied, ${stateColumns})
       where a.environment_id = ${environmentId} and a.id = moved.id`;
}

/** The same without a lock before it. Answers of each account whether it was what is remembered. */
function rememberedAccountUpdate(
  { environmentId, now }: Work,
  accounts: readonly UsedAccount[],
  remembered: ReadonlyMap<string, RememberedAccount>,
) {
  const known = accounts
    .map((moved) => {
      const before = remembered.get(moved.account.id);
      assert(before !== undefined, 'what is used is remembered');
      return { ...before, moved };
    })
    .sort((one, other) => compareLocks(one.lockedBy, other.lockedBy));
  // What they were is told by what they are then: a condition would be looked at before their locks are waited for.
  return sql`
      update ledger_accounts a set used = a.used + moved.more_used, covered = a.covered + moved.more_covered,
             applied = a.applied + moved.more_applied, ${stateUpdate}, updated_at = greatest(a.updated_at, ${now})
        from unnest(
               ${idColumn(known, ({ moved }) => moved.account.id)}::text[],
               ${idColumn(known, ({ moved }) => moved.used)}::numeric[],
               ${idColumn(known, ({ moved }) => moved.covered)}::numeric[],
               ${idColumn(known, ({ moved }) => sumOf(moved.applied))}::numeric[],
               ${stateArrays(known.map(({ moved }) => moved))},
               ${idColumn(known, sidesText)}::text[]
             ) as moved (id, more_used, more_covered, more_applied, ${stateColumns}, sides)
       where a.environment_id = ${environmentId} and a.id = moved.id
      returning concat_ws('_', a.granted, a.used, a.covered, a.applied, a.expired, a.settled, a.taken_back, a.held,
                          a.updated_at, a.subscription_revision) = moved.sides as is_known`;
}

/** What must be on the account once it is moved, as the database puts it together: one text, as ten columns take it longer. */
function sidesText({ sums, subscriptionRevision, moved }: RememberedAccount & { readonly moved: UsedAccount }): string {
  const { granted, expired, settled, takenBack } = sums;
  const [used, covered] = [sums.used + moved.used, sums.covered + moved.covered];
  const applied = sums.applied + sumOf(moved.applied);
  const { bookedAt } = moved.account;
  return `${granted}_${used}_${covered}_${applied}_${expired}_${settled}_${takenBack}_0_${bookedAt}_${subscriptionRevision}`;
}

/** The order in which all accounts are locked. */
function compareLocks(one: RememberedAccount['lockedBy'], other: RememberedAccount['lockedBy']): number {
  if (one.subscriptionId !== other.subscriptionId) return one.subscriptionId < other.subscriptionId ? -1 : 1;
  return one.usageMeterId < other.usageMeterId ? -1 : 1;
}

function creditUse({ environmentId, now }: Work, used: readonly CreditApplication[]) {
  return sql`
      update usage_credits c set applied = c.applied + used.amount, updated_at = ${now}
        from unnest(${idColumn(used, ({ id }) => id)}::text[], ${idColumn(used, ({ amount }) => amount)}::numeric[])
             as used (id, amount)
       where c.environment_id = ${environmentId} and c.id = used.id
      returning c.id`;
}

/** What is to be billed, of entries of which each has something that no credit covered: once their accounts are locked. */
function overageInsertion({ environmentId }: Work, overages: readonly BookedUsage[]) {
  return sql`
    insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered)
    select ${environmentId}, new.*
      from written_transaction, unnest(
             ${idColumn(overages, (entry) => entry.ledgerAccountId)}::text[],
             ${idColumn(overages, (entry) => entry.priceId)}::text[],
             ${idColumn(overages, (entry) => entry.uncovered)}::numeric[]
           ) as new (ledger_account_id, price_id, uncovered)
    on conflict (environment_id, ledger_account_id, price_id)
    do update set uncovered = usage_overages.uncovered + excluded.uncovered`;
}

/**
 * The credits that paid for entries, as arrays of one element for each entry and as columns of them, `credit` and `applied`:
 * null where none did. Mostly one did, and to read an array of one credit from a text for each entry takes longer than to
 * make one.
 */
function applicationsOf(entries: readonly BookedUsage['applications'][]) {
  if (entries.every((applications) => applications.length <= 1)) {
    return {
      columns: sql`case when new.credit is not null then array[new.credit] end, case when new.credit is not null then array[new.applied] end`,
      arrays: sql`${idColumn(entries, ([one]) => one?.id ?? null)}::text[], ${idColumn(entries, ([one]) => one?.amount ?? null)}::numeric[]`,
    };
  }
  const lists = (key: 'id' | 'amount') =>
    textArray(entries.map((all) => (all.length === 0 ? null : idColumn(all, (each) => each[key]))));
  return {
    columns: sql`new.credit::text[], new.applied::numeric[]`,
    arrays: sql`${lists('id')}::text[], ${lists('amount')}::text[]`,
  };
}
