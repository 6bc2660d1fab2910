// The same as those of the service. A browser has fewer decimals for some, as prices are usually shown: HUF 500 for 500.00.
const withoutDigits: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
);
const withThreeDigits: ReadonlySet<string> = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '));

/** The number of decimal places of a currency by ISO 4217: 2 for USD, 0 for JPY, 3 for KWD. */
export function digitsOf(currency: string): number {
  if (withoutDigits.has(currency)) return 0;
  return withThreeDigits.has(currency) ? 3 : 2;
}
