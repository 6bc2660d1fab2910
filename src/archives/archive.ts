import { z } from 'zod';
import { type Instant, msPerDay } from '../kernel/calendar.ts';
import { Timestamp } from '../kernel/json.ts';

/** Usage events that were taken out of the database, and the part of them that is of one environment. */
export const Archive = z
  .object({
    id: z.string().meta({
      description: 'The number of the archive, as the command line names it. In another cell, `-` and its name follow.',
    }),
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

/** How long usage events are compared and kept. Null: for ever. */
export interface EventSettings {
  readonly deduplicationDays: number | null;
  readonly retentionDays: number | null;
}

/**
 * The days for which a partition takes events: half of `deduplicationDays`. So a new event is compared with two older
 * partitions at most. Null: one partition takes events for ever.
 */
export function partitionDays({ deduplicationDays }: EventSettings): number | null {
  if (deduplicationDays === null) return null;
  return Math.ceil(deduplicationDays / 2);
}

/** Whether the partition that was opened at an instant has taken events for long enough. */
export function isFull(settings: EventSettings, openedAt: Instant, now: Instant): boolean {
  const days = partitionDays(settings);
  return days !== null && openedAt + days * msPerDay <= now;
}

/** The instant since which transactions count once at least; null: for ever. */
export function uniqueSince({ deduplicationDays }: EventSettings, now: Instant): Instant | null {
  return deduplicationDays === null ? null : now - deduplicationDays * msPerDay;
}

/** Partitions that were closed by this instant may be archived; null: none. */
export function archivedBefore({ retentionDays }: EventSettings, now: Instant): Instant | null {
  return retentionDays === null ? null : now - retentionDays * msPerDay;
}

/** The name of the file of a partition. An erasure writes the next version. */
export function fileOf(number: number, version = 1): string {
  return `usage-events-${number}${version === 1 ? '' : `-v${version}`}.csv.gz`;
}

/** The version in the name of a file. */
export function versionOf(file: string): number {
  return Number(/-v(\d+)\.csv\.gz$/.exec(file)?.[1] ?? 1);
}

const bucketAddress = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/;

/** Whether archives have a place that this service knows: a directory, or a bucket. */
export function isArchiveAddress(address: string): boolean {
  return bucketAddress.test(address) || !/^[a-z0-9+]+:\/\//i.test(address);
}

/** Whether archives are in a bucket. */
export function isBucket(address: string): boolean {
  return bucketAddress.test(address);
}

/** The bucket of an address, and the beginning of the names of its objects. */
export function bucketOf(address: string): { readonly bucket: string; readonly prefix: string } {
  const [, bucket = '', path = ''] = bucketAddress.exec(address) ?? [];
  const folder = path.split('/').filter(Boolean).join('/');
  return { bucket, prefix: folder === '' ? '' : `${folder}/` };
}
