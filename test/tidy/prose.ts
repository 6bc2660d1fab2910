/** The language of comments: splits them into sentences and finds the ones that are hard to read. */

import { isCode, isGenerated, isTest } from './layout.ts';

/** The words of one comment: a block, or the line comments that follow each other without code between them. */
export interface Comment {
  /** One entry a line, without the marks of the comment. */
  lines: string[];
  /** The line of the first entry. */
  line: number;
}

export interface Sentence {
  text: string;
  line: number;
}

/** A kind of fault that the rules count. */
export type Fault = 'headless' | 'long' | 'denied-word';

/** The number of faults in all comments together. Lower these as sentences are rewritten; they never rise. */
export interface ProseLimits {
  /** Headless sentences in a thousand. */
  headlessPerMille: number;
  /** Sentences of more than `maxWords` words. */
  long: number;
  /** Words and phrases of the deny-list. */
  deniedWords: number;
}

export const proseLimits: ProseLimits = { headlessPerMille: 0, long: 0, deniedWords: 0 };

export const maxWords = 30;

/** Words that begin a clause without its noun: "What is kept of an account" says less than "The cached account". */
const headless = /^\W*(What|Whatever|Which|Who|Whoever|Whom|Whose|Where|That|Those|Of)\b/i;

/** Words that stand here for a standard term, or for a plainer word. Each has a better one beside it. */
const betterWords: Readonly<Record<string, string>> = {
  told: 'published, reported, passed',
  remembered: 'cached, stored',
  remembers: 'caches, stores',
  anew: 'again',
  lapsed: 'expired',
  lapses: 'expires',
  lapse: 'expire',
  'under way': 'in flight, in progress, pending',
  'comes to': 'results in, is, equals',
  'come to': 'result in, are',
  'came to': 'resulted in',
  'stands for': 'means, represents',
  'stand for': 'mean, represent',
  'for want of': 'without',
  'goes by': 'uses, follows',
  'go by': 'use, follow',
  whoever: 'a noun: the caller, the owner, the process',
  whom: 'a noun',
  journal: 'WAL',
  lane: 'queue, worker',
  lanes: 'queues, workers',
  drawn: 'applied, pending',
  drawable: 'available',
};

/** Lines for a tool, which are no sentences. */
const directive = /^\s*(biome-ignore|@ts-expect-error|node scripts|npm run)\b/;

const denied = new RegExp(`\\b(${Object.keys(betterWords).join('|')})\\b`, 'gi');

/** The end of a sentence: its mark, with closing quotes, before a word that can begin the next. */
const sentenceEnd = /[.!?]["')`\]]*\s+(?=["'`([{]*[A-Z0-9])/;

/** The comments of a text in which every mark of a comment begins one. */
export function commentsIn(code: string): Comment[] {
  const comments: Comment[] = [];
  let end = 0;
  let line = 1;
  let open: Comment | undefined;
  for (const { 0: comment, index } of code.matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g)) {
    const between = code.slice(end, index);
    line += newLines(between);
    end = index + comment.length;
    const isBlock = comment.startsWith('/*');
    const lines = isBlock ? linesOfBlock(comment) : [comment.slice(2)];
    const continues = !isBlock && /^[^\S\n]*\n[^\S\n]*$/.test(between);
    if (open !== undefined && continues) open.lines.push(...lines);
    else comments.push({ lines, line });
    open = isBlock ? undefined : comments.at(-1);
    line += newLines(comment);
  }
  return comments;
}

function linesOfBlock(comment: string): string[] {
  const inside = comment.replace(/^\/\*+/, '').replace(/\**\/$/, '');
  return inside.split('\n').map((line) => line.replace(/^\s*\*(?=\s|$)/, ''));
}

function newLines(text: string): number {
  return text.split('\n').length - 1;
}

/** The sentences of a comment. A blank line, an item of a list and a tag begin a new one. */
export function sentencesOf({ lines, line }: Comment): Sentence[] {
  const sentences: Sentence[] = [];
  let paragraph: { words: string; line: number }[] = [];
  const endParagraph = () => {
    sentences.push(...split(paragraph));
    paragraph = [];
  };
  for (const [index, raw] of lines.entries()) {
    const isItem = /^\s*([-*]|\d+\.|@\w+)\s/.test(raw);
    if (directive.test(raw)) {
      endParagraph();
      continue;
    }
    const words = raw.replace(/^\s*([-*]|\d+\.|@\w+)\s+/, '').trim();
    if (words === '' || isItem) endParagraph();
    if (words !== '') paragraph.push({ words, line: line + index });
  }
  endParagraph();
  return sentences;
}

function split(paragraph: readonly { words: string; line: number }[]): Sentence[] {
  const sentences: Sentence[] = [];
  let open = '';
  let start = 0;
  for (const { words, line } of paragraph) {
    // The blank in front lets a sentence that ends with its line meet the first word of the next line.
    let rest = open === '' ? words : `${open} ${words}`;
    if (open === '') start = line;
    for (let end = sentenceEnd.exec(rest); end !== null; end = sentenceEnd.exec(rest)) {
      const text = rest.slice(0, end.index + end[0].length).trim();
      sentences.push({ text, line: start });
      rest = rest.slice(end.index + end[0].length);
      start = line;
    }
    open = rest;
  }
  if (open !== '') sentences.push({ text: open, line: start });
  return sentences.filter(({ text }) => /[A-Za-z]{2}/.test(text));
}

/** Whether the comments of a file are counted. Tests speak in claims, and generated files in what they are made from. */
export function isProse(path: string): boolean {
  return isCode(path) && !path.startsWith('test/') && !isTest(path) && !isGenerated(path);
}

export interface ProseCounts {
  sentences: number;
  headless: number;
  long: number;
  deniedWords: number;
}

export function proseCounts(comments: readonly Comment[]): ProseCounts {
  const sentences = comments.flatMap(sentencesOf);
  const faults = sentences.flatMap(faultsOf);
  const count = (fault: Fault) => faults.filter((each) => each.fault === fault).length;
  return {
    sentences: sentences.length,
    headless: count('headless'),
    long: count('long'),
    deniedWords: count('denied-word'),
  };
}

/** The faults of a sentence, each with a hint for its author. */
export function faultsOf({ text }: Sentence): { fault: Fault; hint: string }[] {
  const faults: { fault: Fault; hint: string }[] = [];
  const first = headless.exec(text)?.[1];
  if (first !== undefined)
    faults.push({ fault: 'headless', hint: `begins with "${first}": begin with a noun or a verb` });
  const words = wordCount(text);
  if (words > maxWords) faults.push({ fault: 'long', hint: `${words} words of ${maxWords}` });
  for (const [word] of text.matchAll(denied)) {
    faults.push({ fault: 'denied-word', hint: `"${word}": write ${betterWords[word.toLowerCase()]}` });
  }
  return faults;
}

function wordCount(text: string): number {
  return text.split(/\s+/).filter((word) => /\w/.test(word)).length;
}
