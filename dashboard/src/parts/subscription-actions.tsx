import { Button, Group, NumberInput, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import type {
  AdjustedSubscriptionItem,
  CancelTiming,
  PricingModelDetails,
  SubscriptionDetails,
} from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { countText, dateText, moneyText } from './format.ts';
import { priceText } from './price-text.ts';

interface ActionProps {
  readonly subscription: SubscriptionDetails;
  readonly model: PricingModelDetails;
}

const ended = ['canceled', 'incomplete_expired'];

/** The actions on a subscription that the role may take. */
export function SubscriptionActions({ subscription, model }: ActionProps) {
  const mayWrite = useMay('subscriptions:write');
  const mayCancel = useMay('cancellations:write');
  const mayGrant = useMay('usage-credits:money');
  if (ended.includes(subscription.status)) return null;
  return (
    <Group gap="xs">
      {mayWrite && <ChangePlan subscription={subscription} model={model} />}
      {mayGrant && model.usageMeters.length > 0 && <GrantCredits subscription={subscription} model={model} />}
      {mayCancel && !subscription.isFreePlan && subscription.cancelScheduledAt === null && (
        <Cancel subscription={subscription} model={model} />
      )}
    </Group>
  );
}

const cancelTimings: readonly { readonly value: CancelTiming; readonly label: string }[] = [
  { value: 'at_end_of_current_billing_period', label: 'At the end of the period' },
  { value: 'immediately', label: 'Now' },
];

function Cancel({ subscription }: ActionProps) {
  const [isOpen, setOpen] = useState(false);
  const [timing, setTiming] = useState<CancelTiming>('at_end_of_current_billing_period');
  const { id, name, experimental } = subscription;
  const features = experimental.featureItems.filter(({ expiredAt }) => expiredAt === null);
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Cancel
      </Button>
      <ChangeDialog
        title={`Cancel ${name ?? 'the subscription'}`}
        opened={isOpen}
        onClose={() => setOpen(false)}
        input={{ id, cancellation: { timing } }}
        call={(input, options) => api.subscriptions.cancel(input, options)}
        effects={({ subscription: after }): readonly Effect[] => {
          const end = after.canceledAt ?? after.cancelScheduledAt;
          return [
            { text: `The plan ends on ${dateText(end)}. Usage until then is billed.` },
            ...features.map((feature) => ({ text: `${feature.name} ends with it.`, isLoss: true })),
          ];
        }}
        confirm="Cancel the subscription"
        done="The subscription was canceled"
        isDanger
      >
        <Select
          label="When"
          data={[...cancelTimings]}
          value={timing}
          onChange={(value) => setTiming((value ?? timing) as CancelTiming)}
        />
      </ChangeDialog>
    </>
  );
}

function ChangePlan({ subscription, model }: ActionProps) {
  const [isOpen, setOpen] = useState(false);
  const [priceId, setPriceId] = useState<string | null>(null);
  const { id, priceId: current, name, isFreePlan, customerId, experimental } = subscription;
  const offers = model.products
    .filter(({ active, addOn, default: isDefault }) => active && !addOn && !isDefault)
    .flatMap((product) => product.prices.map((price) => ({ product, price })))
    .filter(({ price }) => price.active && price.type === 'subscription' && price.id !== current);
  const chosen = offers.find(({ price }) => price.id === priceId);
  const kept = new Set(chosen?.product.features.map((feature) => feature.id));
  const losses = experimental.featureItems.filter(
    ({ featureId, expiredAt }) => expiredAt === null && !kept.has(featureId),
  );
  const form = (
    <Select
      label="New plan"
      placeholder="Choose a plan"
      searchable
      data={offers.map(({ product, price }) => ({ value: price.id, label: `${product.name}, ${priceText(price)}` }))}
      value={priceId}
      onChange={setPriceId}
      data-autofocus
    />
  );
  const lossEffects = losses.map((feature) => ({ text: `${feature.name} is lost.`, isLoss: true }));
  const shared = {
    opened: isOpen,
    onClose: () => setOpen(false),
    confirm: isFreePlan ? 'Subscribe' : 'Change the plan',
    done: 'The plan was changed',
    children: form,
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>{isFreePlan ? 'Subscribe' : 'Change plan'}</Button>
      {isFreePlan ? (
        <ChangeDialog
          {...shared}
          title="Subscribe to a plan"
          input={priceId === null ? null : { customerId, priceId }}
          call={(input, options) => api.subscriptions.create(input, options)}
          effects={({ subscription: made }): readonly Effect[] => [
            { text: `${made.name ?? 'The plan'} starts on ${dateText(made.startDate)}.` },
            { text: firstBillText(made.trialEnd, made.currentBillingPeriodEnd) },
            ...lossEffects,
          ]}
        />
      ) : (
        <ChangeDialog
          {...shared}
          title={`Change ${name ?? 'the plan'}`}
          input={priceId === null ? null : adjustmentOf(id, priceId)}
          call={async (input, options) =>
            options.dryRun
              ? { preview: await api.subscriptions.previewAdjust(input), done: null }
              : { preview: null, done: await api.subscriptions.adjust(input, options) }
          }
          effects={({ preview }): readonly Effect[] =>
            preview === null ? [] : [...previewTexts(preview, chosen?.price.currency ?? 'USD'), ...lossEffects]
          }
        />
      )}
    </>
  );
}

