import { z } from 'zod';
import { route } from '../platform/route.ts';
import { Settings } from './setting.ts';
import { readSettings } from './store-settings.ts';

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
];
