import assert from 'node:assert/strict';
import { jsonb } from '../database/json-records.ts';
import type { Work } from '../database/work.ts';
import type { Seller, Settings } from './setting.ts';

const columns = [
  'currency',
  'allowMultipleSubscriptions',
  'dunningRetryDays',
  'dunningTerminalAction',
  'netTermsDays',
  'seller',
  'taxProvider',
] as const;

function select(work: Work) {
  return work.db.selectFrom('environments').select(columns).where('id', '=', work.environmentId);
}

type StoredSettings = Awaited<ReturnType<ReturnType<typeof select>['executeTakeFirst']>>;

function toSettings(row: StoredSettings): Settings {
  assert(row, 'the environment of the work exists');
  const { dunningRetryDays: retryDays, dunningTerminalAction: terminalAction, seller, ...rest } = row;
  // The constraints of the table and the schema of the settings hold the rest to its type.
  return { ...rest, dunning: { retryDays, terminalAction }, seller: seller as Seller | null } as Settings;
}

/** How the environment bills. */
export async function readSettings(work: Work): Promise<Settings> {
  return toSettings(await select(work).executeTakeFirst());
}

/** The same, held until the work ends, so that changes of it take turns. */
export async function lockSettings(work: Work): Promise<Settings> {
  return toSettings(await select(work).forNoKeyUpdate().executeTakeFirst());
}

/** Waits for the prices that are being made in the present currency; none is made until the work ends. */
export async function lockCurrency(work: Work): Promise<void> {
  // Every price refers to its environment and currency, and what refers to a row cannot be made while that is locked so.
  await select(work).forUpdate().executeTakeFirst();
}

/** Writes the settings. Prices follow the currency, by the database; the caller has made sure that they are of nothing. */
export async function saveSettings(work: Work, { dunning, seller, ...settings }: Settings): Promise<void> {
  await work.db
    .updateTable('environments')
    .set({
      ...settings,
      dunningRetryDays: [...dunning.retryDays],
      dunningTerminalAction: dunning.terminalAction,
      seller: jsonb(seller),
      updatedAt: work.now,
    })
    .where('id', '=', work.environmentId)
    .execute();
}
