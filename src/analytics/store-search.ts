import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { mostOfType, type SearchResult } from './record-search.ts';

/** The records that a text names in this cell, a few of each type. */
export async function searchRecords(work: Work, text: string): Promise<SearchResult[]> {
  const { environmentId } = work;
  const { rows } = await sql<SearchResult>`
    with found as materialized (select type, id from records_by_search(${text}, ${mostOfType}::integer))
    select f.type, c.id, c.name, coalesce(nullif(c.email, ''), c.external_id) as detail,
           case when c.archived then 'archived' end as status, c.pricing_model_id
      from found f join customers c on c.environment_id = ${environmentId} and c.id = f.id where f.type = 'customer'
    union all
    select f.type, s.id, coalesce(s.name, t.name), c.name, s.status, s.pricing_model_id
      from found f join subscriptions s on s.environment_id = ${environmentId} and s.id = f.id
      join customers c on c.environment_id = s.environment_id and c.id = s.customer_id
      join prices p on p.environment_id = s.environment_id and p.id = s.price_id
      left join products t on t.environment_id = p.environment_id and t.id = p.product_id where f.type = 'subscription'
    union all
    select f.type, i.id, i.invoice_number, c.name, i.status, i.pricing_model_id
      from found f join invoices i on i.environment_id = ${environmentId} and i.id = f.id
      join customers c on c.environment_id = i.environment_id and c.id = i.customer_id where f.type = 'invoice'
    union all
    select f.type, t.id, t.name, t.slug, case when not t.active then 'inactive' end, t.pricing_model_id
      from found f join products t on t.environment_id = ${environmentId} and t.id = f.id where f.type = 'product'
    union all
    select f.type, p.id, coalesce(p.name, t.name), p.slug, case when not p.active then 'inactive' end, p.pricing_model_id
      from found f join prices p on p.environment_id = ${environmentId} and p.id = f.id
      left join products t on t.environment_id = p.environment_id and t.id = p.product_id where f.type = 'price'
    union all
    select f.type, y.id, null, c.name, y.status, y.pricing_model_id
      from found f join payments y on y.environment_id = ${environmentId} and y.id = f.id
      join customers c on c.environment_id = y.environment_id and c.id = y.customer_id where f.type = 'payment'
    union all
    select f.type, n.id, n.credit_note_number, c.name, n.status, n.pricing_model_id
      from found f join credit_notes n on n.environment_id = ${environmentId} and n.id = f.id
      join customers c on c.environment_id = n.environment_id and c.id = n.customer_id where f.type = 'creditNote'
    `.execute(work.db);
  return rows;
}