function adjustmentOf(id: string, priceId: string) {
  const newSubscriptionItems: AdjustedSubscriptionItem[] = [{ priceId, quantity: 1 }];
  return { id, adjustment: { timing: 'auto' as const, newSubscriptionItems } };
}

function firstBillText(trialEnd: number | null, periodEnd: number | null): string {
  return trialEnd === null
    ? `The first period is billed now, the next on ${dateText(periodEnd)}.`
    : `Nothing is billed before the trial ends on ${dateText(trialEnd)}.`;
}

type Preview = Awaited<ReturnType<typeof api.subscriptions.previewAdjust>>;

function previewTexts(preview: Preview, currency: string): Effect[] {
  const { canAdjust, reason, totalDue = 0, effectiveDate, newPlanTotal, keptAmount } = preview;
  if (!canAdjust) return [{ text: reason ?? 'This change is not possible.', isLoss: true }];
  const money = (amount: number) => moneyText(amount, currency);
  return [
    { text: `${money(totalDue)} is invoiced and collected for this period.` },
    { text: `The plan changes on ${dateText(effectiveDate)}.` },
    ...(newPlanTotal === undefined ? [] : [{ text: `Each later period is ${money(newPlanTotal)}.` }]),
    ...(keptAmount ? [{ text: `${money(keptAmount)} that was paid is not given back.` }] : []),
  ];
}

function GrantCredits({ subscription, model }: ActionProps) {
  const [isOpen, setOpen] = useState(false);
  const [meterId, setMeterId] = useState<string | null>(model.usageMeters[0]?.id ?? null);
  const [amount, setAmount] = useState<number | string>('');
  const [reason, setReason] = useState('');
  const isComplete = typeof amount === 'number' && amount > 0 && meterId !== null;
  const input = {
    usageCredit: {
      subscriptionId: subscription.id,
      usageMeterId: meterId,
      amount: Number(amount),
      reason: reason || null,
    },
  };
  const meter = model.usageMeters.find(({ id }) => id === meterId);
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Grant credits
      </Button>
      <ChangeDialog
        title="Grant credits"
        opened={isOpen}
        onClose={() => setOpen(false)}
        input={isComplete ? input : null}
        call={(sent, options) => api.usageCredits.create(sent, options)}
        effects={({ usageCredit }) => [
          {
            text: `${countText(usageCredit.issuedAmount)} credits of ${meter?.name ?? 'the meter'} are granted, free of charge.`,
          },
          { text: `${countText(usageCredit.remainingAmount)} of them can be used.` },
          {
            text:
              usageCredit.expiresAt === null
                ? 'They do not expire.'
                : `They expire on ${dateText(usageCredit.expiresAt)}.`,
          },
        ]}
        confirm="Grant"
        done="The credits were granted"
      >
        <Select
          label="Meter"
          data={model.usageMeters.map(({ id, name }) => ({ value: id, label: name }))}
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
        />
        <TextInput
          label="Reason"
          description="Kept with the credits"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={255}
        />
      </ChangeDialog>
    </>
  );
}
