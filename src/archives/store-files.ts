import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A file as it was stored. */
export interface StoredFile {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** The place of archives. A file is there as a whole, or not at all. */
export interface ArchiveStorage {
  /** Its address, for people. */
  readonly address: string;
  /** Stores a file durably, in place of one with this name. */
  write(name: string, source: Readable): Promise<void>;
  read(name: string): Promise<Readable>;
  /** Deletes a file; nothing happens where there is none. */
  remove(name: string): Promise<void>;
}

/** Passes bytes on, and counts and digests them. */
export class Digest extends Transform {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    done(null, chunk);
  }

  /** The file that has passed. Called once, at its end. */
  stored(): StoredFile {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

/** Reads a file back, and refuses one that is not as it was stored. */
export async function verifyFile(storage: ArchiveStorage, name: string, expected: StoredFile): Promise<void> {
  const digest = new Digest();
  await pipeline(await storage.read(name), digest.resume());
  refuseOther(name, digest.stored(), expected);
}

/** Refuses a file that was changed or cut off since it was stored. */
export function refuseOther(name: string, found: StoredFile, expected: StoredFile): void {
  if (found.sha256 === expected.sha256 && found.bytes === expected.bytes) return;
  throw new Error(
    `The archive ${name} is not as it was stored: it has ${found.bytes} bytes and SHA-256 ${found.sha256}, not ` +
      `${expected.bytes} bytes and ${expected.sha256}.`,
  );
}

// The names of columns take some hundred bytes.
const longestLine = 10_000;

/** Takes the first line off a text. */
export async function takeFirstLine(
  source: AsyncIterable<Buffer>,
): Promise<{ readonly line: string; readonly rest: AsyncIterable<Buffer> }> {
  const chunks = source[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (!start.includes('\n')) {
    const next = await chunks.next();
    if (next.done || start.length > longestLine) throw new Error('The archive has no first line.');
    start = Buffer.concat([start, next.value]);
  }
  const end = start.indexOf('\n');
  async function* rest() {
    yield start.subarray(end + 1);
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { line: start.subarray(0, end).toString(), rest: rest() };
}

/** A directory of this machine, or of a network file system. */
export function directoryStorage(directory: string): ArchiveStorage {
  return {
    address: directory,
    async write(name, source) {
      await mkdir(directory, { recursive: true });
      const unfinished = join(directory, `${name}.unfinished`);
      await pipeline(source, createWriteStream(unfinished, { mode: 0o600, flush: true }));
      await rename(unfinished, join(directory, name));
      await syncDirectory(directory);
    },
    async read(name) {
      const path = join(directory, name);
      await stat(path);
      return createReadStream(path).pipe(new PassThrough());
    },
    async remove(name) {
      await rm(join(directory, name), { force: true });
      await syncDirectory(directory);
    },
  };
}

/** A rename is durable once the directory is. */
async function syncDirectory(directory: string): Promise<void> {
  const opened = await open(directory, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
