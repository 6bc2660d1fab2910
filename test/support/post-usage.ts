import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Work } from '../../src/database/work.ts';
import { type AccountKey, accountKeyText } from '../../src/usage/ledger.ts';
import { openAccounts } from '../../src/usage/store-accounts.ts';
import { anyId } from './any-id.ts';

/** Usage of one price on an account that may have to be opened. */
export interface Posting extends AccountKey {
  readonly priceId: string;
  readonly billingPeriodId: string | null;
  readonly units: bigint;
}

/** Books usage without events, as the events of one request are booked. Answers the id of the ledger transaction. */
export async function postUsage(work: Work, postings: readonly Posting[]): Promise<string> {
  const transactionId = anyId('ledgerTransaction');
  const ids = await openAccounts(work, postings);
  const accountOf = (posting: Posting) => {
    const id = ids.get(accountKeyText(posting));
    assert(id !== undefined);
    return id;
  };
  const usages = withAccountUnits(merged(postings));
  const column = (read: (posting: Posting) => unknown) => usages.map(read);
  const none = column(() => null);
  await sql`
    select book_usage(${work.environmentId}, ${work.now}, ${work.now - (work.now % 3_600_000)}, nextval('usage_bookings'),
      ${transactionId}, ${postings[0]?.pricingModelId}, true, ${column(accountOf)}::text[],
      (select array_agg(s.revision order by asked.position) from unnest(${column((each) => each.subscriptionId)}::text[])
         with ordinality as asked (id, position) join subscriptions s on s.id = asked.id),
      ${column((each) => each.priceId)}::text[], ${column((each) => each.billingPeriodId)}::text[], ${none}::bigint[],
      ${column(() => anyId('ledgerEntry'))}::text[], ${column((each) => each.units)}::numeric[], ${column(() => 0)}::numeric[],
      ${column(() => 0)}::bigint[], ${usages.map(({ upTo }) => upTo)}::numeric[], ${usages.map(({ ofAccount }) => ofAccount)}::numeric[],
      ${none}::numeric[],
      ${column(() => 0)}::numeric[], ${column(() => 0)}::numeric[],
      '{}'::bigint[], '{}'::bigint[], '{}'::numeric[], '{}'::bigint[], '{}'::text[],
      '{}'::integer[], '{}'::numeric[], '{}'::text[], '{}'::numeric[], '{}'::numeric[], '{}'::text[], '{}'::text[],
      null::numeric[], null::numeric[])`.execute(work.db);
  return transactionId;
}

/** One posting for each account and price. */
function merged(postings: readonly Posting[]): Posting[] {
  const groups = Map.groupBy(postings, (posting) => `${accountKeyText(posting)} ${posting.priceId}`);
  return Array.from(groups.values(), ([first, ...others]) => {
    assert(first !== undefined);
    return { ...first, units: others.reduce((sum, { units }) => sum + units, first.units) };
  });
}

/** Each with the units of its account up to it, and the first of an account with all of them. */
function withAccountUnits(usages: readonly Posting[]) {
  const ofAccounts = Map.groupBy(usages, accountKeyText);
  const unitsOf = (each: readonly Posting[]) => each.reduce((sum, { units }) => sum + units, 0n);
  return usages.map((usage) => {
    const ofAccount = ofAccounts.get(accountKeyText(usage)) ?? [];
    const before = ofAccount.slice(0, ofAccount.indexOf(usage));
    return {
      ...usage,
      upTo: unitsOf(before) + usage.units,
      ofAccount: before.length === 0 ? unitsOf(ofAccount) : null,
    };
  });
}
