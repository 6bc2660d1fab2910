import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { readConfig } from '../../src/config.ts';
import { createEncryption, keyBytes, keyIdOf, parseEncryptionKeys } from '../../src/jobs/encryption.ts';
import { keyOfDataDirectory, registerEncryptionKeys, UnusableKey } from '../../src/jobs/encryption-keys.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const [oldKey, newKey, strangeKey] = [randomBytes(keyBytes), randomBytes(keyBytes), randomBytes(keyBytes)];

describe('what is sealed', () => {
  test('what is sealed is opened with the same key for the same place', () => {
    const { seal, open } = createEncryption([oldKey]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, context) => {
        assert.equal(open(seal(text, context), context), text);
      }),
    );
  });

  test('what is sealed shows nothing of the text, and is never the same twice', () => {
    const { seal } = createEncryption([oldKey]);
    const [one, other] = [seal('whsec_abc', 'webhook 1'), seal('whsec_abc', 'webhook 1')];
    assert.notEqual(one, other);
    assert.match(one, new RegExp(`^v1\\.${keyIdOf(oldKey)}\\.[A-Za-z0-9_-]+$`));
    assert.equal(Buffer.from(one.split('.')[2] ?? '', 'base64url').includes('whsec'), false);
  });

  test('what is sealed is not opened for another place, with another key, or altered', () => {
    const { seal, open } = createEncryption([oldKey]);
    const sealed = seal('whsec_abc', 'webhook 1');
    assert.throws(() => open(sealed, 'webhook 2'));
    assert.throws(() => createEncryption([strangeKey]).open(sealed, 'webhook 1'), /no encryption key [0-9a-f]{32}/);
    const [version, keyId, text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const altered = Buffer.from(bytes);
        altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        assert.throws(() => open(`${version}.${keyId}.${altered.toString('base64url')}`, 'webhook 1'));
      }),
    );
    for (const length of [0, 1, 12, 28, bytes.length - 1])
      assert.throws(() => open(`${version}.${keyId}.${bytes.subarray(0, length).toString('base64url')}`, 'webhook 1'));
    for (const nothing of ['', 'whsec_abc', '..']) assert.throws(() => open(nothing, 'webhook 1'));
  });

  test('what is sealed with the old key is opened beside the new one, which seals', () => {
    const sealed = createEncryption([oldKey]).seal('text', 'place');
    const both = createEncryption([newKey, oldKey]);
    assert.equal(both.open(sealed, 'place'), 'text');
    assert.deepEqual(both.keyIds, [keyIdOf(newKey), keyIdOf(oldKey)]);
    assert.equal(createEncryption([newKey]).open(both.seal('text', 'place'), 'place'), 'text');
  });
});

describe('a list of keys', () => {
  test('a list of keys is base64, one key after the other', () => {
    const text = `${newKey.toString('base64')}, ${oldKey.toString('base64')}\n`;
    assert.deepEqual(parseEncryptionKeys(text), [newKey, oldKey]);
  });

  test('that is none is refused by its place in the list, and not repeated', () => {
    const short = randomBytes(31).toString('base64');
    for (const [text, place] of [
      ['', 1],
      [short, 1],
      [`${oldKey.toString('base64')},`, 2],
      [`${oldKey.toString('base64')},${short}`, 2],
      [oldKey.toString('base64url').replaceAll(/[A-Za-z0-9]$/g, '-'), 1],
      [oldKey.toString('hex'), 1],
    ] as const) {
      assert.throws(() => parseEncryptionKeys(text), {
        message: `key ${place} is not 32 bytes in base64: generate one with "openssl rand -base64 32"`,
      });
    }
  });
});

