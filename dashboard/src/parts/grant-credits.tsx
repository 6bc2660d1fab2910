import { NumberInput, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { countText, dateText } from './format.ts';

interface GrantCreditsProps {
  readonly subscription: SubscriptionDetails;
  readonly onClose: () => void;
}

/** Grants credits of a meter free of charge. */
export function GrantCredits({ subscription, onClose }: GrantCreditsProps) {
  const meters = subscription.experimental.usageMeterBalances;
  const [meterId, setMeterId] = useState<string | null>(meters[0]?.id ?? null);
  const [amount, setAmount] = useState<number | string>('');
  const [reason, setReason] = useState('');
  const meter = meters.find(({ id }) => id === meterId);
  const isComplete = typeof amount === 'number' && amount > 0 && meterId !== null;
  const usageCredit = {
    subscriptionId: subscription.id,
    usageMeterId: meterId,
    amount: Number(amount),
    reason: reason || null,
  };
  return (
    <ChangeDialog
      title="Grant credits"
      opened
      onClose={onClose}
      input={isComplete ? { usageCredit } : null}
      call={(sent, options) => api.usageCredits.create(sent, options)}
      effects={({ usageCredit: made }) => [
        {
          text: `${countText(made.issuedAmount)} credits of ${meter?.name ?? 'the meter'} are granted, free of charge.`,
        },
        { text: `${countText(made.remainingAmount)} of them can be used.` },
        { text: made.expiresAt === null ? 'They do not expire.' : `They expire on ${dateText(made.expiresAt)}.` },
      ]}
      confirm="Grant"
      done="The credits were granted"
    >
      <Select
        label="Meter"
        data={meters.map(({ id, name }) => ({ value: id, label: name }))}
        value={meterId}
        onChange={setMeterId}
      />
      <NumberInput
        label="Credits"
        value={amount}
        onChange={setAmount}
        min={1}
        allowDecimal={false}
        thousandSeparator=" "
        hideControls
        data-autofocus
      />
      <TextInput
        label="Reason"
        description="Kept with the credits"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        maxLength={255}
      />
    </ChangeDialog>
  );
}
