import { z } from 'zod';
import type { Instant, Period } from './calendar.ts';
import { dayText, rangeText } from './iso-text.ts';
import { decimalText, minorUnitDigits } from './money-text.ts';

/**
 * The languages of documents and emails. To add one, add it here: the compiler then names each catalogue that lacks its
 * texts, and the tag by which its numbers and days are written.
 */
const languages = ['en', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pt'] as const;
export const Language = z.enum(languages);
export type Language = z.infer<typeof Language>;

// The texts in Portuguese are those of Portugal.
const tags: Readonly<Record<Language, string>> = {
  ...{ en: 'en-US', de: 'de-DE', es: 'es-ES', fr: 'fr-FR', it: 'it-IT', ja: 'ja-JP', nl: 'nl-NL', pt: 'pt-PT' },
};

// A browser names a handful.
const maxAsked = 20;

/** The language that a browser prefers, by its `Accept-Language`: English if it names none of them. */
export function languageAsked(header: string | undefined): Language {
  const asked = (header ?? '')
    .split(',', maxAsked)
    .flatMap((range) => {
      const [tag = '', weight] = range.split(/;\s*q=/);
      const language = Language.safeParse(tag.trim().toLowerCase().split('-')[0]);
      return language.success ? [{ language: language.data, weight: weight === undefined ? 1 : Number(weight) }] : [];
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight);
  return asked[0]?.language ?? 'en';
}

const regions = new Map<Language, Intl.DisplayNames>();

/** The name of a country, by its code of two letters: (`DE`, 'fr') is `Allemagne`. */
export function localCountry(code: string, language: Language): string {
  const names = regions.get(language) ?? new Intl.DisplayNames(tags[language], { type: 'region' });
  regions.set(language, names);
  return names.of(code) ?? code;
}

const numberFormats = new Map<string, Intl.NumberFormat>();
const dayFormats = new Map<string, Intl.DateTimeFormat>();

function numberFormat(language: Language, name: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${language} ${name}`;
  const known = numberFormats.get(key) ?? new Intl.NumberFormat(tags[language], options);
  numberFormats.set(key, known);
  return known;
}

function dayFormat(language: Language, timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language} ${options.month} ${options.day ?? ''}`;
  if (timeZone !== 'UTC') return new Intl.DateTimeFormat(tags[language], { ...options, timeZone });
  const known = dayFormats.get(key) ?? new Intl.DateTimeFormat(tags[language], { ...options, timeZone });
  dayFormats.set(key, known);
  return known;
}

/** An amount in minor units as a language writes it, exact at any size: `$20.00`, `20,00 €`. */
export function localMoney(amount: bigint, currency: string, language: Language): string {
  return localFineMoney(amount, currency, language, 0);
}

/** An amount that counts 10^-`more` of a minor unit, without trailing zeros: (25n, 'USD', 'en', 2) is `$0.0025`. */
export function localFineMoney(amount: bigint, currency: string, language: Language, more: number): string {
  const digits = minorUnitDigits(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits + more };
  const format = numberFormat(language, `${currency} ${more}`, { style: 'currency', currency, ...options });
  // Intl formats a decimal text without converting it to a double.
  // The wide sign of the yen has a gap before digits of this width.
  return wideSpaces(format.format(decimalText(amount, digits + more) as `${number}`)).replace('\uffe5', '\u00a5');
}

/** A count of thousandths: (1_234_500n, 'de') is `1.234,5`. */
export function localThousandths(thousandths: bigint, language: Language): string {
  const format = numberFormat(language, 'thousandths', { maximumFractionDigits: 3, useGrouping: true });
  return wideSpaces(format.format(decimalText(thousandths, 3) as `${number}`));
}

// More are of no use to a reader, unless the amount has no others.
const usualDecimals = 2;
const mostDecimals = 6;

/**
 * An amount of a credit pool, cut off rather than rounded up: (`1234.567`, 'de') is `1.234,56`, and below 1 it has up to six
 * decimals. In a currency it has at least the digits of its minor unit.
 */
export function localPooled(text: string, currency: string | null, language: Language): string {
  const most = /^-?0\./.test(text) ? mostDecimals : usualDecimals;
  const least = currency === null ? 0 : minorUnitDigits(currency);
  const format = numberFormat(language, `pooled ${currency} ${most}`, {
    ...(currency === null ? {} : { style: 'currency', currency }),
    minimumFractionDigits: least,
    maximumFractionDigits: Math.max(least, most),
    useGrouping: true,
    roundingMode: 'trunc',
  });
  return wideSpaces(format.format(text as `${number}`)).replace('\uffe5', '\u00a5');
}

/** Few typefaces have the narrow space of French numbers. The wider one keeps a number on one line too. */
function wideSpaces(text: string): string {
  return text.replaceAll('\u202f', '\u00a0');
}

/** A whole number: (1500n, 'fr') is `1 500`, with a space that keeps it on one line. */
export function localCount(count: bigint, language: Language): string {
  return localThousandths(count * 1000n, language);
}

/** A percentage that is a decimal text: (`8.875`, 'fr') is `8,875 %`. */
export function localPercent(percentage: string, language: Language): string {
  const format = numberFormat(language, 'percent', { maximumFractionDigits: 20 });
  const isSpaced = language === 'de' || language === 'es' || language === 'fr';
  return `${format.format(percentage as `${number}`)}${isSpaced ? '\u00a0' : ''}%`;
}

const lastDate = 8_640_000_000_000_000;
const isDate = (at: Instant) => Math.abs(at) <= lastDate;

/** A day as a language writes it: `December 5, 2026`, `5. Dezember 2026`. */
export function localDay(at: Instant, language: Language, timeZone = 'UTC'): string {
  if (!isDate(at)) return dayText(at);
  return dayFormat(language, timeZone, { day: 'numeric', month: 'long', year: 'numeric' }).format(at);
}

/** A month in UTC as a language writes it: `December 2026`, `Dezember 2026`. */
export function localMonth(at: Instant, language: Language): string {
  if (!isDate(at)) return dayText(at);
  return dayFormat(language, 'UTC', { month: 'long', year: 'numeric' }).format(at);
}

/** A range of days in UTC as a language writes it: `Nov 1 – Dec 1, 2026`, `1. Nov. – 1. Dez. 2026`. */
export function localRange(period: Period, language: Language): string {
  const { start, end } = period;
  if (!isDate(start) || !isDate(end)) return rangeText(period);
  // Intl writes Japanese ranges with slashes, unlike its days.
  if (language === 'ja') return `${localDay(start, language)}～${localDay(end, language)}`;
  const text = dayFormat(language, 'UTC', { day: 'numeric', month: 'short', year: 'numeric' }).formatRange(start, end);
  // Thin spaces around the dash are in few typefaces. Nobody writes `01 gen` in Italian.
  return text.replaceAll('\u2009', ' ').replaceAll(/\b0(?=\d \p{L})/gu, '');
}
