import { minorUnitDigits } from '../kernel/money-text.ts';

/**
 * Decimal places of an amount in Stripe's API, from Stripe's page on currencies. ISK and UGX have no smaller unit any
 * more and are still sent with two digits, which must be zeros: 500 is 5 ISK.
 */
function digitsAtStripe(currency: string): number {
  if (withoutDigits.has(currency)) return 0;
  return withThreeDigits.has(currency) ? 3 : 2;
}

const withoutDigits: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '),
);
const withThreeDigits: ReadonlySet<string> = new Set('BHD JOD KWD OMR TND'.split(' '));

/** The required multiple: card networks know no tenth of a KWD cent and no hundredth of a króna. */
const steps: Readonly<Record<string, bigint>> = {
  BHD: 10n,
  JOD: 10n,
  KWD: 10n,
  OMR: 10n,
  TND: 10n,
  ISK: 100n,
  UGX: 100n,
};

/**
 * Converts an amount to Stripe's unit, with the same value as on invoices. Null if Stripe cannot charge it, because it
 * is finer than Stripe's or the network's unit.
 */
export function toStripeAmount(amount: bigint, currency: string): number | null {
  const shift = digitsAtStripe(currency) - minorUnitDigits(currency);
  const scaled = shift >= 0 ? amount * 10n ** BigInt(shift) : divideWhole(amount, 10n ** BigInt(-shift));
  return scaled === null || scaled % (steps[currency] ?? 1n) !== 0n ? null : Number(scaled);
}

/** Converts an amount from Stripe's unit to ours, rounding down where Stripe's is finer. */
export function fromStripeAmount(amount: number, currency: string): bigint {
  const shift = digitsAtStripe(currency) - minorUnitDigits(currency);
  return shift >= 0 ? BigInt(amount) / 10n ** BigInt(shift) : BigInt(amount) * 10n ** BigInt(-shift);
}

function divideWhole(amount: bigint, by: bigint): bigint | null {
  return amount % by === 0n ? amount / by : null;
}
