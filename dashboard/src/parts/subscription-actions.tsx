import { Button, Group, Select, Textarea, TextInput } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Cancellation, CancelTiming, SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { dateText, moneyText } from './format.ts';

const ChangePlan = lazy(() => import('./change-plan.tsx').then(({ ChangePlan: Part }) => ({ default: Part })));
const GrantCredits = lazy(() => import('./grant-credits.tsx').then(({ GrantCredits: Part }) => ({ default: Part })));

interface ActionProps {
  readonly subscription: SubscriptionDetails;
}

type Action = 'plan' | 'grant' | 'cancel' | 'uncancel' | 'pause' | 'resume' | 'retry' | 'keep-plan';

const ended = ['canceled', 'incomplete_expired'];
const owing = ['past_due', 'unpaid'];
const pausable = ['active', 'trialing'];

const names: Readonly<Record<Action, string>> = {
  plan: 'Change plan',
  grant: 'Grant credits',
  retry: 'Collect now',
  resume: 'Resume',
  pause: 'Pause',
  'keep-plan': 'Drop the planned change',
  uncancel: 'Do not cancel',
  cancel: 'Cancel',
};

/** The actions on a subscription that its state allows and the role may take. */
export function SubscriptionActions({ subscription }: ActionProps) {
  const mayWrite = useMay('subscriptions:write');
  const mayCancel = useMay('cancellations:write');
  const mayCollect = useMay('subscriptions:money');
  const mayGrant = useMay('usage-credits:money');
  const [action, setAction] = useState<Action | null>(null);
  const { status, isFreePlan, cancelScheduledAt, scheduledAdjustmentAt, renews } = subscription;
  if (ended.includes(status)) return null;
  const isPaid = !isFreePlan;
  const allowed: Readonly<Record<Action, boolean>> = {
    plan: mayWrite,
    grant: mayGrant && subscription.experimental.usageMeterBalances.length > 0,
    retry: mayCollect && owing.includes(status),
    resume: mayWrite && status === 'paused',
    pause: mayWrite && isPaid && renews && pausable.includes(status),
    'keep-plan': mayWrite && scheduledAdjustmentAt !== null,
    uncancel: mayCancel && cancelScheduledAt !== null,
    cancel: mayCancel && isPaid && cancelScheduledAt === null,
  };
  const close = () => setAction(null);
  return (
    <Group gap="xs">
      {(Object.keys(names) as Action[]).map((each) =>
        allowed[each] ? (
          <Button key={each} variant={each === 'plan' ? 'filled' : 'default'} onClick={() => setAction(each)}>
            {each === 'plan' && isFreePlan ? 'Subscribe' : names[each]}
          </Button>
        ) : null,
      )}
      {action !== null && (
        <Suspense>
          <ActionDialog action={action} subscription={subscription} onClose={close} />
        </Suspense>
      )}
    </Group>
  );
}

interface ActionDialogProps extends ActionProps {
  readonly action: Action;
  readonly onClose: () => void;
}

function ActionDialog({ action, subscription, onClose }: ActionDialogProps) {
  const { id, name } = subscription;
  const shared = { opened: true, onClose, input: { id } };
  const title = `${names[action]}: ${name ?? 'the subscription'}`;
  switch (action) {
    case 'plan':
      return <ChangePlan subscription={subscription} onClose={onClose} />;
    case 'grant':
      return <GrantCredits subscription={subscription} onClose={onClose} />;
    case 'cancel':
      return <Cancel subscription={subscription} onClose={onClose} />;
    case 'pause':
      return <Pause subscription={subscription} onClose={onClose} />;
    case 'uncancel':
      return (
        <ChangeDialog
          {...shared}
          title={title}
          call={(input, options) => api.subscriptions.uncancel(input, options)}
          effects={({ subscription: after }) => [
            { text: `The plan goes on. It is billed next on ${dateText(after.currentBillingPeriodEnd)}.` },
          ]}
          confirm="Let it go on"
          done="The subscription goes on"
        />
      );
    case 'resume':
      return (
        <ChangeDialog
          {...shared}
          title={title}
          call={(input, options) => api.subscriptions.resume(input, options)}
          effects={({ subscription: after }) => [
            { text: 'Its features and credits can be used again from now on.' },
            { text: `It is billed next on ${dateText(after.currentBillingPeriodEnd)}.` },
          ]}
          confirm="Resume"
          done="The subscription is resumed"
        />
      );
    case 'retry':
      return (
        <ChangeDialog
          {...shared}
          title={title}
          call={(input, options) => api.subscriptions.retryPayment(input, options)}
          effects={({ payment }) => [
            { text: `${moneyText(payment.amount, payment.currency)} is charged now.` },
            { text: 'Whether the charge succeeds is known only afterwards.' },
          ]}
          confirm="Charge now"
          done="The charge was tried"
        />
      );
    case 'keep-plan':
      return (
        <ChangeDialog
          {...shared}
          title={title}
          call={(input, options) => api.subscriptions.cancelScheduledAdjustment(input, options)}
          effects={() => [{ text: `The plan stays as it is after ${dateText(subscription.scheduledAdjustmentAt)}.` }]}
          confirm="Drop the change"
          done="The planned change was dropped"
        />
      );
    default:
      return action satisfies never;
  }
}

