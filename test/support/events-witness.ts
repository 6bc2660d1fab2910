import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { TestCell } from './databases.ts';
import type { Body, TestApp } from './harness.ts';

// What of a subscription no answer shows. Whatever else changes is to be told.
const hidden: ReadonlySet<string> = new Set([
  'updated_at',
  'environment_id',
  'exclusive',
  'is_only_trial',
  'is_default_plan',
  'paused_credit',
  'revision',
  'work_retry_at',
  'erased_external_id_mac',
  'erasure_completed_at',
  'notice_at',
]);
const paid: ReadonlySet<unknown> = new Set(['paid', 'partially_refunded', 'refunded']);

interface Witnessed {
  /** Of the commit. */
  readonly transaction: string;
  readonly table: string;
  readonly recordId: string;
  readonly before: Body | null;
  readonly after: Body;
}

/** Watches what each transaction changes of records and tells of them, in the database itself, whoever does it. */
export async function startWitness(app: TestApp) {
  await Promise.all(app.cells.map(witnessCell));
  return {
    /** What was seen since the last time, commit by commit, must be told as it should be. Answers how many commits told. */
    async assertTold(): Promise<number> {
      const seenIn = ({ owner }: TestCell) =>
        sql<Witnessed>`delete from witnessed returning transaction::text, "table", record_id, before, after`.execute(
          owner,
        );
      const rows = (await Promise.all(app.cells.map(seenIn))).flatMap((seen) => seen.rows);
      const commits = Map.groupBy(rows, ({ transaction, recordId }) => `${transaction} ${recordId}`);
      for (const seen of commits.values()) assertOneCommit(seen);
      return [...commits.values()].filter((seen) => seen.some(({ table }) => table === 'events')).length;
    },
  };
}

async function witnessCell({ owner }: TestCell): Promise<void> {
  await sql`create table witnessed (transaction xid8, "table" text, record_id text, before jsonb, after jsonb)`.execute(
    owner,
  );
  await sql`
    create function witness() returns trigger language plpgsql security definer set search_path from current as $$
    begin
      insert into witnessed values (pg_current_xact_id(), tg_table_name,
        case tg_table_name when 'events' then to_jsonb(new) ->> 'object_id'
          when 'subscription_items' then to_jsonb(new) ->> 'subscription_id'
          when 'refunds' then to_jsonb(new) ->> 'payment_id' else to_jsonb(new) ->> 'id' end,
        case when tg_op = 'UPDATE' then to_jsonb(old) end, to_jsonb(new));
      return null;
    end $$`.execute(owner);
  const tables = ['events', 'customers', 'subscriptions', 'subscription_items', 'payments', 'refunds', 'invoices'];
  for (const table of [...tables, 'credit_notes', 'payment_methods'])
    await sql`create trigger witness after insert or update on ${sql.table(table)} for each row execute function witness()`.execute(
      owner,
    );
}

/** What one commit changed of one record is what it told of it. */
function assertOneCommit(seen: readonly Witnessed[]): void {
  const told = seen.filter(({ table }) => table === 'events').map(({ after }) => after.type as string);
  const changes = seen.filter(({ table }) => table !== 'events');
  const about = `${JSON.stringify(changes.map(changeOf))} was told as ${JSON.stringify(told)}`;
  const wanted = new Set(changes.flatMap(wantedFor));
  const countOf = (type: string) => told.filter((each) => each === type).length;
  for (const type of wanted) assert(countOf(type) > 0, `${type} is missing: ${about}`);
  for (const type of new Set(told)) {
    assert(wanted.has(type) || mayBeTold(type, changes), `${type} is one too many: ${about}`);
    // Two steps of one commit may each change a subscription, and are two occurrences; nothing else happens twice.
    const most = type === 'subscription.updated' ? changes.length : 1;
    assert(countOf(type) <= most, `${type} was told twice: ${about}`);
  }
}

function changeOf({ table, before, after }: Witnessed): Body {
  const keys = Object.keys(after).filter((key) => !hidden.has(key));
  const changed = keys.filter((key) => JSON.stringify(before?.[key]) !== JSON.stringify(after[key]));
  return { table, ...(before === null ? { new: true } : Object.fromEntries(changed.map((key) => [key, after[key]]))) };
}

/** The plain rule of what is told of a change. */
function wantedFor(change: Witnessed): string[] {
  const { table, before, after } = change;
  const notice = noticeOf(change);
  if (notice !== null) return [notice];
  if (table === 'invoices') return wantedForInvoice(before?.status ?? null, after.status);
  if (table === 'refunds') return before === null ? ['refund.created'] : [];
  if (table === 'credit_notes') return wantedForNote(before?.status ?? null, after.status);
  const isVisible = before === null || Object.keys(changeOf(change)).length > 1;
  if (!isVisible) return [];
  switch (table) {
    case 'customers':
      if (before === null) return ['customer.created'];
      return before.erased_at === after.erased_at ? ['customer.updated'] : ['customer.updated', 'customer.erased'];
    case 'subscriptions':
      if (before === null) return ['subscription.created'];
      if (isErased(before, after)) return [];
      if (before.status === 'canceled' || after.status !== 'canceled') return ['subscription.updated'];
      return after.cancellation_reason === 'upgraded_to_paid' ? [] : ['subscription.canceled'];
    case 'payments':
      if (before?.status === after.status) return [];
      if (after.status === 'succeeded') return ['payment.succeeded'];
      return after.status === 'failed' || after.status === 'canceled' ? ['payment.failed'] : [];
    default:
      return [];
  }
}

/** What came due is told once: its date is gone then. */
function noticeOf({ table, before, after }: Witnessed): string | null {
  if (typeof before?.notice_at !== 'number' || after.notice_at !== null) return null;
  if (table === 'invoices') return 'invoice.overdue';
  if (table === 'subscriptions') return 'subscription.trial_will_end';
  return table === 'payment_methods' ? 'payment_method.expiring' : null;
}

function wantedForInvoice(before: string | null, after: string): string[] {
  if (before === after) return [];
  const wanted = before === null ? ['invoice.created'] : [];
  if ((before ?? 'draft') === 'draft' && after !== 'draft') wanted.push('invoice.finalized');
  if (paid.has(after) && !paid.has(before)) wanted.push('invoice.paid');
  if (after === 'void') wanted.push('invoice.voided');
  return after === 'uncollectible' ? [...wanted, 'invoice.uncollectible'] : wanted;
}

function wantedForNote(before: string | null, after: string): string[] {
  if (before === null) return ['credit_note.created'];
  if (before === after) return [];
  return [after === 'void' ? 'credit_note.voided' : 'credit_note.settled'];
}

/** An erasure tells of its customer only. */
function isErased(before: Body, after: Body): boolean {
  return before.status === 'canceled' && before.name !== null && after.name === null;
}

/** A change of plan may change nothing but items. A payment that fails may leave its invoice as it was. */
function mayBeTold(type: string, changes: readonly Witnessed[]): boolean {
  if (type === 'invoice.payment_failed' || type === 'payment.action_required') return true;
  return type === 'subscription.updated' && changes.some(({ table }) => table === 'subscription_items');
}
