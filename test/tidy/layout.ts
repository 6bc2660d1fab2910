/** What the layout says about a path, and nothing about what is in the file. */

/** From left to right: a place imports itself and what stands left of it. */
export const order = [
  'kernel',
  'rating',
  'embedded-postgres',
  'database',
  'jobs',
  'http',
  'organizations',
  'people',
  'audit',
  'documents',
  'pricing',
  'customers',
  'subscriptions',
  'spend-controls',
  'credit-pools',
  'usage',
  'entitlements',
  'invoicing',
  'purchases',
  'payments',
  'credit-notes',
  'analytics',
  'billing',
  'wording',
  'checkout',
  'webhooks',
  'mail',
  'archives',
  'erasure',
  'invariants',
  'api',
  'config',
  'app',
  'main',
] as const;
export type Place = (typeof order)[number];

/** The places that are a single file at the top of src/, or siblings of one. */
const files: ReadonlySet<string> = new Set(['config', 'app', 'main']);
/** The folders that know no record of the domain. */
const foundations: ReadonlySet<string> = new Set(['kernel', 'rating', 'embedded-postgres', 'database', 'jobs', 'http']);
/** The folders of the foundations that may hold SQL. */
export const sqlFoundations: ReadonlySet<string> = new Set(['database', 'jobs', 'http']);
/** The folders of the foundations that know no domain word. */
export const wordlessFoundations: ReadonlySet<string> = new Set(['embedded-postgres', 'database', 'jobs', 'http']);
/** The folder that holds the route values, one file a URL family. */
export const api = 'api';
/** The folders in which a file is a verb: they span several slices. */
const verbFolders: ReadonlySet<string> = new Set(['billing', 'invariants']);

/** The folders that hold one domain concept each, with the same file names in all of them. */
export const slices: readonly Place[] = order.filter(
  (place) => !files.has(place) && !foundations.has(place) && place !== api,
);

/** From left to right: a role imports itself and what stands right of it. */
export const roles = ['routes', 'jobs', 'actions', 'store', 'processor', 'concept'] as const;
export type Role = (typeof roles)[number];

/** The folders that hold code. */
export const codeFolders = [
  'src',
  'test',
  'bench',
  'fuzz',
  'simulation',
  'examples',
  'scripts',
  'bin',
  'client',
  'dashboard',
] as const;

/** Whether a path is code of this project, by its folder and its ending. */
export function isCode(path: string): boolean {
  return codeFolders.some((folder) => path.startsWith(`${folder}/`)) && /\.([mc]?[tj]s|tsx)$/.test(path);
}

/** Whether a file is made from others, and so as long as they make it. */
export function isGenerated(path: string): boolean {
  return path === 'src/database/database-types.ts' || /^client\/src\/generated-[a-z-]+\.ts$/.test(path);
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** `renewal-date.test.ts` -> `renewal-date`: the name without its endings. */
export function stem(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name.split('.')[0] ?? name;
}

/** The place in the order of a path under src/, or undefined where the layout knows none. */
export function placeOf(path: string): Place | undefined {
  const [top, second, third] = path.split('/');
  if (top !== 'src' || second === undefined) return undefined;
  if (third !== undefined) return order.find((place) => place === second && !files.has(place));
  const name = stem(path);
  if (name.startsWith('main-')) return 'main';
  return order.find((place) => place === name && files.has(place));
}

export function isSlice(place: Place | undefined): boolean {
  return place !== undefined && slices.includes(place);
}

/**
 * The role of a file of a slice: the first word of its name. In billing and invariants a file is a verb, and a verb is
 * an action.
 */
export function roleOf(path: string): Role | undefined {
  const place = placeOf(path);
  if (!isSlice(place)) return undefined;
  const word = stem(path).split('-')[0];
  if (verbFolders.has(place ?? '')) return word === 'jobs' || word === 'store' ? word : 'actions';
  if (word === 'processor') return place === 'payments' && stem(path) !== word ? 'processor' : 'concept';
  return roles.find((role) => role === word) ?? 'concept';
}

/** Whether a file must neither wait, read the clock nor know the process. Its tests may. */
export function isPure(path: string): boolean {
  if (!isCode(path) || isTest(path)) return false;
  const place = placeOf(path);
  return place === 'kernel' || place === 'rating' || roleOf(path) === 'concept';
}

/** Where a relative specifier leads: ('src/usage/store.ts', '../kernel/id.ts') -> 'src/kernel/id.ts'. */
export function resolve(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
