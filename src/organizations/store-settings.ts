import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { jsonb } from '../database/json-records.ts';
import type { Work } from '../database/work.ts';
import type { Branding } from './branding.ts';
import type { MailSettings } from './mail-setting.ts';
import type { BillingSettings, Numbering, Seller, Settings } from './setting.ts';

const columns = [
  'currency',
  'allowMultipleSubscriptions',
  'accessPastDue',
  'accessUnpaid',
  'allowRepeatedTrials',
  'allowRepeatedDiscounts',
  'bankDebits',
  'billingAnchor',
  'firstPeriod',
  'billingThresholdAmount',
  'dunningRetryDays',
  'dunningTerminalAction',
  'mail',
  'netTermsDays',
  'numbering',
  'paymentInstructions',
  'reviewHours',
  'seller',
  'taxProvider',
  'timeZone',
  'unknownFields',
] as const;

function select(work: Work) {
  return work.db.selectFrom('environments').select(columns).where('id', '=', work.environmentId);
}

type StoredSettings = Awaited<ReturnType<ReturnType<typeof select>['executeTakeFirst']>>;

function toSettings(row: StoredSettings): BillingSettings {
  assert(row, 'the environment of the work exists');
  const { accessPastDue: pastDue, accessUnpaid: unpaid, ...others } = row;
  const {
    dunningRetryDays: retryDays,
    dunningTerminalAction: terminalAction,
    seller,
    numbering,
    mail,
    ...rest
  } = others;
  const groups = { access: { pastDue, unpaid }, dunning: { retryDays, terminalAction } };
  // Table constraints and the schema of the settings guarantee this type.
  const parsed = { mail: mail as MailSettings, numbering: numbering as Numbering, seller: seller as Seller | null };
  return { ...rest, ...groups, ...parsed } as BillingSettings;
}

/** The billing settings of the environment, without its branding. */
export async function readSettings(work: Work): Promise<BillingSettings> {
  return toSettings(await select(work).executeTakeFirst());
}

/** All settings of the environment. */
export async function readAllSettings(work: Work): Promise<Settings> {
  return { ...(await readSettings(work)), branding: await readBranding(work) };
}

/** The look of what buyers see. */
export async function readBranding(work: Work): Promise<Branding> {
  const row = await work.db
    .selectFrom('environments')
    .select('branding')
    .where('id', '=', work.environmentId)
    .executeTakeFirstOrThrow();
  // The schema of the settings guarantees this type.
  return row.branding as unknown as Branding;
}

/** The look of the pages of buyers: the name of the seller, and its branding. */
export async function readLook(work: Work): Promise<{ readonly seller: string; readonly branding: Branding }> {
  const { rows } = await sql<{ seller: string; branding: Branding }>`
    select seller_name() as seller, branding from environments where id = ${work.environmentId}`.execute(work.db);
  const [look] = rows;
  assert(look, 'the environment of the work exists');
  return look;
}

/** The settings, locked until the work ends, so that changes are serialized. */
export async function lockSettings(work: Work): Promise<Settings> {
  const settings = toSettings(await select(work).forNoKeyUpdate().executeTakeFirst());
  return { ...settings, branding: await readBranding(work) };
}

/** Waits for concurrent inserts of prices in the current currency; no price is created until the work ends. */
export async function lockCurrency(work: Work): Promise<void> {
  // Every price references its environment and currency, and this lock blocks new references.
  await select(work).forUpdate().executeTakeFirst();
}

/**
 * Writes the settings. The database changes the currency of prices; the caller has checked that their amounts are zero.
 */
export async function saveSettings(work: Work, { access, dunning, seller, ...settings }: Settings): Promise<void> {
  await work.db
    .updateTable('environments')
    .set({
      ...settings,
      billingAnchor: jsonb(settings.billingAnchor),
      branding: jsonb(settings.branding),
      mail: jsonb(settings.mail),
      numbering: jsonb(settings.numbering),
      accessPastDue: access.pastDue,
      accessUnpaid: access.unpaid,
      dunningRetryDays: [...dunning.retryDays],
      dunningTerminalAction: dunning.terminalAction,
      seller: jsonb(seller),
      updatedAt: work.now,
    })
    .where('id', '=', work.environmentId)
    .execute();
}

/** The seller's name: the one on invoices, else the organization's. */
export async function readSellerName(work: Work): Promise<string> {
  const { rows } = await sql<{ name: string }>`select seller_name() as name`.execute(work.db);
  return rows[0]?.name ?? '';
}
