import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { type Role, roleNames, roles } from '../kernel/permission.ts';

/** A person who is signed in, and where they may do what. */
export interface Me {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly memberships: readonly MyMembership[];
}

interface MyMembership {
  readonly organization: { readonly id: string; readonly name: string };
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly environments: readonly { readonly id: string; readonly livemode: boolean }[];
}

/** A row for each environment of the organizations of a person. */
export interface MembershipRow {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly role: Role;
  readonly environmentId: number;
  readonly livemode: boolean;
}

/** Groups the rows, which are in the order of the organizations. */
export function toMemberships(rows: readonly MembershipRow[]): MyMembership[] {
  const byOrganization = Map.groupBy(rows, ({ organizationId }) => organizationId);
  return [...byOrganization.values()].flatMap((of) => {
    const [first] = of;
    if (first === undefined) return [];
    const { organizationId: id, organizationName: name, role } = first;
    const environments = of.map(({ environmentId, livemode }) => ({ id: String(environmentId), livemode }));
    return { organization: { id, name }, role, permissions: roles[role], environments };
  });
}

export const UserId = idSchema('user');
export const InvitationId = idSchema('invitation');
export const RoleName = z.enum(roleNames);

/** A person in an organization. */
export const Member = z.object({
  userId: UserId,
  name: z.string(),
  email: z.string(),
  role: RoleName,
  twoFactorEnabled: z.boolean(),
  createdAt: Timestamp,
});
export type Member = z.infer<typeof Member>;

/** A link to join that was not used. Its text is shown once. */
export const Invitation = z.object({
  id: InvitationId,
  email: z.string(),
  role: RoleName,
  expiresAt: Timestamp,
  createdAt: Timestamp,
});
export type Invitation = z.infer<typeof Invitation>;

export const NewInvitation = z.object({
  email: z.email().max(320).transform(normalEmail),
  role: RoleName,
});
export type NewInvitation = z.output<typeof NewInvitation>;

/** How long a link to join works: over a weekend and a holiday. */
export const invitationDays = 7;
/** The link of the first start is used at once. Each start prints another. */
export const firstLinkHours = 24;

/** The shortest password. A sentence is easier to keep than a short secret. */
export const shortestPassword = 10;
/** The longest password: more would only take time to hash. */
export const longestPassword = 128;

/** The form of an e-mail address in which the database keeps and compares it. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** The path of everything that the library for signing in answers. */
export const signInPath = '/auth';

/** The header in which that library reads the address of a request. The server sets it, whatever a client sent. */
export const addressHeader = 'x-tollkeeper-address';
