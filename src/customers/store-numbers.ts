import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { numberingOf } from '../organizations/setting.ts';
import type { BillingTerms } from './billing-terms.ts';
import type { BillingAddress, CustomerRow } from './customer.ts';
import { documentNumber, type NumberedDocument, seriesStem } from './number-series.ts';

/** A document that gets its number. */
interface Unnumbered {
  readonly customerId: string;
  /** The date of the document, which decides about its year. */
  readonly date: Instant;
}

/** The number of a document, and the customer's details at that time. */
interface Numbered {
  readonly number: string;
  readonly buyer: Pick<CustomerRow, 'name' | 'email' | 'billingAddress' | 'billingTerms'>;
}

interface CountedRow {
  readonly place: number;
  readonly name: string;
  readonly email: string;
  readonly billingAddress: BillingAddress | null;
  readonly billingTerms: BillingTerms | null;
  readonly stem: string;
  readonly n: number;
}

/**
 * Numbers documents in the order given, by one statement. A rollback returns the numbers, so a series has no gap: its row
 * stays locked until the commit. Callers take numbers late, because the series of an environment makes its
 * transactions wait for each other. Customers are locked first, then series, each in order, to avoid deadlocks.
 */
export async function takeNumbers(
  work: Work,
  document: NumberedDocument,
  documents: readonly Unnumbered[],
): Promise<Numbered[]> {
  if (documents.length === 0) return [];
  const settings = numberingOf(work);
  const stems = documents.map(({ date }) => seriesStem(settings, document, date));
  const { rows } = await sql<CountedRow>`
    with asked as materialized (
      select customer_id, before, names_customer, after, place
        from unnest(${documents.map(({ customerId }) => customerId)}::text[], ${stems.map(({ before }) => before)}::text[],
               ${stems.map(({ namesCustomer }) => namesCustomer)}::boolean[], ${stems.map(({ after }) => after)}::text[])
             with ordinality as asked (customer_id, before, names_customer, after, place)
    ), held as materialized (
      select id, invoice_number_base, name, email, billing_address, billing_terms from customers
       where environment_id = ${work.environmentId} and id = any(${documents.map(({ customerId }) => customerId)}::text[])
       order by id for no key update
    ), named as materialized (
      select place, name, email, billing_address, billing_terms,
             before || case when names_customer then invoice_number_base else '' end || after as stem
        from asked join held on held.id = asked.customer_id
    ), counted as (
      insert into number_series as series (environment_id, stem, counted)
      select ${work.environmentId}, stem, count(*) from one_row, named group by stem order by stem
      on conflict (environment_id, stem) do update set counted = series.counted + excluded.counted
      returning stem, counted
    )
    select place, name, email, billing_address, billing_terms, stem,
           counted - count(*) over (partition by stem) + row_number() over (partition by stem order by place) as n
      from named join counted using (stem) order by place`.execute(work.db);
  assert(rows.length === documents.length, 'every customer that is billed exists');
  return rows.map(({ stem, n, name, email, billingAddress, billingTerms }) => ({
    number: documentNumber(stem, n),
    buyer: { name, email, billingAddress, billingTerms },
  }));
}
