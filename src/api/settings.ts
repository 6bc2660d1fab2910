import { z } from 'zod';
import { documentHtml } from '../documents/actions.ts';
import { route } from '../http/route.ts';
import { previewDocument } from '../invoicing/actions-document.ts';
import { updateSettings } from '../invoicing/actions-settings.ts';
import { Language } from '../kernel/language.ts';
import { previewEmail, requireMail } from '../mail/actions.ts';
import { encodeImages } from '../organizations/actions.ts';
import { Branding, BrandingChange, decideBranding } from '../organizations/branding.ts';
import { Settings, SettingsChange } from '../organizations/setting.ts';
import { readAllSettings, readBranding } from '../organizations/store-settings.ts';

const BrandingPreview = z
  .object({ branding: Branding, documentHtml: z.string(), emailHtml: z.string() })
  .meta({ id: 'BrandingPreview', description: 'The branding after a change, with pages that show it.' });

export const settingsRoutes = [
  route({
    method: 'GET',
    path: '/settings',
    cell: 'home',
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
    cell: 'home',
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
  route({
    method: 'POST',
    path: '/settings/branding/preview',
    cell: 'home',
    needs: 'settings:admin',
    summary: 'Preview a change of the branding',
    description: 'Returns an invoice and an email of an example as they would look with the change. Nothing is stored.',
    tag: 'Settings',
    body: z.object({ settings: z.object({ branding: BrandingChange }), language: Language.optional() }),
    returns: z.object({ preview: BrandingPreview }),
    refuses: [],
    handle: async (work, { body: { settings, language = 'en' } }) => {
      const branding = decideBranding(await readBranding(work), await encodeImages(settings.branding));
      const look = { language, branding };
      const { html: emailHtml } = await previewEmail(work, 'invoice_issued', look);
      return {
        preview: { branding, documentHtml: await documentHtml(await previewDocument(work, look)), emailHtml },
      };
    },
  }),
];
