/** A small tree that keeps every rule, and for each rule the changes that break it and nothing else. */

import type { Place } from './layout.ts';
import type { ProseLimits } from './prose.ts';

const lines = (count: number) => 'export const one = 1;\n'.repeat(count);

export const cleanFiles: Readonly<Record<string, string>> = {
  'README.md': '# A service\n',
  'migrations/0001-first.sql': [
    'create table events (id text);',
    '-- create table forgotten (id text);',
    'create table products (id text);',
    'create table invoices (id text);',
    "create table products_2026 partition of products for values in ('2026');",
  ].join('\n'),
  'src/kernel/money.ts': '/** Never async, never await. */\nexport const zero = 0n;\n',
  'src/kernel/money.test.ts': [
    "import { test } from 'node:test';",
    "import { clock } from '../../test/harness.ts';",
    "import { zero } from './money.ts';",
    "test('zero is zero', async () => { await clock(zero); });",
  ].join('\n'),
  'src/jobs/outbox.ts': 'export const publish = async (sql) => { await sql`insert into events values (1)`; };\n',
  // What is made from other files may be long.
  'src/database/database-types.ts': lines(601),
  'client/src/generated-types.ts': lines(601),
  'client/LICENSE': 'As is.\n',
  'src/pricing/README.md': '# Pricing\n',
  'src/pricing/product.ts': "import { zero } from '../kernel/money.ts';\nexport const free = { price: zero };\n",
  'src/pricing/store-products.ts': [
    "import { free } from './product.ts';",
    "export const save = (db) => db.insertInto('products').values(free);",
  ].join('\n'),
  'src/pricing/store-harmless.ts': [
    '// Nothing here speaks of the tables invoices and events, though the words are there.',
    'sql`with invoices as (select 1), events (id) as (select 2) select 1 from invoices, events`;',
    'sql`select extract(epoch from invoices) from products group by id, invoices`;',
    "sql`select 1 from products -- from invoices\n where name = 'from invoices'`;",
    'sql`insert into products (id, events) values (1, 2) on conflict (id, events) do update set id = events.id`;',
    'sql`select id, invoices from products p join products q using (invoices) where id is distinct from invoices`;',
    'sql`select 1 from unnest(${events}, invoices) as events(id)`;',
    "throw new Problem('from invoices');",
  ].join('\n'),
  'src/pricing/actions.ts': "import { save } from './store-products.ts';\nexport const create = (db) => save(db);\n",
  'src/invoicing/README.md': '# Invoicing\n',
  'src/invoicing/invoice.ts': 'export const dueAt = (now) => new Date(now);\n',
  'src/invoicing/store.ts': [
    "import { free } from '../pricing/product.ts';",
    "export const list = (db) => db.selectFrom('invoices').innerJoin('products as p', 'p.id', 'invoices.id');",
    'export const lock = (sql) => sql`select ${free} from invoices for update`;',
  ].join('\n'),
  'src/billing/README.md': '# Billing\n',
  'src/billing/cancel.ts':
    "import { list } from '../invoicing/store.ts';\nexport const cancel = async (db) => list(db);\n",
  'src/billing/jobs.ts': "import { cancel } from './cancel.ts';\nexport const task = { run: cancel };\n",
  'src/checkout/README.md': '# Checkout\n',
  'src/checkout/routes-pages.ts': "export const page = { method: 'GET', path: '/checkout/:id' };\n",
  'src/api/products.ts':
    "import { create } from '../pricing/actions.ts';\nexport const post = { path: '/products/{id}', handle: create };\n",
  'src/api/routes.ts': "import { post } from './products.ts';\nexport const routes = [post];\n",
  'src/config.ts': [
    '/**',
    ' * The port to listen on. It is read once:',
    ' * - a noun may begin an item;',
    ' * @returns a number of at most five digits.',
    ' */',
    "export const port = Number(process.env.PORT ?? 'https://example.com // What a URL holds is no comment.');",
    'const pattern = /[/*] What a pattern holds/;',
  ].join('\n'),
  'src/app.ts': [
    "import { routes } from './api/routes.ts';",
    "import { list } from './invoicing/store.ts';",
    "import * as billing from './billing/jobs.ts';",
    "import { port } from './config.ts';",
    'export const app = { routes, list, billing, port };',
  ].join('\n'),
  'src/main.ts':
    "import about from '../package.json' with { type: 'json' };\nimport { app } from './app.ts';\nimport { run } from './main-keys.ts';\nrun(app, about);\n",
  'src/main-keys.ts': 'export const run = console.log;\n',
  'test/first-year.test.ts': "import { app } from '../src/app.ts';\napp.list.query('delete from invoices');\n",
  'test/harness.ts': `export function clock() {\n${'f();\n'.repeat(100)}}\n`,
};

