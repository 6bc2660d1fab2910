// Intl's digits follow how prices are usually displayed (HUF 500); money is counted by ISO 4217 (HUF 500.00).
const withoutDigits: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
);
const withThreeDigits: ReadonlySet<string> = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '));

/** The number of decimal places of a currency by ISO 4217: 2 for USD, 0 for JPY, 3 for KWD. */
export function minorUnitDigits(currency: string): number {
  if (withoutDigits.has(currency)) return 0;
  return withThreeDigits.has(currency) ? 3 : 2;
}

const formats = new Map<string, Intl.NumberFormat>();

/** A format with the decimal places of the currency. */
function formatOf(currency: string): Intl.NumberFormat {
  const known = formats.get(currency);
  if (known) return known;
  const digits = minorUnitDigits(currency);
  const made = new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  formats.set(currency, made);
  return made;
}

/** An amount in minor units as people read it, exact at any size: `USD 1,234.50`, `-USD 0.05`, `JPY 500`. */
export function moneyText(amount: bigint, currency: string): string {
  const digits = minorUnitDigits(currency);
  // Intl formats a decimal text without converting it to a double.
  const text = decimalText(amount, digits) as `${number}`;
  return formatOf(currency).format(text).replaceAll('\u00a0', ' ');
}

/** `amount` with the point `digits` from the right: (12345n, 2) is `123.45`. */
export function decimalText(amount: bigint, digits: number): string {
  const magnitude = (amount < 0n ? -amount : amount).toString().padStart(digits + 1, '0');
  const whole = magnitude.slice(0, magnitude.length - digits);
  const rest = magnitude.slice(magnitude.length - digits);
  return `${amount < 0n ? '-' : ''}${whole}${digits === 0 ? '' : `.${rest}`}`;
}
