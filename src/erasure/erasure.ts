import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { Timestamp } from '../kernel/json.ts';

const Records = z.object({
  record: z.string().meta({ description: 'The type of the records, such as `paymentMethod`.' }),
  count: z.int().meta({ description: 'Their number. Events, audit log entries and usage events: up to 10,000.' }),
});

const ErasedRecords = Records.extend({ fields: z.array(z.string()) });

/** The erasure of a customer: the data that was erased, that is still to be erased, and that is kept. */
export const Erasure = z
  .object({
    customerId: z.string(),
    erasedAt: Timestamp,
    completedAt: Timestamp.nullable().meta({ description: 'The time at which all copies were erased; null before.' }),
    erased: z.array(ErasedRecords).meta({ description: 'The records whose fields were erased.' }),
    pending: z.array(ErasedRecords).meta({ description: 'The copies that a job erases next. Empty when it is done.' }),
    kept: z.array(Records.extend({ reason: z.string() })).meta({ description: 'The records that stay, and why.' }),
  })
  .meta({ id: 'Erasure' });
export type Erasure = z.infer<typeof Erasure>;

/** The records of one type that belong to a customer, and their columns with personal data. */
export interface PersonalRecords {
  readonly record: string;
  readonly count: number;
  readonly columns: readonly string[];
  /** Whether the record stays as it was issued, so that only its copies are erased. */
  readonly isDocument: boolean;
}

/** The number of copies of a customer's data, by where they are. */
export interface Copies {
  readonly events: number;
  readonly auditLogEntries: number;
  readonly usageEvents: number;
  readonly processorCustomers: number;
}

// The texts of the answer; docs/operating.md says the same.
const reasons = {
  invoice: 'Tax and commercial law require invoices as they were issued, with the name and address of the buyer.',
  payment: 'Amounts, dates, references and descriptions of payments belong to the books.',
  usageEvent: 'Amounts, dates and transaction ids explain invoices, and a repeat counts once.',
} as const;

/** Describes an erasure: a pure function of the records, so a repeat of the request gets the same answer. */
export function describeErasure(
  { customerId, erasedAt, completedAt }: { customerId: string; erasedAt: Instant; completedAt: Instant | null },
  records: readonly PersonalRecords[],
  copies: Copies,
): Erasure {
  const erased = records
    .filter(({ isDocument, count }) => !isDocument && count > 0)
    .map(({ record, count, columns }) => ({ record, count, fields: columns.map(fieldOf) }));
  const copied = [
    { record: 'event', count: copies.events, fields: ['payload.customer.externalId', 'payload.data'] },
    { record: 'auditLogEntry', count: copies.auditLogEntries, fields: ['before', 'after'] },
    { record: 'usageEvent', count: copies.usageEvents, fields: ['properties'] },
    { record: 'processorCustomer', count: copies.processorCustomers, fields: ['reference'] },
  ].filter(({ count }) => count > 0);
  const countOf = (record: string) => records.find((each) => each.record === record)?.count ?? 0;
  const kept = [
    { record: 'invoice', count: countOf('invoice'), reason: reasons.invoice },
    { record: 'payment', count: countOf('payment'), reason: reasons.payment },
    { record: 'usageEvent', count: copies.usageEvents, reason: reasons.usageEvent },
  ].filter(({ count }) => count > 0);
  const isComplete = completedAt !== null;
  return {
    customerId,
    erasedAt,
    completedAt,
    erased: isComplete ? [...erased, ...copied] : erased,
    pending: isComplete ? [] : copied,
    kept,
  };
}

// The API writes these two in capitals.
const fieldNames: ReadonlyMap<string, string> = new Map([
  ['logo_url', 'logoURL'],
  ['icon_url', 'iconURL'],
]);

function fieldOf(column: string): string {
  return fieldNames.get(column) ?? column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