export const cleanOwners: Readonly<Record<string, Place>> = {
  events: 'jobs',
  products: 'pricing',
  invoices: 'invoicing',
};

export const cleanLimits: ProseLimits = { headlessPerMille: 0, long: 0, deniedWords: 0 };

export interface Breach {
  claim: string;
  /** Path -> the text that the file has instead; null takes the file away. */
  files: Readonly<Record<string, string | null>>;
  owners?: Readonly<Record<string, Place>>;
  /** `rule path:line` of the one finding. */
  finding: string;
}

const action = (text: string) => ({ 'src/invoicing/actions-void.ts': text });
const store = (text: string) => ({ 'src/pricing/store-prices.ts': text });
const concept = (text: string) => ({ 'src/invoicing/line-item.ts': text });

const imports: Breach[] = [
  {
    claim: 'a folder does not import what stands right of it',
    files: { 'src/pricing/actions-count.ts': "import { list } from '../invoicing/store.ts';\nlist();\n" },
    finding: 'direction src/pricing/actions-count.ts:1',
  },
  {
    claim: 'a type is no excuse for importing from the right',
    files: { 'src/rating/line.ts': "export type Free = import('../pricing/product.ts').Free;\n" },
    finding: 'direction src/rating/line.ts:1',
  },
  {
    claim: 'an export from the right is an import',
    files: { 'src/database/db.ts': "\nexport { list } from '../invoicing/store.ts';\n" },
    finding: 'direction src/database/db.ts:2',
  },
  {
    claim: 'an import at run time is an import',
    files: { 'src/database/db.ts': "export const load = () => import('../invoicing/store.ts');\n" },
    finding: 'direction src/database/db.ts:1',
  },
  {
    claim: 'a foundation does not read the configuration by itself',
    files: { 'src/database/db.ts': "import { port } from '../config.ts';\nport();\n" },
    finding: 'direction src/database/db.ts:1',
  },
  {
    claim: 'the service imports nothing from the tests',
    files: { 'src/database/db.ts': "import { clock } from '../../test/harness.ts';\nclock();\n" },
    finding: 'direction src/database/db.ts:1',
  },
  {
    claim: 'main reaches the slices through app',
    files: {
      'src/main-keys.ts': [
        "import { create } from './pricing/actions.ts';",
        "import { list } from './invoicing/store.ts';",
        "import { cancel } from './billing/cancel.ts';",
        "import { page } from './checkout/routes-pages.ts';",
        'export const run = [create, list, cancel, page];',
      ].join('\n'),
    },
    finding: 'wiring src/main-keys.ts:1',
  },
  {
    claim: 'a store does not import actions',
    files: store("import { create } from './actions.ts';\ncreate();\n"),
    finding: 'role src/pricing/store-prices.ts:1',
  },
  {
    claim: 'a concept does not import its store, not even its types',
    files: concept("import type { Row } from './store.ts';\nexport type LineItem = Row;\n"),
    finding: 'role src/invoicing/line-item.ts:1',
  },
  {
    claim: 'a payment processor does not import a store',
    files: {
      'src/payments/README.md': '# Payments\n',
      'src/payments/store.ts': 'export const save = 1;\n',
      'src/payments/processor-test.ts': "import { save } from './store.ts';\nexport const charge = async () => save;\n",
    },
    finding: 'role src/payments/processor-test.ts:1',
  },
  {
    claim: 'a verb of billing does not import its jobs',
    files: { 'src/billing/renew.ts': "import { task } from './jobs.ts';\ntask();\n" },
    finding: 'role src/billing/renew.ts:1',
  },
];

