/**
 * What a migration may not do to a database on which the version before it still runs, or that is busy: the tables of
 * earlier migrations are there, are large, and are read and written by their old names and types.
 */

/** The number of the last migration of each release, oldest first. None is released yet; a release adds its own. */
export const released: readonly number[] = [];

/** A statement above which this stands is let through; the rest of the line says why it is safe. */
const allowed = /--\s*Allowed: \S/;

interface Rule {
  readonly pattern: RegExp;
  readonly why: string;
}

// The table that a rule's pattern names in its group `table`; what is new in the same file may be done anything with.
const table = '(?:if exists )?(?:only )?(?<table>[a-z_]+)';
const altering = `^alter table ${table} .*`;

const rules: readonly Rule[] = [
  { pattern: new RegExp(`^drop table ${table}`), why: 'the version before still reads the table' },
  { pattern: new RegExp(`^truncate (?:table )?${table}`), why: 'empties a table that the version before reads' },
  {
    pattern: /^drop (?:function|procedure|type|view|materialized view|trigger|policy)\b/,
    why: 'the version before still uses it',
  },
  {
    pattern: new RegExp(
      String.raw`${altering}\bdrop (?:column )?(?!constraint|default|not null|identity|expression)[a-z_]+`,
    ),
    why: 'the version before still reads the column',
  },
  { pattern: new RegExp(String.raw`${altering}\brename\b`), why: 'the version before knows the old name only' },
  {
    pattern: new RegExp(String.raw`${altering}\b(?:alter (?:column )?[a-z_]+ )(?:set data )?type\b`),
    why: 'rewrites the table under a lock, and the version before writes the old type',
  },
  {
    pattern: new RegExp(String.raw`${altering}\bset not null\b`),
    why: 'reads the whole table under a lock, and the version before may write null',
  },
  {
    pattern: new RegExp(
      String.raw`${altering}\badd (?:column )?(?!constraint|check|unique|primary|foreign|exclude)(?:if not exists )?[a-z_]+ (?=[^,]*\bnot null\b)(?![^,]*\b(?:default|generated)\b)`,
    ),
    why: 'the version before does not write the column: give it a default',
  },
  {
    pattern: new RegExp(String.raw`${altering}\bdefault (?:gen_random_uuid|random|clock_timestamp|nextval)\b`),
    why: 'writes every row anew under a lock',
  },
  {
    pattern: new RegExp(
      String.raw`${altering}\badd (?:constraint [a-z_]+ )?(?:check|foreign key)\b(?!.*\bnot valid\b)`,
    ),
    why: 'reads the whole table under a lock: add it "not valid", and validate it in a later migration',
  },
  {
    pattern: new RegExp(
      String.raw`${altering}\badd (?:constraint [a-z_]+ )?(?:unique|primary key|exclude)\b(?!.*\busing index\b)`,
    ),
    why: 'builds an index under a lock: use one that was made before',
  },
  {
    pattern: new RegExp(`^create (?:unique )?index (?!concurrently)(?:if not exists )?(?:[a-z_]+ )?on ${table}`),
    why: 'stops all writes while it is built: make it concurrently, apart from the migration',
  },
  {
    pattern: new RegExp(`^(?:lock table|cluster|vacuum full|reindex table) ?${table}`),
    why: 'stops the version before',
  },
  {
    pattern: new RegExp(`^(?:update|delete from) ${table}`),
    why: 'locks every row that it touches until the end: let a job do it, a piece at a time',
  },
];

export interface Unsafe {
  readonly statement: string;
  readonly why: string;
}

/** The statements of a migration that are not safe while the version before it runs, with the reason. */
export function unsafeStatements(sql: string): Unsafe[] {
  const statements = statementsOf(sql);
  const made = new Set(
    statements.flatMap(
      ({ text }) => /^create table (?:if not exists )?(?<table>[a-z_]+)/.exec(text)?.groups?.table ?? [],
    ),
  );
  return statements.flatMap(({ text, isAllowed }) => {
    if (isAllowed) return [];
    const broken = rules.find(({ pattern }) => {
      const found = pattern.exec(text);
      return found !== null && !made.has(found.groups?.table ?? '');
    });
    return broken === undefined ? [] : [{ statement: text, why: broken.why }];
  });
}

/** The same for those of a list of migrations that come after the last one of a release; before the first release, none. */
export function unsafeSince(
  releases: readonly number[],
  migrations: readonly { readonly file: string; readonly text: string }[],
): (Unsafe & { readonly file: string })[] {
  const last = releases.at(-1) ?? Number.POSITIVE_INFINITY;
  return migrations
    .filter(({ file }) => Number(file.slice(0, 4)) > last)
    .flatMap(({ file, text }) => unsafeStatements(text).map((found) => ({ file, ...found })));
}

/** Without comments, bodies of functions and texts; words parted by one blank, in lower case. */
function statementsOf(sql: string): { text: string; isAllowed: boolean }[] {
  const bare = sql
    .replace(/\$([a-z_]*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/\bbegin atomic[\s\S]*?^\s*end;/gm, "'';")
    .replace(/'(?:[^']|'')*'/g, "''");
  return bare
    .split(';')
    .map((part) => ({
      text: part.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim().toLowerCase(),
      isAllowed: allowed.test(part),
    }))
    .filter(({ text }) => text !== '');
}
