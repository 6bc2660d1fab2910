import { z } from 'zod';
import { Timestamp } from '../kernel/json.ts';

/** Usage events that were taken out of the database, and the part of them that is of one environment. */
export const Archive = z
  .object({
    id: z.string().meta({ description: 'The number of the archive, as the command line names it.' }),
    createdAt: Timestamp,
    state: z.enum(['archived', 'restored']).meta({
      description: '`restored`: its events are there, until an operator releases it.',
    }),
    arrivedFrom: Timestamp,
    arrivedUntil: Timestamp.meta({ description: 'Its events arrived between these instants, in real time.' }),
    usageDateFrom: Timestamp,
    usageDateTo: Timestamp.meta({ description: 'The first and the last `usageDate` of its events.' }),
    events: z.int(),
  })
  .meta({ id: 'Archive' });