const impure = [
  'export const wait = async () => 1;',
  'for await (const each of []) each();',
  'export const now = Date.now();',
  'export const now = new Date();',
  'export const now = performance.now();',
  'export const now = Temporal.Now.instant();',
  'export const luck = Math.random();',
  'export const port = process.env.PORT;',
  "export const port = process['env'];",
  'const { env } = process;',
  'setTimeout(() => 1, 1000);',
  "import { readFileSync } from 'node:fs';",
  "import { randomBytes } from 'node:crypto';",
  "import { sql } from 'kysely';",
  "import { sign } from 'pg/lib/crypto';",
  "import { publish } from '../jobs/outbox.ts';",
];
const purity: Breach[] = impure.map((line) => ({
  claim: `a concept file must not say: ${line}`,
  files: concept(`export const one = 1;\n${line}\n`),
  finding: 'purity src/invoicing/line-item.ts:2',
}));

const tables: Breach[] = [
  ...[
    "db.selectFrom('invoices');",
    'db.selectFrom(`products`);',
    'sql`select 1 from invoices`;',
    "pool.query('select 1 from invoices');",
    'sql<number>`with due as (select 1) select * from due, lateral (select 1 from "invoices" i) x`;',
  ].map((line) => ({
    claim: `only a store says: ${line}`,
    files: action(`export const one = 1;\n${line}\n`),
    finding: 'tables src/invoicing/actions-void.ts:2',
  })),
  ...[
    "db.insertInto('events');",
    "db.updateTable('invoices as i');",
    "db.deleteFrom('invoices');",
    "db.selectFrom('invoices').select('id');",
    "db.selectFrom('products').leftJoin('invoices as i', 'i.id', 'products.id');",
    "db.selectFrom(['products', 'invoices']);",
    "selectPage(work, 'invoices', ['id'], request, {});",
    "insertRecords(work, 'events', ['id'], rows);",
    'sql`insert into events values (${1})`;',
    'sql`update only invoices set id = 1`;',
    'sql`delete from public.invoices`;',
    'sql`delete from products using invoices`;',
    'sql`select 1 from products p, invoices i`;',
    'sql`select 1 from (products p join invoices i using (id))`;',
    'sql`select 1 from products where true union all select 2 from invoices`;',
    "sql`insert into ${sql.table('events')} values (1)`;",
    "sql.raw('truncate table events');",
  ].map((line) => ({
    claim: `the store of pricing must not say: ${line}`,
    files: store(`export const one = 1;\n${line}\n`),
    finding: 'tables src/pricing/store-prices.ts:2',
  })),
  {
    claim: 'a store reads what stands left and does not write it',
    files: {
      'src/invoicing/store-lines.ts':
        'sql`\n  insert into invoices\n  select 1 from products for update`;\nsql`update products set id = 1`;\n',
    },
    finding: 'tables src/invoicing/store-lines.ts:4',
  },
  {
    claim: 'the line of a table is the line in the text, not that of the statement',
    files: store('sql`\n  select 1\n  from invoices`;\n'),
    finding: 'tables src/pricing/store-prices.ts:3',
  },
  {
    claim: 'a foundation knows no table of a slice',
    files: { 'src/database/db.ts': 'export const count = sql`select 1 from products`;\n' },
    finding: 'tables src/database/db.ts:1',
  },
  {
    claim: 'a table that a migration creates has an owner',
    files: { 'migrations/0002-second.sql': '\ncreate table if not exists refunds (id text);\n' },
    finding: 'owners migrations/0002-second.sql:2',
  },
  {
    claim: 'a table that has an owner is created',
    files: { 'migrations/0002-second.sql': 'drop table products;\n' },
    finding: 'owners test/tidy/owners.ts:1',
  },
  {
    claim: 'a table that is renamed has an owner under its new name',
    files: { 'migrations/0002-second.sql': 'alter table products rename to goods;\n' },
    owners: { ...cleanOwners, goods: 'pricing' },
    finding: 'owners test/tidy/owners.ts:1',
  },
];

