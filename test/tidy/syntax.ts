/**
 * What the rules need to know of a source file, read from TypeScript's own syntax tree. The compiler calls this way in
 * unstable: its version is pinned, and this is the only file that a new one can break.
 */

import assert from 'node:assert/strict';
import * as ast from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';
import { isCode } from './layout.ts';
import { type Comment, commentsIn } from './prose.ts';
import { placeholder, type TableMention, tableName, tablesIn } from './sql.ts';

export interface Import {
  specifier: string;
  /** The names that are imported; null where all may be, by `import()`. Of a namespace, what is read of it. */
  names: readonly string[] | null;
  /** Erased before the file runs. */
  typeOnly: boolean;
  line: number;
}

export interface Spot {
  what: string;
  line: number;
}

export interface Source {
  imports: Import[];
  /** Default exports and `export *`. */
  badExports: Spot[];
  /** What waits, reads the clock, rolls dice or knows the process. */
  impurities: Spot[];
  functions: { name: string; line: number; length: number }[];
  /** What other files can import. */
  exports: Spot[];
  /** Identifier -> the line on which it first occurs. */
  identifiers: ReadonlyMap<string, number>;
  tables: TableMention[];
  comments: Comment[];
}

export interface Parser {
  /** Reads the code among the given files (path -> text); other files are passed over. */
  parse(files: ReadonlyMap<string, string>): Map<string, Source>;
  close(): void;
}

/** Starts the compiler once; each `parse` is a project of its own in a file system that exists in memory only. */
export function openParser(): Parser {
  const disk = createVirtualFileSystem({});
  const api = new API({ cwd: '/', fs: disk });
  let count = 0;
  return {
    parse(files) {
      count += 1;
      const root = `/tree-${count}`;
      const paths = [...files.keys()].filter(isCode);
      for (const path of paths) disk.writeFile?.(`${root}/${path}`, files.get(path) ?? '');
      const options = { noLib: true, noResolve: true, types: [], allowJs: true, noEmit: true, module: 'nodenext' };
      const project = `${root}/tsconfig.json`;
      disk.writeFile?.(project, JSON.stringify({ compilerOptions: options, files: paths }));
      const opened = api.updateSnapshot({ openProjects: [project] }).getProject(project);
      assert(opened !== undefined, 'the compiler knows the project that it was just given');
      return new Map(
        paths.map((path) => {
          const file = opened.program.getSourceFile(`${root}/${path}`);
          assert(file !== undefined, `the compiler has read ${path}`);
          return [path, sourceOf(file)];
        }),
      );
    },
    close: () => api.close(),
  };
}

function sourceOf(file: ast.SourceFile): Source {
  const identifiers = new Map<string, number>();
  const source: Source = {
    imports: [],
    badExports: [],
    impurities: [],
    functions: [],
    tables: [],
    exports: [],
    identifiers,
    comments: [],
  };
  const members = membersIn(file);
  const literals: Span[] = [];
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ast.Node): void => {
    const line = lineOf(node.getStart(file));
    const imported = importAt(node, members);
    if (imported !== undefined) source.imports.push({ ...imported, line });
    const badExport = badExportAt(node);
    if (badExport !== undefined) source.badExports.push({ what: badExport, line });
    const impurity = impurityAt(node);
    if (impurity !== undefined) source.impurities.push({ what: impurity, line });
    if (ast.isFunctionLikeDeclaration(node) && node.body !== undefined) {
      source.functions.push({ name: functionName(node), line, length: lineOf(node.getEnd()) - line + 1 });
    }
    if (isLiteral(node)) literals.push({ start: node.getStart(file), end: node.getEnd() });
    if (ast.isIdentifier(node) && !identifiers.has(node.text)) identifiers.set(node.text, line);
    source.exports.push(...exportsAt(node).map((what) => ({ what, line })));
    for (const mention of tablesAt(node)) {
      source.tables.push({ ...mention, line: lineOf(mention.position) + mention.line });
    }
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  source.comments = commentsIn(withoutLiterals(file.text, literals));
  return source;
}

interface Span {
  start: number;
  end: number;
}

/** Whether a node can contain the mark of a comment that begins none. */
function isLiteral(node: ast.Node): boolean {
  return (
    ast.isStringLiteral(node) ||
    ast.isNoSubstitutionTemplateLiteral(node) ||
    ast.isTemplateHead(node) ||
    ast.isTemplateMiddleOrTemplateTail(node) ||
    ast.isRegularExpressionLiteral(node)
  );
}