interface FormProps extends ActionProps {
  readonly onClose: () => void;
}

function featureLosses({ experimental }: SubscriptionDetails, text: (name: string) => string): Effect[] {
  return experimental.featureItems
    .filter(({ expiredAt }) => expiredAt === null)
    .map((feature) => ({ text: text(feature.name), isLoss: true }));
}

const cancelTimings: readonly { readonly value: CancelTiming; readonly label: string }[] = [
  { value: 'at_end_of_current_billing_period', label: 'At the end of the period' },
  { value: 'at_future_date', label: 'On a date' },
  { value: 'immediately', label: 'Now' },
];

type CustomerReason = NonNullable<Cancellation['reason']>;

const customerReasons: readonly { readonly value: CustomerReason; readonly label: string }[] = [
  { value: 'too_expensive', label: 'Too expensive' },
  { value: 'missing_features', label: 'Missing features' },
  { value: 'switched_service', label: 'Another service' },
  { value: 'unused', label: 'Not used enough' },
  { value: 'low_quality', label: 'Low quality' },
  { value: 'too_complex', label: 'Too complicated' },
  { value: 'customer_service', label: 'Support' },
  { value: 'other', label: 'Other' },
];

function Cancel({ subscription, onClose }: FormProps) {
  const [timing, setTiming] = useState<CancelTiming>('at_end_of_current_billing_period');
  const [date, setDate] = useState('');
  const [reason, setReason] = useState<string | null>(null);
  const [comment, setComment] = useState('');
  const { id, name } = subscription;
  const isDated = timing === 'at_future_date';
  const endDate = Date.parse(date);
  const cancellation = {
    timing,
    ...(isDated && { endDate }),
    reason: reason as CustomerReason | null,
    comment: comment.trim() || null,
  };
  return (
    <ChangeDialog
      title={`Cancel ${name ?? 'the subscription'}`}
      opened
      onClose={onClose}
      input={isDated && Number.isNaN(endDate) ? null : { id, cancellation }}
      call={(input, options) => api.subscriptions.cancel(input, options)}
      effects={({ subscription: after }): readonly Effect[] => [
        {
          text: `The plan ends on ${dateText(after.canceledAt ?? after.cancelScheduledAt)}. Usage until then is billed.`,
        },
        ...featureLosses(subscription, (feature) => `${feature} ends with it.`),
      ]}
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
      {isDated && (
        <TextInput type="date" label="Ends on" value={date} onChange={(event) => setDate(event.currentTarget.value)} />
      )}
      <Select
        label="Reason of the customer"
        data={[...customerReasons]}
        value={reason}
        onChange={setReason}
        clearable
      />
      <Textarea
        label="Comment of the customer"
        maxLength={2000}
        autosize
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}

function Pause({ subscription, onClose }: FormProps) {
  const [date, setDate] = useState('');
  const resumesAt = Date.parse(date);
  const { id, name } = subscription;
  return (
    <ChangeDialog
      title={`Pause ${name ?? 'the subscription'}`}
      opened
      onClose={onClose}
      input={{ id, pause: Number.isNaN(resumesAt) ? {} : { resumesAt } }}
      call={(input, options) => api.subscriptions.pause(input, options)}
      effects={({ subscription: after }): readonly Effect[] => [
        {
          text:
            after.resumesAt === null
              ? 'Nothing is billed until somebody resumes it.'
              : `Nothing is billed until it resumes on ${dateText(after.resumesAt)}.`,
        },
        ...featureLosses(subscription, (feature) => `${feature} cannot be used meanwhile.`),
      ]}
      confirm="Pause"
      done="The subscription is paused"
      isDanger
    >
      <TextInput
        type="date"
        label="Resumes on"
        description="Without a date, when somebody resumes it"
        value={date}
        onChange={(event) => setDate(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}