const shapes: Breach[] = [
  {
    claim: 'there is no third level under src/',
    files: { 'src/pricing/prices/price.ts': 'export const one = 1;\n' },
    finding: 'depth src/pricing/prices/price.ts:1',
  },
  {
    claim: 'a folder that the layout does not know has no place',
    files: { 'src/commands/keys.ts': 'export const one = 1;\n' },
    finding: 'depth src/commands/keys.ts:1',
  },
  {
    claim: 'a file that the layout does not know has no place',
    files: { 'src/server.ts': 'export const one = 1;\n' },
    finding: 'depth src/server.ts:1',
  },
  ...[
    'src/kernel/helper-money.ts',
    'src/kernel/index.ts',
    'test/utils.ts',
    'src/kernel/rounding-v2.ts',
    'bench/misc/a.js',
  ].map((path) => ({
    claim: `${path} says nothing`,
    files: { [path]: 'export const one = 1;\n' },
    finding: `names ${path}:1`,
  })),
  {
    claim: 'a file name is in lower case',
    files: { 'src/kernel/bigMoney.ts': 'export const one = 1;\n' },
    finding: 'names src/kernel/bigMoney.ts:1',
  },
  {
    claim: 'a slice holds nothing but code and its README',
    files: { 'src/pricing/notes.md': 'later\n' },
    finding: 'slice-files src/pricing/notes.md:1',
  },
  {
    claim: 'a concept file is singular',
    files: { 'src/pricing/prices.ts': 'export const one = 1;\n' },
    finding: 'slice-files src/pricing/prices.ts:1',
  },
  {
    claim: 'a route stands in api, not in its slice',
    files: { 'src/pricing/routes.ts': 'export const one = 1;\n' },
    finding: 'slice-files src/pricing/routes.ts:1',
  },
  {
    claim: 'a file of api holds one URL family',
    files: { 'src/api/prices.ts': "export const get = { path: '/products' };\n" },
    finding: 'families src/api/prices.ts:1',
  },
  {
    claim: 'a slice has a README',
    files: { 'src/pricing/README.md': null },
    finding: 'readme src/pricing/README.md:1',
  },
  {
    claim: 'a README of 61 lines is too long',
    files: { 'src/pricing/README.md': 'word\n'.repeat(61) },
    finding: 'readme src/pricing/README.md:60',
  },
  {
    claim: 'a file of 601 lines is too long, a test as well',
    files: { 'src/kernel/page.ts': lines(600), 'test/refund.test.ts': lines(601) },
    finding: 'length test/refund.test.ts:600',
  },
  ...[
    'export default 1;',
    'export default function one() {}',
    'export { one as default };',
    "export * from './money.ts';",
  ].map((line) => ({
    claim: `no file says: ${line}`,
    files: { 'src/kernel/page.ts': `const one = 1;\n${line}\n` },
    finding: 'exports src/kernel/page.ts:2',
  })),
  {
    claim: 'a function of 71 lines does not fit on a screen, one of 70 does',
    files: {
      'src/kernel/page.ts': `export function fits() {\n${'f();\n'.repeat(68)}}\nexport const long = () => {\n${'f();\n'.repeat(69)}};\n`,
      'src/kernel/page.test.ts': `describe('a suite', () => {\n${'f();\n'.repeat(100)}});\n`,
    },
    finding: 'functions src/kernel/page.ts:71',
  },
  ...[
    ['# From /wo', 'rk/main'],
    ['https://registry.npm', 'js.org/pg'],
    ['see .a-', 'seed-1'],
  ].map((halves) => ({
    claim: `no file mentions ${halves.join('-')}`,
    files: { 'package-lock.json': `{\n"${halves.join('')}"\n}\n` },
    finding: 'workplace package-lock.json:2',
  })),
];

