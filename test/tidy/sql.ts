/** Which tables a piece of SQL reads and writes. It reads words, not grammar: enough for SQL as it is written here. */

export interface TableMention {
  does: 'read' | 'write';
  /** As the database spells it: `usage_events`. */
  table: string;
  /** Lines below the first line of the text. */
  line: number;
}

/** What stands for an interpolated value while the text around it is read. */
export const placeholder = '\u0000';

const skipped = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g;
const token = /(?:"[^"]+"|[a-z_]\w*)(?:\.(?:"[^"]+"|[a-z_]\w*))*|[^\s]/gi;
const commonTable =
  /(?:\bwith\s+(?:recursive\s+)?|\)\s*,\s*)(\w+)\s*(?:\([^()]*\)\s*)?as\s+(?:not\s+materialized\s+|materialized\s+)?\(/gi;

/** Words that may stand between a verb and its table. */
const between = new Set(['only', 'table', 'if', 'exists']);
/** Words that end a list of tables. `on` is not one of them: `from a join b on a.id = b.id, c`. */
const endsList = new Set([
  'select',
  'set',
  'where',
  'group',
  'order',
  'having',
  'limit',
  'returning',
  'values',
  'union',
]);
/** Functions whose arguments hold the word `from`. */
const fromInside = new Set(['extract', 'substring', 'trim', 'overlay', 'position']);

interface Frame {
  /** Whether a comma leads to another table. */
  list: boolean;
  /** Whether `from` is part of a function's arguments. */
  arguments: boolean;
}

/** What the word asks of the name that follows it: to be read, to be written, or nothing. */
function verbOf(word: string, before: string, frame: Frame): TableMention['does'] | undefined {
  if (word === 'from') {
    if (before === 'delete') return 'write';
    return before === 'distinct' || frame.arguments ? undefined : 'read';
  }
  if (word === 'join' || word === 'using') return 'read';
  if (word === 'update' || word === 'into' || word === 'truncate' || word === 'copy' || word === 'lock') return 'write';
  return undefined;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length - 1;
}

/** The name as the database has it: lower case, without quotes, without the schema that is always there. */
export function tableName(written: string): string {
  return written
    .replaceAll('"', '')
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/^_/, '')
    .replace(/^public\./, '');
}

function blank(part: string): string {
  return part.replaceAll(/[^\n]/g, ' ');
}

/** The tables that a SQL text mentions, in order, and functions that stand where a table could; names that the text defines itself (`with due as (...)`) are left out. */
export function tablesIn(sql: string): TableMention[] {
  const text = sql.replaceAll(skipped, blank);
  const own = new Set(Array.from(text.matchAll(commonTable), (match) => match[1]));
  const mentions: TableMention[] = [];
  const frames: Frame[] = [{ list: false, arguments: false }];
  let wanted: TableMention['does'] | undefined;
  let before = '';

  for (const match of text.matchAll(token)) {
    const word = match[0].toLowerCase();
    const frame = frames.at(-1) ?? { list: false, arguments: false };
    const verb = verbOf(word, before, frame);
    if (word === '(') {
      frames.push({ list: false, arguments: fromInside.has(before) });
      // `from (a join b ...)` goes on looking for a table; `using (id)` names columns.
      if (before === 'using') wanted = undefined;
    } else if (word === ')') {
      if (frames.length > 1) frames.pop();
      wanted = undefined;
    } else if (word === ',') {
      wanted = frame.list ? 'read' : undefined;
    } else if (verb !== undefined) {
      wanted = verb;
      frame.list = frame.list || word === 'from' || word === 'using';
    } else if (endsList.has(word)) {
      frame.list = false;
      wanted = undefined;
    } else if (wanted !== undefined && !between.has(word)) {
      const isName = /^["a-z_]/.test(word);
      const table = tableName(word);
      if (isName && !own.has(table)) mentions.push({ does: wanted, table, line: lineAt(text, match.index) });
      wanted = undefined;
    }
    before = word;
  }
  return mentions;
}
