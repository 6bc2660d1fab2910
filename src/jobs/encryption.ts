import assert from 'node:assert/strict';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Encrypts texts that the database must not be able to read, with keys that it does not know. */
export interface Encryption {
  /** Names of the keys, the current one first. */
  readonly keyIds: readonly string[];
  /** Encrypts `text` for one `context`; it cannot be decrypted in another. */
  seal(text: string, context: string): string;
  /**
   * Decrypts a text that was sealed for `context`. Throws when it was altered, moved, or sealed with an unknown key.
   */
  open(sealed: string, context: string): string;
  /** A MAC of `text`: 43 characters that only this service can compute, valid in this context only. */
  mac(text: string, context: string): string;
  /** A secret of its own for each key, for a library that encrypts by itself. The current one first. */
  secretsFor(purpose: string): readonly { readonly keyId: string; readonly secret: string }[];
  /** Whether `mac` is valid for `text` in `context` under any of the keys. Takes constant time. */
  isMac(text: string, context: string, mac: string): boolean;
}

/** The part of the external services that signs links and seals secrets. */
export interface WithEncryption {
  readonly encryption?: Encryption;
}

/** The encryption that the service was started with. */
export function encryptionOf({ encryption }: WithEncryption = {}): Encryption {
  assert(encryption, 'the service is started with its encryption');
  return encryption;
}

/** Key length in bytes: AES-256. */
export const keyBytes = 32;

const keyText = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Parses a list of keys, separated by commas: each 32 bytes in base64. The first encrypts, all decrypt. Throws an Error
 * that gives the position of an invalid key, never its text.
 */
export function parseEncryptionKeys(text: string): Buffer[] {
  return text.split(',').map((part, index) => {
    const key = part.trim();
    if (!keyText.test(key))
      throw new Error(
        `key ${index + 1} is not ${keyBytes} bytes in base64: generate one with "openssl rand -base64 ${keyBytes}"`,
      );
    return Buffer.from(key, 'base64');
  });
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const version = 'v1';
const macBytes = 32;

/** The public id of a key: the first half of its SHA-256. */
export function keyIdOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 32);
}

/** One key serves one purpose: the signing key is derived, and reveals nothing about the encryption key (RFC 5869). */
function macKeyOf(key: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'tollkeeper mac', keyBytes));
}

/** HMAC-SHA256. The length of the context is included, so that context and text cannot be split in another way. */
function macOf(key: Buffer, text: string, context: string): Buffer {
  return createHmac('sha256', key).update(`${context.length} ${context} ${text}`).digest();
}

/** Encryption with the first key; decryption with any. AES-256-GCM (NIST SP 800-38D). */
export function createEncryption(keys: readonly Buffer[]): Encryption {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [current] = keys;
  if (current === undefined || keys.some((key) => key.length !== keyBytes))
    throw new Error(`an encryption key is ${keyBytes} bytes`);
  const macKeys = keys.map(macKeyOf);
  return {
    keyIds: [...byId.keys()],
    mac: (text, context) => macOf(macKeyOf(current), text, context).toString('base64url'),
    secretsFor: (purpose) =>
      [...byId].map(([keyId, key]) => ({
        keyId,
        secret: Buffer.from(hkdfSync('sha256', key, '', `tollkeeper ${purpose}`, keyBytes)).toString('base64url'),
      })),
    isMac(text, context, mac) {
      const given = Buffer.from(mac, 'base64url');
      // Accepts only the canonical base64url encoding.
      if (given.length !== macBytes || given.toString('base64url') !== mac) return false;
      return macKeys.filter((key) => timingSafeEqual(macOf(key, text, context), given)).length > 0;
    },
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
