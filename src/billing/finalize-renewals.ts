import { listOwnTerms, termsOf } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { finalizeDrafts } from '../invoicing/actions-drafts.ts';
import { withPaybacks } from '../invoicing/actions-paybacks.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { billUsage } from '../invoicing/usage-lines.ts';
import type { Instant } from '../kernel/calendar.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { listPeriodsBefore } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { claimLateOverage, releaseOverage, saveCharges } from '../usage/actions-ledger.ts';
import { type Charged, linesBySubscription, usageToBill } from './bill-subscription.ts';

/** The draft of a renewal, and the date that its invoice gets. */
export interface FinalDraft {
  readonly draft: InvoiceRow;
  readonly at: Instant;
}

/** A draft that is finalized at an instant, or as of the end of its review where that has passed. */
export function finalBy(draft: InvoiceRow, at: Instant): FinalDraft {
  return { draft, at: Math.min(at, draft.finalizesAt ?? at) };
}

/**
 * Finalizes drafts of renewals, which the caller has locked with their customers and subscriptions: each with the late
 * usage of the period before. The caller collects the invoices. The number of statements does not depend on their number.
 */
export async function finalizeRenewals(work: Work, finals: readonly FinalDraft[]): Promise<InvoiceRow[]> {
  if (finals.length === 0) return [];
  const ids = finals.flatMap(({ draft }) => draft.subscriptionId ?? []);
  const subscriptions = await findSubscriptions(work, ids);
  const late = await takeLateUsage(work, finals, subscriptions);
  const settings = await readSettings(work);
  const own = await listOwnTerms(
    work,
    finals.map(({ draft }) => draft.customerId),
  );
  const consolidates = (customerId: string) => own.get(customerId)?.consolidateInvoices === true;
  const onTerms = subscriptions.filter(({ customerId }) => termsOf(own.get(customerId), settings).netTermsDays > 0);
  const asked = subscriptions.filter((each) => onTerms.includes(each) || consolidates(each.customerId));
  const charged = asked.length === 0 ? new Map() : await listChargeableMethods(work, asked);
  const isOnTerms = new Set(onTerms.map(({ id }) => id));
  const { invoices, left } = await finalizeDrafts(
    work,
    finals.map(({ draft, at }) => {
      const id = draft.subscriptionId ?? '';
      // A draft that is finalized before the end of its review is an invoice of its own.
      const joins = consolidates(draft.customerId) && at === draft.finalizesAt;
      const together = joins ? `${draft.customerId} ${at}` : null;
      const isCharged = charged.has(id);
      return { draft, at, late: late.get(id) ?? [], together, isCharged, isDueAtOnce: !isOnTerms.has(id) || isCharged };
    }),
  );
  await releaseOverage(work, left);
  return invoices;
}

/**
 * The lines, by subscription, of usage whose date lies before the period of a draft, and that arrived while it waited. It
 * is what no credit covers, at the terms of its own period. Measured meters and distinct counts belong to the period of
 * their arrival.
 */
async function takeLateUsage(
  work: Work,
  finals: readonly FinalDraft[],
  subscriptions: readonly SubscriptionRow[],
): Promise<Map<string, NewLine[]>> {
  const known = new Map(subscriptions.map((subscription) => [subscription.id, subscription]));
  const before = new Map(
    (
      await listPeriodsBefore(
        work,
        finals.flatMap(({ draft }) => draft.billingPeriodId ?? []),
      )
    ).map((period) => [period.subscriptionId, period]),
  );
  const ended = finals.flatMap(({ draft: { subscriptionId } }): Charged[] => {
    const [subscription, period] = [known.get(subscriptionId ?? ''), before.get(subscriptionId ?? '')];
    if (subscription === undefined || period === undefined) return [];
    const { startAt: currentBillingPeriodStart, endAt: currentBillingPeriodEnd } = period;
    return [{ ...subscription, currentBillingPeriodStart, currentBillingPeriodEnd, interimAt: null }];
  });
  const { charged } = await usageToBill(work, ended, 'renewal');
  const billed = billUsage(await claimLateOverage(work, charged), work.currency);
  await saveCharges(
    work,
    billed.flatMap(({ charges }) => charges),
    [],
  );
  return withPaybacks(work, linesBySubscription(billed));
}
