import { Timestamp } from './json.ts';

/** The fields that every record's answer begins with, besides its id and livemode. */
export const stamps = { createdAt: Timestamp, updatedAt: Timestamp } as const;
