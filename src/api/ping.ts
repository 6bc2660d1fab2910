import { z } from 'zod';
import { route } from '../http/route.ts';

export const pingRoutes = [
  route({
    method: 'GET',
    path: '/utils/ping',
    summary: 'See that the service answers and takes the key',
    tag: 'Utilities',
    returns: z.object({ message: z.literal('pong') }),
    refuses: [],
    handle: async () => ({ message: 'pong' as const }),
  }),
];
