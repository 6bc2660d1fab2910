import { refuseSharedSeries } from '../customers/number-series.ts';
import { refuseOverCells, type WithCells } from '../database/cells.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { decideSettings, type Settings, type SettingsChange } from '../organizations/setting.ts';
import { lockCurrency, lockSettings, saveSettings } from '../organizations/store-settings.ts';
import { liftExclusivity } from '../subscriptions/store.ts';
import { hasAmounts } from './store.ts';

/**
 * Changes the billing settings for future invoices, attempts and subscriptions. Refuses with `currencyInUse` another
 * currency once non-zero amounts exist. Allowing several subscriptions makes the running ones non-exclusive;
 * disallowing them keeps the existing ones.
 */
export async function updateSettings(work: Work, change: SettingsChange, services?: WithCells): Promise<Settings> {
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  const current = await lockSettings(work);
  const settings = decideSettings(current, change);
  refuseSharedSeries(settings.numbering);
  if (settings.currency !== current.currency) {
    refuseOverCells(services);
    await refuseAmounts(work, current.currency);
  }
  await saveSettings(work, settings);
  if (settings.allowMultipleSubscriptions && !current.allowMultipleSubscriptions) await liftExclusivity(work);
  return settings;
}

async function refuseAmounts(work: Work, currency: string): Promise<void> {
  await lockCurrency(work);
  if (await hasAmounts(work)) throw new Problem('currencyInUse', { currency });
}
