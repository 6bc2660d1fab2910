import assert from 'node:assert/strict';
import { endAllSubscriptions } from '../billing/customer-billing.ts';
import { publishErasure } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import {
  completeErasure,
  findCustomer,
  findCustomerEvenArchived,
  findErasedCustomer,
  findErasureCompletion,
  lockCustomer,
} from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { eraseAnswers } from '../http/idempotency.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { enqueue } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { listLivingSubscriptions } from '../subscriptions/store.ts';
import { describeErasure, type Erasure } from './erasure.ts';
import * as store from './store.ts';

/** The task that erases the copies of a customer's data. */
export const erasureTask = 'erase_customer';

// A refusal names some of the subscriptions.
const maxNamed = 3;
const macContext = 'erased external id';

/**
 * Erases the personal data of a customer, archived or not, and archives it. A repeat returns the same erasure. Refuses a
 * customer with a subscription other than its default plan, with debts, or with money on its way.
 */
export async function eraseCustomer(
  work: Work,
  encryption: Encryption,
  externalId: string,
  pricingModelId: string | undefined,
): Promise<Erasure> {
  const mac = encryption.mac(`${work.environmentId} ${externalId}`, macContext);
  const found =
    (await findCustomerEvenArchived(work, externalId, pricingModelId)) ??
    (await findErasedCustomer(work, mac, pricingModelId));
  const customer = found === null ? null : await lockCustomer(work, found.id);
  const isMeant = customer !== null && (customer.erasedAt !== null || customer.externalId === externalId);
  if (!isMeant) throw new Problem('customerNotFound', { id: externalId });
  if (customer.erasedAt === null) await eraseNow(work, customer, mac);
  const erasure = await readErasure(work, customer.id);
  if (erasure.completedAt === null) {
    const key = `${erasureTask}:${work.environmentId}:${customer.id}`;
    await enqueue(work, erasureTask, { customerId: customer.id, progress: null }, { key });
  }
  return erasure;
}

async function eraseNow(work: Work, customer: CustomerRow, externalIdMac: string): Promise<void> {
  const { id } = customer;
  const subscriptions = await listLivingSubscriptions(work, id);
  const running = subscriptions.filter(({ isDefaultPlan }) => !isDefaultPlan);
  if (running.length > 0) {
    const named = running.slice(0, maxNamed).map((each) => each.id);
    throw new Problem('customerSubscribed', { id, subscriptions: named.join(', ') });
  }
  if (!customer.archived) await endAllSubscriptions(work, customer);
  const unfinished = await store.findUnfinished(work, id);
  if (unfinished?.record === 'invoice') throw new Problem('customerOwes', { id, invoiceId: unfinished.id });
  if (unfinished !== null)
    throw new Problem('customerBusy', { id, record: unfinished.record, recordId: unfinished.id });
  await store.eraseRecords(work, id, externalIdMac);
  const erased = await findCustomer(work, id);
  assert(erased, 'customers are never deleted');
  await publishErasure(work, erased);
}

async function readErasure(work: Work, customerId: string): Promise<Erasure> {
  const customer = await findCustomer(work, customerId);
  assert(customer?.erasedAt, 'it was erased');
  const completedAt = await findErasureCompletion(work, customerId);
  const records = await store.countRecords(work, customerId);
  const copies = await store.countCopies(work, customerId);
  return describeErasure({ customerId, erasedAt: customer.erasedAt, completedAt }, records, copies);
}

/** The place that the erasure of copies has reached: a kind of copies, and the last one that was looked at. */
export type Progress =
  | { readonly stage: 'history'; readonly after: string }
  | { readonly stage: 'usage'; readonly series: number; readonly event: string }
  | { readonly stage: 'answers'; readonly after: string }
  | { readonly stage: 'processors' };

export const firstProgress: Progress = { stage: 'history', after: '' };

// Batches that hold locks for well under a second.
const recordsAtOnce = 200;
const eventsAtOnce = 2_000;
const answersAtOnce = 5_000;

/** Erases the next batch of copies. Returns the place of the next one. May be repeated. */
export async function eraseNextCopies(work: Work, customerId: string, progress: Progress): Promise<Progress> {
  switch (progress.stage) {
    case 'history': {
      const after = await store.eraseHistory(work, customerId, progress.after, recordsAtOnce);
      return after === null ? { stage: 'usage', series: 0, event: '' } : { stage: 'history', after };
    }
    case 'usage': {
      const place = await store.eraseUsageProperties(work, customerId, progress, eventsAtOnce);
      return place === null ? { stage: 'answers', after: '' } : { stage: 'usage', ...place };
    }
    case 'answers': {
      const texts = await store.listNames(work, customerId);
      // The answer about the erasure itself holds no personal data, and a repeat may have it.
      const request = { texts, except: '{"erasure"', after: progress.after, limit: answersAtOnce };
      const after = await eraseAnswers(work, request);
      return after === null ? { stage: 'processors' } : { stage: 'answers', after };
    }
    case 'processors':
      return progress;
    default:
      return progress satisfies never;
  }
}

/** Completes the erasure, after the processors have deleted the customer. */
export async function finishErasure(work: Work, customerId: string): Promise<void> {
  await completeErasure(work, customerId);
}
