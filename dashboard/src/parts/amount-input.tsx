import { NumberInput } from '@mantine/core';
import { useState } from 'react';
import { unitsOf } from './format.ts';

interface AmountInputProps {
  readonly label: string;
  readonly isLabelHidden?: boolean;
  readonly description?: string;
  readonly currency: string;
  /** In the smallest unit of the currency; null where nothing is written. */
  readonly value: number | null;
  readonly onChange: (value: number | null) => void;
  readonly max?: number;
  readonly mayBeNegative?: boolean;
}

/** The amount that is typed, in the smallest unit; null for none. A text such as `12.` or `12.50` is on the way to one. */
function amountOf(typed: number | string, units: number): number | null {
  const amount = typed === '' ? Number.NaN : Math.round(Number(typed) * units);
  return Number.isNaN(amount) ? null : amount;
}

/**
 * Takes an amount as people write it, and hands it on in the smallest unit of its currency. A typed text stays while it
 * means the value.
 */
export function AmountInput(props: AmountInputProps) {
  const { label, isLabelHidden = false, description, currency, value, onChange, max, mayBeNegative = false } = props;
  const units = unitsOf(currency);
  const stored = value === null ? '' : value / units;
  const [typed, setTyped] = useState<number | string>(stored);
  return (
    <NumberInput
      {...(isLabelHidden ? { 'aria-label': label } : { label: `${label} in ${currency}` })}
      {...(description !== undefined && { description })}
      value={amountOf(typed, units) === value ? typed : stored}
      onChange={(wanted) => {
        setTyped(wanted);
        onChange(amountOf(wanted, units));
      }}
      {...(max !== undefined && { max: max / units })}
      {...(!mayBeNegative && { min: 0 })}
      decimalScale={Math.round(Math.log10(units))}
      hideControls
    />
  );
}
