import { Timestamp } from './json.ts';

/** The timestamps that every record's response begins with, after its id and livemode. */
export const stamps = { createdAt: Timestamp, updatedAt: Timestamp } as const;
