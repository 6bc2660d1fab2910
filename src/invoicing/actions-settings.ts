import { refuseSharedSeries } from '../customers/number-series.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { decideSettings, type Settings, type SettingsChange } from '../organizations/setting.ts';
import { isOneOfCells } from '../organizations/store-cells.ts';
import { lockCurrency, lockSettings, saveSettings } from '../organizations/store-settings.ts';
import { liftExclusivity } from '../subscriptions/store.ts';
import { hasAmounts } from './store.ts';

/**
 * Changes the billing settings for future invoices, attempts and subscriptions. Refuses with `currencyInUse` another
 * currency once non-zero amounts exist. Allowing several subscriptions makes the running ones non-exclusive;
 * disallowing them keeps the existing ones.
 */
export async function updateSettings(work: Work, change: SettingsChange): Promise<Settings> {
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  const current = await lockSettings(work);
  const settings = decideSettings(current, change);
  refuseSharedSeries(settings.numbering);
  const keepsThreshold = change.billingThresholdAmount === undefined && current.billingThresholdAmount !== null;
  if (settings.currency !== current.currency) await refuseAmounts(work, current.currency, keepsThreshold);
  await saveSettings(work, settings);
  if (settings.allowMultipleSubscriptions && !current.allowMultipleSubscriptions) await liftExclusivity(work);
  return settings;
}

async function refuseAmounts(work: Work, currency: string, keepsThreshold: boolean): Promise<void> {
  if (await isOneOfCells(work)) {
    const message = `must stay ${currency} while customers are in several cells`;
    throw new Problem('notOverCells', {}, [{ path: ['settings', 'currency'], message, code: 'custom' }]);
  }
  await lockCurrency(work);
  if (keepsThreshold || (await hasAmounts(work))) throw new Problem('currencyInUse', { currency });
}
