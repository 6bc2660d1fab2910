import { type Selectable, sql } from 'kysely';
import type { Resources } from '../database/database-types.ts';
import type { Work } from '../database/work.ts';
import { isAscending, type PageRequest } from '../kernel/pagination.ts';
import type { NewResource, Resource } from './resource.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';

const resourceColumns = ['id', 'createdAt', 'updatedAt', 'pricingModelId', 'slug', 'name', 'active'] as const;
type ResourceRow = Pick<Selectable<Resources>, (typeof resourceColumns)[number]>;

function toResource(work: Work, row: ResourceRow): Resource {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/** Inserts resources and returns them in the given order. */
export async function insertResources(work: Work, resources: readonly NewResource[]): Promise<Resource[]> {
  const rows = resources.map((resource) => ({
    id: resource.id,
    pricingModelId: resource.pricingModelId,
    slug: resource.slug,
    name: resource.name,
    active: resource.active,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    await namingTakenSlug('resource', some, work.db.insertInto('resources').values(some).execute());
  }
  return rows.map(({ environmentId: _, ...row }) => toResource(work, row));
}

/**
 * Saves the changeable fields of resources: slug, name and `active`. Inactive ones are written first to free their
 * slugs for the others.
 */
export async function saveResources(work: Work, resources: readonly Resource[]): Promise<Resource[]> {
  for (const active of [false, true]) {
    const rows = resources
      .filter((resource) => resource.active === active)
      .map(({ id, slug, name }) => ({ id, slug, name, active }));
    if (rows.length === 0) continue;
    const statement = sql`
      update resources set slug = given.slug, name = given.name, active = given.active, updated_at = ${work.now}
        from json_populate_recordset(null::resources, ${JSON.stringify(rows)}::json) as given
       where resources.environment_id = ${work.environmentId} and resources.id = given.id`;
    await namingTakenSlug('resource', rows, statement.execute(work.db));
  }
  return resources.map((resource) => ({ ...resource, updatedAt: work.now }));
}

function selectResources(work: Work) {
  return work.db.selectFrom('resources').select(resourceColumns).where('environmentId', '=', work.environmentId);
}

export async function findResource(work: Work, id: string): Promise<Resource | null> {
  const row = await selectResources(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toResource(work, row);
}

/** All resources of these pricing models, active or not, in order of creation. */
export async function listResources(work: Work, pricingModelIds: readonly string[]): Promise<Resource[]> {
  const rows = await selectResources(work)
    .where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .orderBy('id')
    .execute();
  return rows.map((row) => toResource(work, row));
}

/** A page of the resources of one pricing model or (null) of all, active or not, plus one when there are more. */
export async function pageOfResources(
  work: Work,
  pricingModelId: string | null,
  request: PageRequest,
): Promise<Resource[]> {
  const upwards = isAscending(request);
  let query = selectResources(work)
    .orderBy('id', upwards ? 'asc' : 'desc')
    .limit(request.limit + 1);
  if (pricingModelId !== null) query = query.where('pricingModelId', '=', pricingModelId);
  if (request.after !== null) query = query.where('id', upwards ? '>' : '<', request.after);
  return (await query.execute()).map((row) => toResource(work, row));
}
