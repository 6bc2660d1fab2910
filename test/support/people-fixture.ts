import assert from 'node:assert/strict';
import { createOTP } from '@better-auth/utils/otp';
import type { Role } from '../../src/kernel/permission.ts';
import { createInvitation } from '../../src/people/actions.ts';
import type { Answer, Body, TestApp } from './harness.ts';

/** A browser: it keeps cookies, and says which page it shows. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly app: Pick<TestApp, 'url' | 'testEnvironmentId'>;
  /** The origin of the page that it shows. */
  origin: string;

  constructor(app: Pick<TestApp, 'url' | 'testEnvironmentId'>) {
    this.app = app;
    this.origin = app.url;
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** A request of a page at `origin`, with the cookies. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const isForm = body instanceof URLSearchParams;
    const response = await fetch(path.startsWith('http') ? path : this.app.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(method === 'GET' ? {} : { origin: this.origin }),
        ...(this.cookies.size === 0 ? {} : { cookie: this.cookie }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    for (const text of response.headers.getSetCookie()) this.#keep(text);
    const text = await response.text();
    const isJson = text.startsWith('{') || text.startsWith('[') || text === 'null';
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  #keep(text: string): void {
    const [pair = ''] = text.split(';');
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (value === '' || /max-age=0/i.test(text)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  /** A request of the dashboard in the test environment. */
  ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(method, `/api/v1${path}`, body, {
      'x-tollkeeper-environment': String(this.app.testEnvironmentId),
      'x-tollkeeper-request': 'dashboard',
      ...headers,
    });
  }

  async expect(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  signIn(email: string, password = passwordOfAll): Promise<Answer> {
    return this.send('POST', '/auth/sign-in/email', { email, password });
  }
}

export const passwordOfAll = 'correct horse battery';

let people = 0;

/** The path of a link to join the organization of the app. */
export async function linkFor(
  app: Pick<TestApp, 'id' | 'owner' | 'ownerPool'>,
  role: Role,
  email: string | null,
  expiresAt = Date.now() + 60_000,
) {
  // All people of a test have the same address of the network, which has a limit.
  await app.ownerPool.query(`delete from people_rate_limits where key not like 'password %'`);
  const { path } = await createInvitation(app.owner, { organizationId: app.id, role, email, expiresAt }, Date.now());
  return { path, token: path.slice(path.lastIndexOf('/') + 1) };
}

/** Somebody with a role, signed in. */
export async function personWith(app: TestApp, role: Role) {
  people += 1;
  const email = `${role}${people}@people.test`;
  const browser = new Browser(app);
  const { token } = await linkFor(app, role, email);
  const answer = await browser.send('POST', '/auth/invitation/accept', {
    token,
    name: `The ${role}`,
    password: passwordOfAll,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { browser, email, id: answer.body.user.id as string };
}

/** RFC 4648, of a text. */
export function fromBase32(text: string): string {
  const bits = [...text.replace(/=+$/, '')]
    .map((digit) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(digit).toString(2).padStart(5, '0'))
    .join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes).toString('utf8');
}

/** The code that an authenticator with this secret shows now. */
export function codeOf(secret: string): Promise<string> {
  return createOTP(fromBase32(secret)).totp();
}
