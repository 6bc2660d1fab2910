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
  /** Names of the keys, the one in use first. */
  readonly keyIds: readonly string[];
  /** Encrypts `text` for one place, which `context` names: elsewhere it cannot be read. */
  seal(text: string, context: string): string;
  /** The text that was sealed for `context`. Throws where it was altered, moved, or sealed with a key that is not here. */
  open(sealed: string, context: string): string;
  /** Proves that `text` is ours: 43 characters that nobody else can make, and that prove nothing in another context. */
  mac(text: string, context: string): string;
  /** Whether `mac` is what one of the keys makes of `text` in `context`. It takes as long whether it is or not. */
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

/** Bytes of a key: AES-256. */
export const keyBytes = 32;

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const version = 'v1';
const macBytes = 32;

/** What a key is known by: the first half of its SHA-256. */
export function keyIdOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 32);
}

/** One key serves one purpose: what signs is another one, which tells nothing of the one that seals (RFC 5869). */
function macKeyOf(key: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'tollkeeper mac', keyBytes));
}

/** HMAC-SHA256. The context says its own length, so that no text continues another's context. */
function macOf(key: Buffer, text: string, context: string): Buffer {
  return createHmac('sha256', key).update(`${context.length} ${context} ${text}`).digest();
}

/** Encryption with the first of the keys; what the others have sealed can be opened. AES-256-GCM (NIST SP 800-38D). */
export function createEncryption(keys: readonly Buffer[]): Encryption {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [current] = keys;
  if (current === undefined || keys.some((key) => key.length !== keyBytes))
    throw new Error(`an encryption key is ${keyBytes} bytes`);
  const macKeys = keys.map(macKeyOf);
  return {
    keyIds: [...byId.keys()],
    mac: (text, context) => macOf(macKeyOf(current), text, context).toString('base64url'),
    isMac(text, context, mac) {
      const given = Buffer.from(mac, 'base64url');
      // No way of writing it but the one that we write: what is read back is what was said.
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