/** The text with every literal blanked, so that each mark of a comment that is left begins one. */
function withoutLiterals(text: string, literals: readonly Span[]): string {
  let code = '';
  for (const { start, end } of literals) {
    code += text.slice(code.length, start) + text.slice(start, end).replaceAll(/[^\n]/g, '_');
  }
  return code + text.slice(code.length);
}

/** `import`, `export ... from`, `import()` and `typeof import()`. */
function importAt(node: ast.Node, members: Members): Omit<Import, 'line'> | undefined {
  if (ast.isImportDeclaration(node) && ast.isStringLiteral(node.moduleSpecifier)) {
    const clause = node.importClause;
    const typeOnly = clause !== undefined && isTypeClause(clause);
    return { specifier: node.moduleSpecifier.text, names: namesOf(clause, members), typeOnly };
  }
  if (
    ast.isExportDeclaration(node) &&
    node.moduleSpecifier !== undefined &&
    ast.isStringLiteral(node.moduleSpecifier)
  ) {
    return { specifier: node.moduleSpecifier.text, names: null, typeOnly: node.isTypeOnly };
  }
  if (ast.isCallExpression(node) && node.expression.kind === ast.SyntaxKind.ImportKeyword) {
    const specifier = literal(node.arguments[0]);
    return specifier === undefined ? undefined : { specifier, names: null, typeOnly: false };
  }
  if (ast.isImportTypeNode(node) && ast.isLiteralTypeNode(node.argument)) {
    const specifier = literal(node.argument.literal);
    return specifier === undefined ? undefined : { specifier, names: null, typeOnly: true };
  }
  return undefined;
}

/** Object -> what is read of it, by values (`store.find`) and by types (`store.Row`). */
type Members = ReadonlyMap<string, ReadonlySet<string>>;

