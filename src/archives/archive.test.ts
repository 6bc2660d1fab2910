import assert from 'node:assert/strict';
import { test } from 'node:test';
import { msPerDay } from '../kernel/calendar.ts';
import {
  archivedBefore,
  bucketOf,
  fileOf,
  isArchiveAddress,
  isFull,
  partitionDays,
  uniqueSince,
  versionOf,
} from './archive.ts';

const settings = (deduplicationDays: number | null, retentionDays: number | null = null) => ({
  deduplicationDays,
  retentionDays,
});

test('a partition takes events for half of the time of comparison', () => {
  const days = [1, 2, 3, 35, 180, 3_650].map((each) => partitionDays(settings(each)));
  assert.deepEqual(days, [1, 1, 2, 18, 90, 1_825]);
});

test('without an end of the comparison no partition is ever full, and nothing may be archived', () => {
  assert.equal(partitionDays(settings(null)), null);
  assert.equal(isFull(settings(null), 0, 1e15), false);
  assert.equal(uniqueSince(settings(null), 1e15), null);
  assert.equal(archivedBefore(settings(35), 1e15), null);
});

test('a partition of 35 days of comparison is full after 18 days, not a millisecond before', () => {
  assert.equal(isFull(settings(35), 1_000, 1_000 + 18 * msPerDay - 1), false);
  assert.equal(isFull(settings(35), 1_000, 1_000 + 18 * msPerDay), true);
});

test('the instants of comparison and of retention lie their days back', () => {
  assert.equal(uniqueSince(settings(35), 40 * msPerDay), 5 * msPerDay);
  assert.equal(archivedBefore(settings(35, 38), 40 * msPerDay), 2 * msPerDay);
});

test('archives are in a directory, or in a bucket', () => {
  assert.deepEqual(['/srv/archives', 'archives', 's3://bucket', 's3://bucket/a/b/'].map(isArchiveAddress), [
    true,
    true,
    true,
    true,
  ]);
  assert.deepEqual(
    ['gs://bucket', 's3://B', 's3://', 'https://bucket.test/a', 's3://bucket/a?b'].map(isArchiveAddress),
    [false, false, false, false, false],
  );
  assert.deepEqual(bucketOf('s3://bucket'), { bucket: 'bucket', prefix: '' });
  assert.deepEqual(bucketOf('s3://bucket/a/b/'), { bucket: 'bucket', prefix: 'a/b/' });
});

test('a file tells its version', () => {
  assert.deepEqual([fileOf(7), fileOf(7, 2)], ['usage-events-7.csv.gz', 'usage-events-7-v2.csv.gz']);
  assert.deepEqual([versionOf(fileOf(7)), versionOf(fileOf(7, 12))], [1, 12]);
});
