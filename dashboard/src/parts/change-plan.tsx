import { Modal, MultiSelect, NumberInput, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  AdjustedSubscriptionItem,
  PricingModelDetails,
  SubscriptionDetails,
} from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { dateText, moneyText } from './format.ts';
import { priceText } from './price-text.ts';
import { Problem } from './problem.tsx';

interface ChangePlanProps {
  readonly subscription: SubscriptionDetails;
  readonly onClose: () => void;
}

/** Changes plan, quantity and add-ons, or subscribes a customer of the free plan. */
export function ChangePlan({ subscription, onClose }: ChangePlanProps) {
  const { data, error, refetch } = useQuery(read('pricingModels', 'get', { id: subscription.pricingModelId }));
  if (data !== undefined) return <PlanDialog subscription={subscription} model={data.pricingModel} onClose={onClose} />;
  return (
    <Modal opened={error !== null} onClose={onClose} title={<span className="dialog-title">Change the plan</span>}>
      <Problem error={error} retry={refetch} />
    </Modal>
  );
}

interface PlanDialogProps extends ChangePlanProps {
  readonly model: PricingModelDetails;
}

type Offer = ReturnType<typeof offersOf>[number];

function offersOf(model: PricingModelDetails, isAddOn: boolean) {
  return model.products
    .filter(({ active, addOn, default: isDefault }) => active && addOn === isAddOn && !isDefault)
    .flatMap((product) => product.prices.map((price) => ({ product, price })))
    .filter(({ price }) => price.active && price.type === 'subscription');
}

const choicesOf = (offers: readonly Offer[]) =>
  offers.map(({ product, price }) => ({ value: price.id, label: `${product.name}, ${priceText(price)}` }));

/** The plan, its quantity and its add-ons, as the form has them. */
interface Wanted {
  readonly priceId: string | null;
  readonly quantity: number;
  readonly addOns: readonly string[];
}

function PlanDialog({ subscription, model, onClose }: PlanDialogProps) {
  const { isFreePlan, subscriptionItems, priceId: currentId, name, customerId, experimental } = subscription;
  const plans = offersOf(model, false);
  const extras = offersOf(model, true);
  const planItem = subscriptionItems.find(({ priceId }) => priceId === currentId);
  const others = subscriptionItems.flatMap(({ priceId }) =>
    priceId === null || priceId === currentId ? [] : [priceId],
  );
  const held = [...new Set(others)];
  const now: Wanted = {
    priceId: isFreePlan ? null : currentId,
    quantity: planItem?.quantity ?? 1,
    addOns: isFreePlan ? [] : held,
  };
  const [wanted, setWanted] = useState<Wanted>(now);
  const isChanged = JSON.stringify(wanted) !== JSON.stringify(now);
  const chosen = plans.find(({ price }) => price.id === wanted.priceId);
  const kept = new Set([
    ...(chosen?.product.features ?? []).map(({ id }) => id),
    ...extras
      .filter(({ price }) => wanted.addOns.includes(price.id))
      .flatMap(({ product }) => product.features.map(({ id }) => id)),
  ]);
  const losses =
    chosen === undefined
      ? []
      : experimental.featureItems
          .filter(({ featureId, expiredAt }) => expiredAt === null && !kept.has(featureId))
          .map((feature) => ({ text: `${feature.name} is lost.`, isLoss: true }));
  const form = (
    <>
      <Select
        label={isFreePlan ? 'Plan' : 'New plan'}
        placeholder="Choose a plan"
        searchable
        data={choicesOf(plans)}
        value={wanted.priceId}
        onChange={(priceId) => setWanted({ ...wanted, priceId })}
        data-autofocus
      />
      <NumberInput
        label="Quantity"
        min={1}
        allowDecimal={false}
        value={wanted.quantity}
        onChange={(quantity) => typeof quantity === 'number' && setWanted({ ...wanted, quantity })}
      />
      {extras.length > 0 && (
        <MultiSelect
          label="Add-ons"
          data={choicesOf(extras)}
          value={[...wanted.addOns]}
          onChange={(addOns) => setWanted({ ...wanted, addOns })}
          searchable
        />
      )}
    </>
  );
  const shared = { opened: true, onClose, children: form };
  if (isFreePlan)
    return (
      <ChangeDialog
        {...shared}
        title="Subscribe to a plan"
        confirm="Subscribe"
        done="The customer is subscribed"
        input={wanted.priceId === null ? null : { customerId, items: newItemsOf(wanted) }}
        call={(input, options) => api.subscriptions.create(input, options)}
        effects={({ subscription: made }): readonly Effect[] => [
          { text: `${made.name ?? 'The plan'} starts on ${dateText(made.startDate)}.` },
          { text: firstBillText(made, chosen?.price.billingTiming === 'in_arrears') },
          ...losses,
        ]}
      />
    );
  return (
    <ChangeDialog
      {...shared}
      title={`Change ${name ?? 'the plan'}`}
      confirm="Change the plan"
      done="The plan was changed"
      input={
        wanted.priceId === null || !isChanged
          ? null
          : {
              id: subscription.id,
              adjustment: { timing: 'auto' as const, newSubscriptionItems: changedItemsOf(wanted, subscription) },
            }
      }
      call={async (input, options) =>
        options.dryRun
          ? { preview: await api.subscriptions.previewAdjust(input), done: null }
          : { preview: null, done: await api.subscriptions.adjust(input, options) }
      }
      effects={({ preview }): readonly Effect[] =>
        preview === null
          ? []
          : [
              ...previewTexts(preview, chosen?.price.currency ?? subscription.subscriptionItems[0]?.price.currency),
              ...losses,
            ]
      }
    />
  );
}

