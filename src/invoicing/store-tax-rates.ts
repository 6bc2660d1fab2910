import { type Selectable, sql } from 'kysely';
import type { TaxRates } from '../database/database-types.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { TaxQuote } from './invoice.ts';
import type { TaxRateRow } from './tax.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'country',
  'state',
  'type',
  'percentage',
  'inclusive',
  'active',
  'name',
] as const;

function toTaxRate(row: Pick<Selectable<TaxRates>, (typeof columns)[number]>): TaxRateRow {
  // Only a parsed TaxRateInput is ever written.
  return row as TaxRateRow;
}

export async function insertTaxRate(work: Work, rate: TaxRateRow): Promise<void> {
  await work.db
    .insertInto('taxRates')
    .values({ ...rate, environmentId: work.environmentId })
    .execute();
}

/** Saves the changeable fields of a tax rate. */
export async function saveTaxRate(work: Work, { id, createdAt: _, ...rate }: TaxRateRow): Promise<void> {
  await work.db
    .updateTable('taxRates')
    .set(rate)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Deletes a tax rate and returns its last values, or null if there is none. */
export async function deleteTaxRate(work: Work, id: string): Promise<TaxRateRow | null> {
  const row = await work.db
    .deleteFrom('taxRates')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
  return row === undefined ? null : toTaxRate(row);
}

function select(work: Work) {
  return work.db.selectFrom('taxRates').select(columns).where('environmentId', '=', work.environmentId);
}

export async function findTaxRate(work: Work, id: string): Promise<TaxRateRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toTaxRate(row);
}

/** Locks the tax rate until the work ends, which serializes its changes. */
export async function lockTaxRate(work: Work, id: string): Promise<TaxRateRow | null> {
  const row = await select(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toTaxRate(row);
}

export async function pageOfTaxRates(work: Work, request: PageRequest): Promise<{ rows: TaxRateRow[]; total: number }> {
  return selectPage<TaxRateRow>(work, 'tax_rates', columns, request, {
    country: 'country',
    state: 'state',
    type: 'type',
    active: 'active',
  });
}

/** The active rates of these countries for one of the states, or for the whole country. */
export async function listActiveRates(
  work: Work,
  countries: readonly string[],
  states: readonly string[],
): Promise<TaxQuote[]> {
  const { rows } = await sql<TaxQuote>`
    select type, country, state, percentage, inclusive from tax_rates
     where environment_id = ${work.environmentId} and active
       and country = any(${countries}) and (state is null or state = any(${states}))`.execute(work.db);
  return rows;
}
