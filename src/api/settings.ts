import { z } from 'zod';
import { route } from '../http/route.ts';
import { updateSettings } from '../invoicing/actions-settings.ts';
import { requireMail } from '../mail/actions.ts';
import { encodeImages } from '../organizations/actions.ts';
import { Settings, SettingsChange } from '../organizations/setting.ts';
import { readAllSettings } from '../organizations/store-settings.ts';

export const settingsRoutes = [
  route({
    method: 'GET',
    path: '/settings',
    needs: 'settings:read',
    summary: 'Get the settings',
    description: 'Returns how the environment of the key bills. Test mode and live mode have their own settings.',
    tag: 'Settings',
    returns: z.object({ settings: Settings }),
    refuses: [],
    handle: async (work) => ({ settings: await readAllSettings(work) }),
  }),
  route({
    method: 'PUT',
    path: '/settings',
    needs: 'settings:admin',
    summary: 'Update the settings',
    description:
      'Changes the settings that are sent and leaves the others as they are. New settings apply from the next ' +
      'invoice, payment attempt or check on. The currency is fixed once there are prices, discounts or invoices with an ' +
      'amount; a change is then refused with 409. Prices and amounts in dinars and rials of three decimals are ' +
      'multiples of 10, and in ariary of 100: card networks charge nothing finer.',
    tag: 'Settings',
    body: z.object({ settings: SettingsChange }),
    returns: z.object({ settings: Settings }),
    refuses: ['currencyInUse', 'outsidePinnedPricingModel', 'mailNotConfigured'],
    handle: async (work, { body }, { services }) => {
      if (body.settings.mail?.enabled) requireMail(services);
      const { branding, ...change } = body.settings;
      const encoded = branding && { branding: await encodeImages(branding) };
      return { settings: await updateSettings(work, { ...change, ...encoded }) };
    },
  }),
];
