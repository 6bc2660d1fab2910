import { z } from 'zod';
import { route } from '../http/route.ts';

export const pingRoutes = [
  route({
    method: 'GET',
    path: '/utils/ping',
    cell: 'home',
    needs: null,
    summary: 'Check the connection and the key',
    description: 'Returns `pong` if the service responds and the API key is valid.',
    tag: 'Utilities',
    returns: z.object({ message: z.literal('pong') }),
    refuses: [],
    handle: async () => ({ message: 'pong' as const }),
  }),
];