describe('the key of a data directory', () => {
  const directories: string[] = [];
  after(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true }))));
  async function newDirectory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-keys-'));
    directories.push(directory);
    return directory;
  }

  test('the key of a data directory is made once, for its owner only, and found again', async () => {
    const directory = await newDirectory();
    const key = await keyOfDataDirectory(join(directory, 'data'));
    assert.equal(key.length, 32);
    assert.deepEqual(await keyOfDataDirectory(join(directory, 'data')), key);
    assert.deepEqual(await readdir(join(directory, 'data')), ['encryption.key']);
    const path = join(directory, 'data', 'encryption.key');
    assert.equal(await readFile(path, 'utf8'), `${key.toString('base64')}\n`);
    if (process.platform !== 'win32') assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.notDeepEqual(await keyOfDataDirectory(join(directory, 'other')), key);
  });

  test('the key of a data directory is one for all who come at the same time', async () => {
    const directory = await newDirectory();
    const keys = await Promise.all(Array.from({ length: 32 }, () => keyOfDataDirectory(directory)));
    assert.equal(new Set(keys.map(keyIdOf)).size, 1);
    assert.deepEqual(await readdir(directory), ['encryption.key']);
  });

  test('the key of a data directory is never made in the place of a file that holds something else', async () => {
    const directory = await newDirectory();
    const path = join(directory, 'encryption.key');
    await writeFile(path, 'half a k');
    await assert.rejects(keyOfDataDirectory(directory), (error) => {
      assert(error instanceof UnusableKey);
      assert.match(error.message, /contains no encryption key .*: restore the original file/);
      return true;
    });
    assert.equal(await readFile(path, 'utf8'), 'half a k');
  });

  test('that cannot be kept is refused with what to set', async () => {
    const directory = await newDirectory();
    await writeFile(join(directory, 'file'), '');
    await chmod(directory, 0o700);
    await assert.rejects(
      keyOfDataDirectory(join(directory, 'file')),
      /set TOLLKEEPER_ENCRYPTION_KEY to a key of your own/,
    );
  });
});

describe('a database', () => {
  const stored = async () => await app.owner.selectFrom('encryptionKeys').selectAll().orderBy('createdAt').execute();
  const claim = (keys: Buffer[], at: number) => registerEncryptionKeys(app.owner, createEncryption(keys), at);

  test('a database knows who may write in it, first and after a change of the key', async () => {
    await claim([oldKey], 1);
    await claim([oldKey], 2);
    assert.deepEqual(await stored(), [{ id: keyIdOf(oldKey), createdAt: 1 }]);
    await assert.rejects(claim([newKey], 3), (error) => {
      assert(error instanceof UnusableKey);
      assert.match(
        error.message,
        new RegExp(`the encryption key ${keyIdOf(oldKey)} can decrypt.*write the new key first`),
      );
      return true;
    });
    assert.equal((await stored()).length, 1);

    await claim([newKey, oldKey], 4);
    assert.deepEqual(await stored(), [
      { id: keyIdOf(oldKey), createdAt: 1 },
      { id: keyIdOf(newKey), createdAt: 4 },
    ]);
    // A process of before the change would not read what is written from now on.
    await assert.rejects(claim([oldKey], 5), new RegExp(keyIdOf(newKey)));
    await claim([oldKey, newKey], 6);
  });

  test('a database is written by one of several that start for the first time with keys of their own', async () => {
    for (let round = 0; round < 10; round++) {
      await app.owner.deleteFrom('encryptionKeys').execute();
      const keys = Array.from({ length: 4 }, () => randomBytes(keyBytes));
      const outcomes = await Promise.allSettled(keys.map((key) => claim([key], 1)));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await stored()).length, 1);
    }
  });
});

test('the settings are read, and named where they cannot be used', () => {
  const read = readConfig({
    TOLLKEEPER_ENCRYPTION_KEY: `${newKey.toString('base64')},${oldKey.toString('base64')}`,
    TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8, fd00::/8',
  });
  assert.deepEqual(read.encryptionKeys, [newKey, oldKey]);
  assert.deepEqual(
    read.webhookAllow?.map(({ prefixLength }) => prefixLength),
    [8, 8],
  );
  for (const absent of [{}, { TOLLKEEPER_ENCRYPTION_KEY: '', TOLLKEEPER_WEBHOOK_ALLOW: '' }]) {
    const { encryptionKeys, webhookAllow } = readConfig(absent);
    assert.deepEqual({ encryptionKeys, webhookAllow }, { encryptionKeys: null, webhookAllow: null });
  }
  for (const [name, value, message] of [
    ['TOLLKEEPER_ENCRYPTION_KEY', 'secret', /^TOLLKEEPER_ENCRYPTION_KEY: key 1 is not 32 bytes in base64: [^\n]+$/],
    ['TOLLKEEPER_WEBHOOK_ALLOW', '10.0.0.0/8, here', /^TOLLKEEPER_WEBHOOK_ALLOW: "here" is not a network[^\n]+$/],
  ] as const)
    assert.throws(() => readConfig({ [name]: value }), { name: 'Error', message });
});
