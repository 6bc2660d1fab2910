import { send } from '../api.ts';

/** The passkeys of this browser; throws what a browser without them would. */
function passkeys(): typeof PublicKeyCredential {
  if (typeof PublicKeyCredential === 'undefined' || !('parseCreationOptionsFromJSON' in PublicKeyCredential))
    throw new DOMException('There are no passkeys.', 'NotSupportedError');
  return PublicKeyCredential;
}

function answerOf(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException('There was no passkey.', 'NotAllowedError');
  return credential.toJSON();
}

/** Makes a passkey of this device for the person who is signed in. */
export async function addPasskey(name: string): Promise<void> {
  const kind = passkeys();
  const path = '/auth/passkey/generate-register-options';
  const options = await send<PublicKeyCredentialCreationOptionsJSON>('GET', path);
  const credential = await navigator.credentials.create({ publicKey: kind.parseCreationOptionsFromJSON(options) });
  await send('POST', '/auth/passkey/verify-registration', { response: answerOf(credential), name });
}

/** Signs in with a passkey that the person chooses. The device asks who is there, because no password is asked for. */
export async function provePasskey(): Promise<void> {
  const kind = passkeys();
  const path = '/auth/passkey/generate-authenticate-options';
  const options = await send<PublicKeyCredentialRequestOptionsJSON>('GET', path);
  const publicKey = kind.parseRequestOptionsFromJSON({ ...options, userVerification: 'required' });
  const credential = await navigator.credentials.get({ publicKey });
  await send('POST', '/auth/passkey/verify-authentication', { response: answerOf(credential) });
}
