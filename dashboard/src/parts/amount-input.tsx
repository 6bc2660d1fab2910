import { NumberInput } from '@mantine/core';
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

/** Takes an amount as people write it, and hands it on in the smallest unit of its currency. */
export function AmountInput(props: AmountInputProps) {
  const { label, isLabelHidden = false, description, currency, value, onChange, max, mayBeNegative = false } = props;
  const units = unitsOf(currency);
  return (
    <NumberInput
      {...(isLabelHidden ? { 'aria-label': label } : { label: `${label} in ${currency}` })}
      {...(description !== undefined && { description })}
      value={value === null ? '' : value / units}
      onChange={(wanted) => onChange(typeof wanted === 'number' ? Math.round(wanted * units) : null)}
      {...(max !== undefined && { max: max / units })}
      {...(!mayBeNegative && { min: 0 })}
      decimalScale={Math.round(Math.log10(units))}
      hideControls
    />
  );
}