function newItemsOf({ priceId, quantity, addOns }: Wanted) {
  const plan = priceId === null ? [] : [{ priceId, quantity }];
  return [...plan, ...addOns.map((id) => ({ priceId: id, quantity: 1 }))];
}

/**
 * The complete new items. One that stays keeps its id, and with it what was agreed about it. The quantity is that of the
 * first of several items at the price of the plan.
 */
function changedItemsOf(
  { priceId, quantity, addOns }: Wanted,
  { subscriptionItems }: SubscriptionDetails,
): AdjustedSubscriptionItem[] {
  const itemsAt = (id: string): AdjustedSubscriptionItem[] => {
    const known = subscriptionItems.filter((item) => item.priceId === id);
    return known.length === 0
      ? [{ priceId: id, quantity: 1 }]
      : known.map((item) => ({ id: item.id, quantity: item.quantity }));
  };
  const [plan, ...beside] = priceId === null ? [] : itemsAt(priceId);
  const extras = addOns.filter((id) => id !== priceId).flatMap(itemsAt);
  return [...(plan === undefined ? [] : [{ ...plan, quantity }, ...beside]), ...extras];
}

interface Made {
  readonly trialEnd: number | null;
  readonly currentBillingPeriodEnd: number | null;
}

function firstBillText({ trialEnd, currentBillingPeriodEnd: end }: Made, isInArrears: boolean): string {
  if (trialEnd !== null) return `Nothing is billed before the trial ends on ${dateText(trialEnd)}.`;
  return isInArrears
    ? `The first period is billed at its end, on ${dateText(end)}.`
    : `The first period is billed now, the next on ${dateText(end)}.`;
}

type Preview = Awaited<ReturnType<typeof api.subscriptions.previewAdjust>>;

function previewTexts(preview: Preview, currency = 'USD'): Effect[] {
  const {
    canAdjust,
    reason,
    totalDue = 0,
    taxAmount,
    effectiveDate,
    newPlanTotal,
    keptAmount,
    takenOffAmount,
  } = preview;
  if (!canAdjust) return [{ text: reason ?? 'This change is not possible.', isLoss: true }];
  const money = (amount: number) => moneyText(amount, currency);
  const tax = taxAmount ? `, of which ${money(taxAmount)} tax` : '';
  return [
    {
      text:
        totalDue === 0
          ? 'No invoice is made, and nothing is collected for this period.'
          : `${money(totalDue)}${tax} is invoiced and collected for this period.`,
    },
    { text: `The plan changes on ${dateText(effectiveDate)}.` },
    ...(newPlanTotal === undefined ? [] : [{ text: `Each later period is ${money(newPlanTotal)}.` }]),
    ...(takenOffAmount ? [{ text: `${money(takenOffAmount)} of the unused time is taken off.` }] : []),
    ...(keptAmount ? [{ text: `${money(keptAmount)} that was paid is not given back.`, isLoss: true }] : []),
  ];
}
