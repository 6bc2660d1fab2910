import { NumberInput, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { countText, dateText } from './format.ts';

interface GrantCreditsProps {
  readonly subscription: SubscriptionDetails;
  readonly onClose: () => void;
}

/** Grants credits of a meter, or of a credit pool of the customer, free of charge. */
export function GrantCredits({ subscription, onClose }: GrantCreditsProps) {
  const meters = subscription.experimental.usageMeterBalances;
  const { pricingModelId, customerId } = subscription;
  const { data: pools } = useQuery(read('creditPools', 'list', { pricingModelId, limit: 100 }));
  const subjects = [...meters, ...(pools?.data ?? [])];
  const [subjectId, setSubjectId] = useState<string | null>(subjects[0]?.id ?? null);
  const [amount, setAmount] = useState<number | string>('');
  const [reason, setReason] = useState('');
  const subject = subjects.find(({ id }) => id === subjectId);
  const isOfPool = pools?.data.some(({ id }) => id === subjectId) ?? false;
  const isComplete = typeof amount === 'number' && amount > 0 && subjectId !== null;
  const usageCredit = {
    ...(isOfPool
      ? { customerId, creditPoolId: subjectId, amount: String(amount) }
      : { subscriptionId: subscription.id, usageMeterId: subjectId, amount: Number(amount) }),
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
          text: `${countText(made.issuedAmount)} credits of ${subject?.name ?? 'the meter'} are granted, free of charge.`,
        },
        { text: `${countText(made.remainingAmount)} of them can be used.` },
        { text: made.expiresAt === null ? 'They do not expire.' : `They expire on ${dateText(made.expiresAt)}.` },
      ]}
      confirm="Grant"
      done="The credits were granted"
    >
      <Select
        label="Meter or pool"
        data={subjects.map(({ id, name }) => ({ value: id, label: name }))}
        value={subjectId}
        onChange={setSubjectId}
      />
      <NumberInput
        label="Credits"
        value={amount}
        onChange={setAmount}
        min={isOfPool ? 0 : 1}
        allowDecimal={isOfPool}
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
