import { PassThrough, type Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { bucketOf } from './archive.ts';
import type { ArchiveStorage } from './store-files.ts';

// A file has at most 10,000 parts: 320 GB. Two of them are in memory.
const usualPartBytes = 32 * 1024 * 1024;
const partsAtOnce = 2;
const connectionTimeoutMs = 10_000;
const silenceTimeoutMs = 60_000;

interface ObjectStorageOptions {
  /** The address of a storage other than S3; else it follows from the region. */
  readonly endpoint: string | null;
  readonly partBytes?: number;
}

/** A bucket of S3, or of a storage with its protocol. Region and credentials come from the variables of AWS. */
export function objectStorage(
  address: string,
  { endpoint, partBytes = usualPartBytes }: ObjectStorageOptions,
): ArchiveStorage {
  const { bucket, prefix } = bucketOf(address);
  const client = new S3Client({
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    // Some storages do not know the newer checksums. A file is read back and compared in any case.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectionTimeoutMs, requestTimeout: silenceTimeoutMs },
  });
  const objectOf = (name: string) => ({ Bucket: bucket, Key: `${prefix}${name}` });
  return {
    address,
    async write(name, source) {
      const body = new PassThrough();
      source.once('error', (error) => body.destroy(error));
      const upload = new Upload({
        client,
        params: { ...objectOf(name), Body: source.pipe(body), ContentType: 'application/gzip' },
        partSize: partBytes,
        queueSize: partsAtOnce,
      });
      await upload.done();
    },
    async read(name) {
      const { Body } = await client.send(new GetObjectCommand(objectOf(name)));
      // In Node the body is the answer of the server.
      return Body as Readable;
    },
    async remove(name) {
      await client.send(new DeleteObjectCommand(objectOf(name)));
    },
  };
}