function membersIn(file: ast.SourceFile): Members {
  const members = new Map<string, Set<string>>();
  const note = (object: string | undefined, member: string) => {
    if (object !== undefined) members.set(object, (members.get(object) ?? new Set()).add(member));
  };
  const visit = (node: ast.Node): void => {
    if (ast.isPropertyAccessExpression(node)) note(identifier(node.expression), node.name.text);
    if (ast.isQualifiedName(node)) note(identifier(node.left), node.right.text);
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  return members;
}

function namesOf(clause: ast.ImportClause | undefined, members: Members): readonly string[] {
  const bindings = clause?.namedBindings;
  if (bindings === undefined) return [];
  if (ast.isNamespaceImport(bindings)) return [...(members.get(bindings.name.text) ?? [])];
  return bindings.elements.map((element) => (element.propertyName ?? element.name).text);
}

/** The names that a statement exports. */
function exportsAt(node: ast.Node): string[] {
  if (ast.isExportDeclaration(node)) {
    const clause = node.exportClause;
    return clause !== undefined && ast.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : [];
  }
  const isDeclaration =
    ast.isVariableStatement(node) ||
    ast.isFunctionDeclaration(node) ||
    ast.isClassDeclaration(node) ||
    ast.isInterfaceDeclaration(node) ||
    ast.isTypeAliasDeclaration(node);
  if (!isDeclaration || !node.modifiers?.some((modifier) => modifier.kind === ast.SyntaxKind.ExportKeyword)) return [];
  const names = ast.isVariableStatement(node) ? node.declarationList.declarations.map(({ name }) => name) : [node.name];
  return names.flatMap((name) => identifier(name) ?? []);
}

function isTypeClause(clause: ast.ImportClause): boolean {
  if (clause.phaseModifier === ast.SyntaxKind.TypeKeyword) return true;
  const bindings = clause.namedBindings;
  return (
    clause.name === undefined &&
    bindings !== undefined &&
    ast.isNamedImports(bindings) &&
    bindings.elements.length > 0 &&
    bindings.elements.every((element) => element.isTypeOnly)
  );
}

function badExportAt(node: ast.Node): string | undefined {
  if (ast.isExportAssignment(node)) return 'export default';
  if (ast.isFunctionDeclaration(node) || ast.isClassDeclaration(node) || ast.isInterfaceDeclaration(node)) {
    const isDefault = node.modifiers?.some((modifier) => modifier.kind === ast.SyntaxKind.DefaultKeyword);
    return isDefault ? 'export default' : undefined;
  }
  if (ast.isExportSpecifier(node)) return node.name.text === 'default' ? 'export default' : undefined;
  if (!ast.isExportDeclaration(node)) return undefined;
  return node.exportClause === undefined || ast.isNamespaceExport(node.exportClause) ? 'export *' : undefined;
}

const impureMembers = new Set(['Date.now', 'performance.now', 'Math.random', 'Temporal.Now']);
const impureObjects = new Set(['process', 'globalThis', 'crypto']);
const impureCalls = new Set(['Date', 'fetch', 'setTimeout', 'setInterval', 'setImmediate']);

function impurityAt(node: ast.Node): string | undefined {
  if (node.kind === ast.SyntaxKind.AsyncKeyword) return 'async';
  if (node.kind === ast.SyntaxKind.AwaitKeyword || ast.isAwaitExpression(node)) return 'await';
  if (ast.isPropertyAccessExpression(node)) {
    const object = identifier(node.expression);
    if (object === undefined) return undefined;
    const member = `${object}.${node.name.text}`;
    return impureObjects.has(object) || impureMembers.has(member) ? member : undefined;
  }
  // `process['env']` and `const { env } = process`.
  if (ast.isElementAccessExpression(node)) return impureObject(node.expression);
  if (ast.isVariableDeclaration(node)) return impureObject(node.initializer);
  if (ast.isNewExpression(node)) {
    const readsClock = identifier(node.expression) === 'Date' && (node.arguments?.length ?? 0) === 0;
    return readsClock ? 'new Date()' : undefined;
  }
  if (!ast.isCallExpression(node)) return undefined;
  const called = identifier(node.expression);
  return called !== undefined && impureCalls.has(called) ? `${called}()` : undefined;
}

function impureObject(node: ast.Node | undefined): string | undefined {
  const name = identifier(node);
  return name !== undefined && impureObjects.has(name) ? name : undefined;
}

function functionName(node: ast.FunctionLikeDeclaration): string {
  const isNamed = ast.isFunctionDeclaration(node) || ast.isMethodDeclaration(node);
  const named = isNamed ? node.name : ast.isVariableDeclaration(node.parent) ? node.parent.name : undefined;
  return identifier(named) ?? 'a function';
}

const kyselyReads = /^(selectFrom|from|using|(inner|left|right|full|cross)(Lateral)?Join(Lateral)?)$/;
const kyselyWrites = /^(insertInto|updateTable|deleteFrom|mergeInto|replaceInto|table)$/;
/** The functions of `src/database` that take the table as their second argument. */
const pageRead = 'selectPage';
const rowsWrite = 'insertRecords';
/** Calls that take SQL as a plain string. */
const rawCalls = /^(raw|query|copyFrom|copyTo)$/;

/** The tables named by one call of the query builder or by one SQL text. */
function tablesAt(node: ast.Node): (TableMention & { position: number })[] {
  if (ast.isTaggedTemplateExpression(node)) {
    if (identifier(node.tag) !== 'sql') return [];
    return tablesIn(templateText(node.template)).map((mention) => ({ ...mention, position: node.template.getStart() }));
  }
  if (!ast.isCallExpression(node)) return [];
  const callee = node.expression;
  const name = ast.isPropertyAccessExpression(callee) ? callee.name.text : identifier(callee);
  if (name === undefined) return [];
  const isRead = name === pageRead || kyselyReads.test(name);
  const does = isRead ? 'read' : name === rowsWrite || kyselyWrites.test(name) ? 'write' : undefined;
  const place = name === pageRead || name === rowsWrite ? 1 : 0;
  return node.arguments.flatMap((argument, index) => {
    const position = argument.getStart();
    if (rawCalls.test(name)) return tablesIn(textOf(argument)).map((mention) => ({ ...mention, position }));
    if (does === undefined || index !== place) return [];
    const names = ast.isArrayLiteralExpression(argument) ? argument.elements.map(literal) : [literal(argument)];
    return names
      .filter((written) => written !== undefined)
      .map((written) => ({ does, table: tableName(written.split(' ')[0] ?? ''), line: 0, position }));
  });
}

function identifier(node: ast.Node | undefined): string | undefined {
  return node !== undefined && ast.isIdentifier(node) ? node.text : undefined;
}

function literal(node: ast.Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  return ast.isStringLiteral(node) || ast.isNoSubstitutionTemplateLiteral(node) ? node.text : undefined;
}

function textOf(node: ast.Node): string {
  return ast.isTemplateExpression(node) ? templateText(node) : (literal(node) ?? '');
}

function templateText(template: ast.TemplateLiteral): string {
  if (!ast.isTemplateExpression(template)) return template.text;
  return [template.head.text, ...template.templateSpans.map((span) => span.literal.text)].join(` ${placeholder} `);
}
