import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { enterSlots } from '../database/work.ts';

// The allowances of migrations/0025-cells.sql. A change of one locks the discount in the cell first, and at home then. So home
// never knows of fewer redemptions than a cell has.

// As long as a request takes that was given the last one.
const keptMs = 2_000;

/** A discount whose redemptions are counted over cells, and the slot of a customer that is to redeem it; null: it is only counted. */
export interface AllowanceNeed {
  readonly environmentId: number;
  readonly discountId: string;
  readonly slot: string | null;
  /** Whether others wait for a moment until it is redeemed. */
  readonly isKept: boolean;
}

type Counted = Pick<AllowanceNeed, 'environmentId' | 'discountId'>;
type CountedInSlot = Counted & { readonly slot: string };

/** How often customers of a slot may still redeem the discount, as far as this cell knows; null: as often as they like. */
export async function countRedemptionsLeft(
  db: Database,
  { environmentId, discountId, slot }: CountedInSlot,
): Promise<number | null> {
  const { rows } = await sql<{ left: number | null }>`
    select redemptions_left(${environmentId}, ${discountId}, ${slot}) as left`.execute(db);
  return rows[0]?.left ?? null;
}

/** Has redemptions of the discount in this cell wait for the end of the transaction. */
async function lockDiscount(db: Database, { environmentId, discountId }: Counted): Promise<void> {
  await sql`
    select from discounts where environment_id = ${environmentId} and id = ${discountId} for no key update`.execute(db);
}

/** Lets customers of a slot of another cell redeem the discount once more. False: home knows of none that is left. */
export async function raiseAllowance(
  home: Database,
  there: Database,
  wanted: CountedInSlot & Pick<AllowanceNeed, 'isKept'>,
): Promise<boolean> {
  const { environmentId, discountId, slot } = wanted;
  return there.transaction().execute(async (db) => {
    await sql`select ${enterSlots([slot])}`.execute(db);
    await lockDiscount(db, wanted);
    const left = await countRedemptionsLeft(db, wanted);
    if (left === null || left > 0) return true;
    const { rows: known } = await sql<{ allowed: number }>`
      select coalesce(sum(allowed), 0)::bigint as allowed from slots_allowances
       where environment_id = ${environmentId} and discount_id = ${discountId} and slot = ${slot}`.execute(db);
    const allowed = known[0]?.allowed ?? 0;
    const { rows: given } = await sql<{ allowed: number }>`
      select give_allowance(${environmentId}, ${discountId}, ${slot}, ${allowed}, ${allowed - left + 1}) as allowed`.execute(
      home,
    );
    const now = given[0]?.allowed ?? 0;
    await sql`
      insert into slots_allowances (environment_id, discount_id, slot, allowed, kept_until)
      values (${environmentId}, ${discountId}, ${slot}, ${now}, ${wanted.isKept ? Date.now() + keptMs : 0})
      on conflict (environment_id, discount_id, slot)
      do update set allowed = excluded.allowed, kept_until = excluded.kept_until`.execute(db);
    return now > allowed - left;
  });
}

/**
 * Returns to home what the slots of a cell are allowed and have not redeemed. Answers whether some is kept for requests that run. A cell
 * commits that it has less before home knows, so that an interrupted call gives nobody more.
 */
export async function takeBackAllowances(home: Database, there: Database, counted: Counted): Promise<boolean> {
  const { environmentId, discountId } = counted;
  await there.transaction().execute(async (db) => {
    await lockDiscount(db, counted);
    await sql`
      update slots_allowances a set allowed = r.redeemed from (${redeemedBySlot(counted)}) r
       where a.environment_id = ${environmentId} and a.discount_id = ${discountId} and a.slot = r.slot
         and a.allowed > r.redeemed and a.kept_until < ${Date.now()}`.execute(db);
  });
  return there.transaction().execute(async (db) => {
    // A slot that is about to leave is not among them, and none leaves meanwhile.
    await sql`select ${enterSlots([])}`.execute(db);
    await lockDiscount(db, counted);
    // Home may have given one that the cell has not noted.
    const { rows: given } = await sql<{ slot: string }>`
      select slot from slots_allowances
       where environment_id = ${environmentId} and discount_id = ${discountId}`.execute(home);
    const { rows } = await sql<{ slot: string; allowed: number; isKept: boolean }>`
      select s.slot, coalesce(r.allowed, 0) as allowed, coalesce(r.allowed > r.redeemed, false) as is_kept
        from (select unnest(${given.map(({ slot }) => slot)}::text[]) as slot
              union select slot from (${redeemedBySlot(counted)}) known) s
        left join (${redeemedBySlot(counted)}) r using (slot)
       where holds_slot(s.slot) order by s.slot`.execute(db);
    const slots = rows.map(({ slot }) => slot);
    const allowed = rows.map((row) => row.allowed);
    await sql`
      select give_allowance(${environmentId}, ${discountId}, slot, allowed, allowed)
        from unnest(${slots}::text[], ${allowed}::bigint[]) as known (slot, allowed)`.execute(home);
    return rows.some(({ isKept }) => isKept);
  });
}

/** An allowance of a slot of another cell. */
export interface Allowance extends CountedInSlot {
  readonly allowed: number;
  readonly allowedAtHome: number;
}

// Rows of one statement, which home gets as its parameters.
const comparedAtOnce = 10_000;

/**
 * The allowances of a cell that are higher than home knows, except of slots that move. One that both lower while they are read is
 * found too.
 */
export async function findUnknownAllowances(home: Database, there: Database): Promise<Allowance[]> {
  const unknown: Allowance[] = [];
  for (let after: CountedInSlot | undefined = { environmentId: 0, discountId: '', slot: '' }; after !== undefined; ) {
    const { environmentId, discountId, slot }: CountedInSlot = after;
    const { rows } = await sql<CountedInSlot & { allowed: number }>`
      select environment_id, discount_id, slot, allowed from slots_allowances
       where (environment_id, discount_id, slot) > (${environmentId}, ${discountId}, ${slot})
       order by environment_id, discount_id, slot limit ${comparedAtOnce}`.execute(there);
    const { rows: higher } = await sql<Allowance>`
      select known.*, coalesce(a.allowed, 0) as allowed_at_home
        from unnest(${rows.map((row) => row.environmentId)}::bigint[], ${rows.map((row) => row.discountId)}::text[],
                    ${rows.map((row) => row.slot)}::text[], ${rows.map((row) => row.allowed)}::bigint[])
          as known (environment_id, discount_id, slot, allowed)
        left join slots_allowances a
          on a.environment_id = known.environment_id and a.discount_id = known.discount_id and a.slot = known.slot
       where known.allowed > coalesce(a.allowed, 0) and known.slot not in (select code from slots_moving)
       order by known.environment_id, known.discount_id, known.slot`.execute(home);
    unknown.push(...higher);
    after = rows.length < comparedAtOnce ? undefined : rows.at(-1);
  }
  return unknown;
}

/** How much each slot is allowed, and how much it has redeemed. */
function redeemedBySlot({ environmentId, discountId }: Counted) {
  return sql`
    select a.slot, a.allowed, count(r.id) as redeemed
      from slots_allowances a
      left join discount_redemptions r on r.environment_id = a.environment_id and r.discount_id = a.discount_id
       and right(r.customer_id, 2) = a.slot
     where a.environment_id = ${environmentId} and a.discount_id = ${discountId}
     group by a.slot, a.allowed`;
}
