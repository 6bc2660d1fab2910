import { Timestamp } from './json.ts';

/** The timestamps that every record's response begins with, after its id and livemode. */
export const stamps = { createdAt: Timestamp, updatedAt: Timestamp } as const;

/** A record to insert, without the fields that the unit of work adds. A union stays a union. */
export type NewRecord<Made> = Made extends unknown
  ? Omit<Made, 'createdAt' | 'updatedAt' | 'livemode' | 'organizationId'>
  : never;
