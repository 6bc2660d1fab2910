import { fillIn } from '../documents/document-text.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type Language, localCount, localDay, localMoney, localPooled } from '../kernel/language.ts';
import { nl } from './dutch.ts';
import { en, type Words } from './english.ts';
import { fr } from './french.ts';
import { de } from './german.ts';
import { it } from './italian.ts';
import { ja } from './japanese.ts';
import { pt } from './portuguese.ts';
import { es } from './spanish.ts';

const catalogues: Readonly<Record<Language, Words>> = { de, en, es, fr, it, ja, nl, pt };

/** The language of a page: its texts, and how it writes amounts, days and counts. */
export interface Wording {
  readonly language: Language;
  readonly words: Words;
  readonly money: (amount: bigint, currency: string) => string;
  readonly day: (at: Instant) => string;
  readonly count: (count: number | bigint) => string;
  /** An amount of a credit pool, which is a decimal text: credits, or money of a currency. */
  readonly pooled: (amount: string, currency: string | null) => string;
  /** Fills in the placeholders of a text. */
  readonly say: (text: string, values: Readonly<Record<string, string>>) => string;
}

function wordingIn(language: Language): Wording {
  return {
    language,
    words: catalogues[language],
    money: (amount, currency) => localMoney(amount, currency, language),
    day: (at) => localDay(at, language),
    count: (count) => localCount(BigInt(count), language),
    pooled: (amount, currency) => localPooled(amount, currency, language),
    say: fillIn,
  };
}

const wordings = new Map<Language, Wording>();

/** The wording of a language. */
export function wordingOf(language: Language): Wording {
  const wording = wordings.get(language) ?? wordingIn(language);
  wordings.set(language, wording);
  return wording;
}
