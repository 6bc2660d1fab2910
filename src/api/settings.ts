import { z } from 'zod';
import { updateSettings } from '../billing/update-settings.ts';
import { route } from '../http/route.ts';
import { Settings, SettingsChange } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';

export const settingsRoutes = [
  route({
    method: 'GET',
    path: '/settings',
    summary: 'Get the settings',
    description: "How the key's environment bills. Test and live mode have their own.",
    tag: 'Settings',
    returns: z.object({ settings: Settings }),
    refuses: [],
    handle: async (work) => ({ settings: await readSettings(work) }),
  }),
  route({
    method: 'PUT',
    path: '/settings',
    summary: 'Update the settings',
    description:
      'Fields that are absent stay as they are. The currency can change while there are no prices, discounts or invoices of more than nothing.',
    tag: 'Settings',
    body: z.object({ settings: SettingsChange }),
    returns: z.object({ settings: Settings }),
    refuses: ['currencyInUse', 'outsidePinnedPricingModel'],
    handle: async (work, { body }) => ({ settings: await updateSettings(work, body.settings) }),
  }),
];
