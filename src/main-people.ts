import { randomBytes } from 'node:crypto';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { constraintOf } from './database/database-problem.ts';
import { createEncryption, keyBytes } from './jobs/encryption.ts';
import { type Role, roleNames } from './kernel/permission.ts';
import { type Output, print } from './main-admin.ts';
import { withWorker } from './main-database.ts';
import { listOrganizations } from './organizations/store.ts';
import { createInvitation } from './people/actions.ts';
import { createSignIn } from './people/actions-sign-in.ts';
import { invitationDays, normalEmail } from './people/person.ts';
import * as store from './people/store.ts';

const dayMs = 86_400_000;

interface PeopleOptions extends Output {
  readonly organization?: string;
}

/** The command in the audit log. */
function by(command: string) {
  return { auditContext: { actor: 'operator', action: `users ${command}` }, access: 'change' } as const;
}

function roleOf(text: string): Role {
  const role = roleNames.find((name) => name === text);
  if (role === undefined) throw new Error(`There is no role ${text}. Choose from ${roleNames.join(', ')}`);
  return role;
}

/** The organization of `--organization`, or the only one. */
async function organizationOf(worker: Database, { organization: wanted }: PeopleOptions): Promise<string> {
  const organizations = await listOrganizations(worker);
  const [only, another] = organizations;
  if (wanted === undefined && another !== undefined)
    throw new Error('There are several organizations. Choose one with --organization <id>');
  const found = wanted === undefined ? only : organizations.find(({ id }) => id === wanted);
  if (found === undefined)
    throw new Error(`There is no organization ${wanted ?? ''}. List them with: tollkeeper organizations list`);
  return found.id;
}

function addressOf({ publicUrl, host, port }: Config): string {
  return (publicUrl ?? `http://${host}:${port}`).replace(/\/+$/, '');
}

function unknown(email: string): Error {
  return new Error(`Nobody has the address ${email}. List the people with: tollkeeper users list`);
}

export async function showPeople(config: Config, options: PeopleOptions): Promise<void> {
  const people = await withWorker(config, ({ worker }) => store.listPeople(worker, options.organization ?? null), {
    access: 'read',
  });
  const lines = people.map(({ email, name, role, organizationId, twoFactorEnabled }) =>
    [email, name, role, organizationId, twoFactorEnabled ? 'with codes' : 'without codes'].join('  '),
  );
  const nobody = 'Nobody has joined yet. Print a link to join with: tollkeeper users invite <email> --role owner';
  print(options, people, lines.length === 0 ? nobody : lines.join('\n'));
}

export async function invitePerson(config: Config, text: string, options: PeopleOptions & { role: string }) {
  const [email, role] = [normalEmail(text), roleOf(options.role)];
  const now = Date.now();
  const { path } = await withWorker(
    config,
    ({ worker }) =>
      worker.transaction().execute(async (db) => {
        const organizationId = await organizationOf(db, options);
        return createInvitation(db, { organizationId, role, email, expiresAt: now + invitationDays * dayMs }, now);
      }),
    by('invite'),
  );
  const url = addressOf(config) + path;
  print(options, { email, role, url }, url);
}

export async function setRole(config: Config, text: string, wanted: string, options: PeopleOptions): Promise<void> {
  const [email, role] = [normalEmail(text), roleOf(wanted)];
  const isFound = await withWorker(
    config,
    async ({ worker }) => {
      const organizationId = await organizationOf(worker, options);
      return keepingAnOwner(store.updateRoleOf(worker, { organizationId, email, role }, Date.now()));
    },
    by('role'),
  );
  if (!isFound) throw unknown(email);
  print(options, { email, role }, `${email}  ${role}`);
}

/** Prints a link that sets a new password. All sessions of the person end when it is used. */
export async function printResetLink(config: Config, text: string, output: Output): Promise<void> {
  const email = normalEmail(text);
  const origin = new URL(addressOf(config)).origin;
  const token = await withWorker(
    config,
    ({ worker }) => {
      // The library asks for a secret. Nothing of a link is sealed with it.
      const encryption = createEncryption([randomBytes(keyBytes)]);
      return createSignIn({ worker, encryption, log: () => undefined }).resetToken(origin, email);
    },
    by('reset-link'),
  );
  if (token === null) throw unknown(email);
  const url = `${addressOf(config)}/reset-password?token=${token}`;
  print(output, { email, url }, url);
}

/** Ends memberships. Somebody who belongs to no organization any more is forgotten. */
export async function removePerson(config: Config, text: string, options: PeopleOptions): Promise<void> {
  const email = normalEmail(text);
  const isFound = await withWorker(
    config,
    ({ worker }) => keepingAnOwner(store.removePerson(worker, email, options.organization ?? null)),
    by('remove'),
  );
  if (!isFound) throw unknown(email);
  print(options, { email }, `Removed ${email}.`);
}

/** Takes the codes of an authenticator away, for somebody who has lost it. */
export async function disableCodes(config: Config, text: string, output: Output): Promise<void> {
  const email = normalEmail(text);
  const isFound = await withWorker(config, ({ worker }) => store.disableCodes(worker, email), by('disable-totp'));
  if (!isFound) throw unknown(email);
  print(output, { email }, `${email} signs in without a code now.`);
}

async function keepingAnOwner<Answer>(answered: Promise<Answer>): Promise<Answer> {
  try {
    return await answered;
  } catch (error) {
    if (constraintOf(error) !== 'memberships_keep_an_owner') throw error;
    throw new Error('This is the last owner. Make somebody else an owner first.', { cause: error });
  }
}
