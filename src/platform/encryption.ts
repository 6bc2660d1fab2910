import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

/** Encrypts texts that the database must not be able to read, with keys that it does not know. */
export interface Encryption {
  /** Names of the keys, the one in use first. */
  readonly keyIds: readonly string[];
  /** Encrypts `text` for one place, which `context` names: elsewhere it cannot be read. */
  seal(text: string, context: string): string;
  /** The text that was sealed for `context`. Throws where it was altered, moved, or sealed with a key that is not here. */
  open(sealed: string, context: string): string;
}

/** Bytes of a key: AES-256. */
export const keyBytes = 32;

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const version = 'v1';

/** What a key is known by: the first half of its SHA-256. */
export function keyIdOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 32);
}

/** Encryption with the first of the keys; what the others have sealed can be opened. AES-256-GCM (NIST SP 800-38D). */
export function createEncryption(keys: readonly Buffer[]): Encryption {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [current] = keys;
  if (current === undefined || keys.some((key) => key.length !== keyBytes))
    throw new Error(`an encryption key is ${keyBytes} bytes`);
  return {
    keyIds: [...byId.keys()],
    seal(text, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, current, iv).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${version}.${keyIdOf(current)}.${sealed.toString('base64url')}`;
    },
    open(sealed, context) {
      const [, keyId = '', text = ''] = sealed.split('.');
      const key = byId.get(keyId);
      if (key === undefined) throw new Error(`no encryption key ${keyId}`);
      const bytes = Buffer.from(text, 'base64url');
      const tag = bytes.subarray(-tagBytes);
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
      return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}
