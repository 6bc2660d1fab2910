import { jsonb } from '../database/json-records.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { AttachedOnPage } from './payment-method.ts';
import type { AttachOutcome } from './processor.ts';

/** A payment method being attached: `pending` until its processor has responded. */
export interface Attachment {
  /** The id of the resulting payment method, if it is a new one. */
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly processor: string;
  readonly request: AttachedOnPage;
  readonly status: 'pending' | 'attached' | 'refused';
  readonly outcome: AttachOutcome | null;
  /** The resulting payment method: the one with this id, or the same card that the customer had already. */
  readonly paymentMethodId: string | null;
}

export async function insertAttachment(work: Work, attachment: Attachment): Promise<void> {
  const request = jsonb(attachment.request);
  await work.db
    .insertInto('paymentMethodAttachments')
    .values({ ...attachment, environmentId: work.environmentId, request, outcome: null })
    .execute();
}

function select(work: Work, id: string) {
  return (
    work.db
      .selectFrom('paymentMethodAttachments')
      .select([
        'id',
        'createdAt',
        'updatedAt',
        'pricingModelId',
        'customerId',
        'processor',
        'request',
        'status',
        'outcome',
        'paymentMethodId',
      ])
      .where('environmentId', '=', work.environmentId)
      .where('id', '=', id)
      // Only values of the declared types are ever written.
      .$castTo<Attachment>()
  );
}

export async function findAttachment(work: Work, id: string): Promise<Attachment | null> {
  return (await select(work, id).executeTakeFirst()) ?? null;
}

/** Locks the attachment until the work ends. */
export async function lockAttachment(work: Work, id: string): Promise<Attachment | null> {
  return (await select(work, id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/** Records the result; without a payment method it was refused. */
export async function endAttachment(
  work: Work,
  id: string,
  { outcome, paymentMethodId }: Pick<Attachment, 'paymentMethodId'> & { readonly outcome: AttachOutcome },
): Promise<void> {
  const status = paymentMethodId === null ? 'refused' : 'attached';
  await work.db
    .updateTable('paymentMethodAttachments')
    .set({ status, outcome: jsonb(outcome), paymentMethodId, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}
