import { z } from 'zod';
import { Settings, SettingsChange } from '../organizations/setting.ts';
import { route } from '../platform/route.ts';
import { updateSettings } from './update-settings.ts';

export const settingsLifecycleRoutes = [
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