const comment = (text: string) => ({ 'src/kernel/page.ts': `${text}\nexport const one = 1;\n` });
const count = (words: number) => `/** One${' word'.repeat(words - 1)}. */`;

const prose: Breach[] = [
  ...[
    '/** What is kept of an account. */',
    '/** The account. Who has one may go on. */',
    '/**\n * The account.\n * Where there is none, nothing happens.\n */',
    '/** Two kinds:\n * - those of test mode\n * - all others\n */',
    '// The account.\n// Of several the newest.',
    'f(); // what is left',
    'const text = `a ${b /* That comes first. */} c`;',
  ].map((text) => ({
    claim: `no comment says: ${text}`,
    files: comment(text),
    finding: 'headless test/tidy/prose.ts:1',
  })),
  {
    claim: 'a sentence of 31 words is too long, one of 30 is not',
    files: { ...comment(count(31)), 'src/kernel/record.ts': count(30) },
    finding: 'sentence-length test/tidy/prose.ts:1',
  },
  ...['/** The events that were told. */', '/** A payment\n * that is under\n * way. */'].map((text) => ({
    claim: `no comment uses a word of the deny-list: ${text}`,
    files: comment(text),
    finding: 'words test/tidy/prose.ts:1',
  })),
];

const sizes: Breach[] = [
  {
    claim: 'a file of 39 lines needs a reason, one of 40 does not',
    files: { 'src/kernel/page.ts': lines(40), 'src/kernel/record.ts': lines(39) },
    finding: 'floor src/kernel/record.ts:1',
  },
  {
    claim: 'a folder of 36 files is too large, one of 35 is not; tests do not count',
    files: {
      'src/rating/0.test.ts': '\n',
      ...Object.fromEntries(Array.from({ length: 35 }, (_, index) => [`src/rating/${index}.ts`, '\n'])),
      ...Object.fromEntries(Array.from({ length: 36 }, (_, index) => [`src/http/${index}.ts`, '\n'])),
    },
    finding: 'folders src/http:1',
  },
];

const names: Breach[] = [
  {
    claim: 'a name that nobody imports is not exported',
    files: { 'src/kernel/money.ts': 'export const zero = 0n;\nexport const one = 1n;\n' },
    finding: 'importers src/kernel/money.ts:2',
  },
  {
    claim: 'of a namespace, what is read of it is imported',
    files: {
      'src/pricing/actions.ts':
        "import * as store from './store-products.ts';\nexport const create = (db) => store.save(db);\n",
      'src/pricing/store-products.ts':
        "import { free } from './product.ts';\nexport const save = (db) => db.insertInto('products').values(free);\nexport const load = save;\n",
    },
    finding: 'importers src/pricing/store-products.ts:3',
  },
  {
    claim: 'two files that import each other are one',
    files: {
      'src/kernel/page.ts': "import type { Size } from './size.ts';\nexport type Page = Size;\n",
      'src/kernel/size.ts': "import type { Page } from './page.ts';\nexport type Size = Page;\n",
    },
    finding: 'cycles src/kernel/page.ts:1',
  },
  {
    claim: 'a foundation has no word of the domain, however it is written',
    files: { 'src/jobs/queue.ts': '// An invoice.\nconst openInvoices = "customer";\nopenInvoices();\n' },
    finding: 'domain-words src/jobs/queue.ts:2',
  },
];

/** Rules that a tree so small does not keep: its files are short, and little in it is imported. */
export const rulesOfLargeTrees: ReadonlySet<string> = new Set(['floor', 'importers']);

/** At least one breach for every rule. */
export const breaches: readonly Breach[] = [...imports, ...purity, ...tables, ...shapes, ...sizes, ...names, ...prose];
