import { TollkeeperError } from '../../../client/src/generated-entry.ts';

/** An error as a person reads it. */
export interface ProblemText {
  readonly title: string;
  /** The next step. */
  readonly advice: string | null;
  /** The page where that step is. */
  readonly next: 'sign-in' | 'people' | 'list' | null;
  /** Whether the same request may succeed a moment later. */
  readonly mayPass: boolean;
}

/** The answers of the library that signs people in, by their codes. Its own texts are for programs. */
const signInTexts: Readonly<Record<string, readonly [title: string, advice?: string]>> = {
  INVALID_EMAIL_OR_PASSWORD: ['The e-mail address or the password is wrong'],
  INVALID_PASSWORD: ['The password is wrong'],
  INVALID_CODE: ['The code is wrong', 'A code lasts half a minute. Enter the one that is shown now.'],
  INVALID_BACKUP_CODE: ['This backup code is wrong', 'Each code works once. Try another one.'],
  INVALID_TWO_FACTOR_COOKIE: ['The sign-in took too long', 'Begin again with your password.'],
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: ['There were too many wrong codes', 'Begin again with your password.'],
  ACCOUNT_TEMPORARILY_LOCKED: ['There were too many wrong codes', 'Try again in 15 minutes, or use a passkey.'],
  PASSWORD_TOO_SHORT: ['The password is too short', 'Choose one with at least 10 characters.'],
  PASSWORD_TOO_LONG: ['The password is too long', 'Choose one with at most 128 characters.'],
  INVALID_TOKEN: [
    'This link was used, has expired or is incomplete',
    'Ask the operator of the service for another one.',
  ],
  PASSKEY_NOT_FOUND: ['This passkey is not known here', 'It may have been removed. Sign in with your password.'],
  AUTHENTICATION_FAILED: ['The passkey did not sign you in', 'Try again, or sign in with your password.'],
  FAILED_TO_VERIFY_REGISTRATION: ['The passkey was not added', 'Try again.'],
  CHALLENGE_NOT_FOUND: ['This took too long', 'Try again.'],
};

/** The answers of a browser that makes or asks for a passkey. */
const browserTexts: Readonly<Record<string, readonly [title: string, advice?: string]>> = {
  NotAllowedError: ['No passkey was used', 'It was cancelled, or took too long. Try again when you are ready.'],
  InvalidStateError: ['This device has a passkey for you already', 'Use it to sign in.'],
  SecurityError: [
    'Passkeys need the name of the service',
    'Open it by https and its name. A number such as 127.0.0.1 is not enough.',
  ],
  NotSupportedError: ['This browser has no passkeys', 'Use a current browser, or sign in with your password.'],
};

function asText([title, advice = null]: readonly [title: string, advice?: string | null]): ProblemText {
  return { title, advice, next: null, mayPass: false };
}

const busy = 'The service has more to do than it can at this moment. Try again shortly.';

/** No answer came: of the network, or of the service. */
function unreachable(): ProblemText {
  const [title, advice] = navigator.onLine
    ? ['The service cannot be reached', 'It may be restarting. Try again in a moment.']
    : ['You are offline', 'Try again when the connection is back.'];
  return { title, advice, next: null, mayPass: true };
}

// The words of browsers. A part of the page is loaded when it is opened, and an update of the service renames it.
const partMissing = /dynamically imported module|importing a module script/i;

/** The title, the next step, and whether to try again. The text of the service stays where it names the reason. */
export function problemText(error: unknown): ProblemText {
  if (!(error instanceof TollkeeperError)) {
    const known = error instanceof Error ? browserTexts[error.name] : undefined;
    if (known !== undefined) return asText(known);
    if (error instanceof Error && partMissing.test(error.message)) return unreachable();
    return { title: 'This page has a fault', advice: 'Load it again.', next: null, mayPass: true };
  }
  const { status, code, message } = error;
  if (code === 'SESSION_NOT_FRESH')
    return {
      title: 'Sign in again for this',
      advice: 'You signed in more than a day ago, and this is about how you sign in.',
      next: 'sign-in',
      mayPass: false,
    };
  const known = signInTexts[code];
  if (known !== undefined) return asText(known);
  if (status === null) return unreachable();
  switch (status) {
    case 401:
      return {
        title: 'You are signed out',
        advice: 'Sign in, and return to this page.',
        next: 'sign-in',
        mayPass: false,
      };
    case 403:
      return code === 'FORBIDDEN'
        ? {
            title: 'Your role does not allow this',
            advice: 'An owner of the organization can give you another role.',
            next: 'people',
            mayPass: false,
          }
        : asText([message]);
    case 404:
      return {
        title: 'There is no such record',
        advice: 'It may be in the other mode: switch between test and live above. Or the address is incomplete.',
        next: 'list',
        mayPass: false,
      };
    case 409:
      return asText(['This does not fit the present state', message]);
    case 429:
      return {
        title: 'Too many requests at once',
        advice: 'Wait a few seconds, and try again.',
        next: null,
        mayPass: true,
      };
    case 502:
    case 503:
    case 504:
      return { title: 'The service is busy', advice: busy, next: null, mayPass: true };
    default:
      return status >= 500
        ? {
            title: 'The service has failed',
            advice: 'Try again. If it fails again, tell the operator the number below.',
            next: null,
            mayPass: true,
          }
        : asText([message]);
  }
}

/** Whether an answer takes the place of what was read before: it is gone, or no longer for this person. */
export function isFinal(error: unknown): boolean {
  return error instanceof TollkeeperError && [401, 403, 404].includes(error.status ?? 0);
}
