import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { decideSettings, type Settings, type SettingsChange } from '../organizations/setting.ts';
import { lockCurrency, lockSettings, saveSettings } from '../organizations/store-settings.ts';
import { liftExclusivity } from '../subscriptions/store-exclusive.ts';
import { hasAmounts } from './store-amounts.ts';

/**
 * Changes how the environment bills, from the next invoice, attempt and subscription on. Refuses with `currencyInUse`
 * another currency once something of more than nothing is written down in the present one. Where several subscriptions
 * are allowed from now on, the living ones stand in the way of none; where they are not any more, what there is stays.
 */
export async function updateSettings(work: Work, change: SettingsChange): Promise<Settings> {
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  const current = await lockSettings(work);
  const settings = decideSettings(current, change);
  if (settings.currency !== current.currency) await refuseAmounts(work, current.currency);
  await saveSettings(work, settings);
  if (settings.allowMultipleSubscriptions && !current.allowMultipleSubscriptions) await liftExclusivity(work);
  return settings;
}

async function refuseAmounts(work: Work, currency: string): Promise<void> {
  await lockCurrency(work);
  if (await hasAmounts(work)) throw new Problem('currencyInUse', { currency });
}
