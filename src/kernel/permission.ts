/** The kinds of access. A holder of one has it in every group of routes, in those of later versions too. */
export const accesses = ['read', 'write', 'money', 'catalog', 'admin'] as const;
type Access = (typeof accesses)[number];

/**
 * The groups of routes, and the kinds of access that their routes need. A group is the first part of the paths, but for
 * those that somebody may need without the rest.
 */
export const routeGroups = {
  'api-keys': ['read', 'admin'],
  organizations: ['admin'],
  members: ['read', 'admin'],
  invitations: ['read', 'admin'],
  'sign-in-provider': ['read', 'admin'],
  settings: ['read', 'admin'],
  'audit-log': ['read'],
  changes: ['read'],
  customers: ['read', 'write', 'admin'],
  'portal-sessions': ['write'],
  subscriptions: ['read', 'write', 'money'],
  cancellations: ['write'],
  'pricing-models': ['read', 'catalog'],
  products: ['read', 'catalog'],
  'product-features': ['read', 'catalog'],
  prices: ['read', 'catalog'],
  features: ['read', 'catalog'],
  'usage-meters': ['read', 'catalog'],
  'credit-pools': ['read', 'catalog'],
  resources: ['read', 'catalog'],
  catalogs: ['read', 'catalog'],
  discounts: ['read', 'catalog'],
  'subscription-item-features': ['read', 'write'],
  'resource-claims': ['read', 'write'],
  entitlements: ['read'],
  'usage-credits': ['read', 'money'],
  'usage-events': ['read', 'write'],
  archives: ['read'],
  holds: ['read', 'write'],
  invoices: ['read', 'money'],
  'invoice-line-items': ['read'],
  'invoice-items': ['read', 'money'],
  'credit-notes': ['read', 'money'],
  'customer-balances': ['read', 'money'],
  exports: ['read'],
  'tax-rates': ['read', 'money'],
  purchases: ['read', 'write'],
  'checkout-sessions': ['read', 'write'],
  payments: ['read', 'money'],
  'payment-methods': ['read', 'write'],
  webhooks: ['read', 'admin'],
  deliveries: ['read', 'write'],
  events: ['read'],
  emails: ['read', 'write'],
  analytics: ['read'],
  search: ['read'],
  'test-clock': ['read', 'admin'],
} as const satisfies Record<string, readonly Access[]>;

type Groups = typeof routeGroups;

/** A kind of access in one group of routes: `usage-events:write`. A route needs one of these. */
export type GroupPermission = { [Group in keyof Groups]: `${Group}:${Groups[Group][number]}` }[keyof Groups];
export type Permission = Access | GroupPermission;

export const groupPermissions = Object.entries(routeGroups).flatMap(([group, kinds]) =>
  kinds.map((kind) => `${group}:${kind}` as GroupPermission),
);

/** Every permission there is: the kinds of access, then those of single groups. */
export const permissions: readonly Permission[] = [...accesses, ...groupPermissions];

/** The kind of access that a permission is: `usage-events:write` -> `write`. */
function accessOf(permission: Permission): Access {
  return permission.slice(permission.indexOf(':') + 1) as Access;
}

/** The permissions of which one suffices for what needs `needed`. */
export function sufficientFor(needed: Permission): readonly Permission[] {
  return [...new Set([needed, accessOf(needed)])];
}

/** The permissions among `needed` that `held` does not include. Nobody gives those to others. */
export function missingFrom(held: readonly string[], needed: readonly Permission[]): readonly Permission[] {
  return needed.filter((each) => !sufficientFor(each).some((permission) => held.includes(permission)));
}

/** The permissions of each role of a person. A key has permissions of its own. */
export const roles = {
  owner: accesses,
  billing: ['read', 'money'],
  support: ['read', 'cancellations:write', 'deliveries:write', 'emails:write'],
  developer: ['read', 'write', 'catalog', 'api-keys:admin', 'webhooks:admin', 'test-clock:admin'],
  viewer: ['read'],
} as const satisfies Record<string, readonly Permission[]>;
export type Role = keyof typeof roles;
export const roleNames = Object.keys(roles) as Role[];

/** The roles that have one of these permissions. */
export function rolesWith(sufficient: readonly string[]): readonly Role[] {
  return roleNames.filter((role) => roles[role].some((permission) => sufficient.includes(permission)));
}
