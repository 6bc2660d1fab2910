import { sql } from 'kysely';
import { createApiKey } from '../../src/organizations/actions.ts';
import type { Body, TestApp } from './harness.ts';

/** The smallest setup with all three types of feature. */
export function acme(): Body {
  return {
    name: 'Acme 2026',
    features: [
      { type: 'toggle', slug: 'sso', name: 'SSO', description: 'Single sign-on' },
      {
        type: 'usage_credit_grant',
        slug: 'calls-10k',
        name: '10k calls',
        description: 'Monthly calls',
        amount: 10000,
        renewalFrequency: 'every_billing_period',
        usageMeterSlug: 'api-calls',
      },
      { type: 'resource', slug: 'seats-5', name: '5 seats', description: 'Seats', amount: 5, resourceSlug: 'seat' },
    ],
    products: [
      {
        product: { name: 'Team', slug: 'team', active: true },
        price: {
          type: 'subscription',
          slug: 'team-monthly',
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 2900,
          isDefault: true,
          active: true,
          trialPeriodDays: 14,
        },
        features: ['sso', 'calls-10k', 'seats-5'],
      },
    ],
    usageMeters: [
      {
        usageMeter: { name: 'API calls', slug: 'api-calls' },
        prices: [
          {
            type: 'usage',
            slug: 'call-overage',
            intervalUnit: 'month',
            intervalCount: 1,
            unitPrice: 1,
            usageEventsPerUnit: 100,
            isDefault: true,
          },
        ],
      },
    ],
    resources: [{ slug: 'seat', name: 'Seat' }],
  };
}

export const pricingTables = [
  'pricing_models',
  'usage_meters',
  'resources',
  'products',
  'prices',
  'features',
  'product_features',
  'discounts',
] as const;

/** Every row of pricing as text: of one pricing model, or in the whole database. */
export async function allRows(app: TestApp, pricingModelId: string | null = null): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const table of pricingTables) {
    const model = sql.ref(table === 'pricing_models' ? 'id' : 'pricing_model_id');
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.table(table)} as t
       where ${pricingModelId}::text is null or ${model} = ${pricingModelId} order by id`.execute(app.owner);
    all[table] = rows.map(({ text }) => text);
  }
  return all;
}

/** How many rows each table of pricing has in the whole database. */
export async function countRows(app: TestApp): Promise<Record<string, number>> {
  return Object.fromEntries(Object.entries(await allRows(app)).map(([table, rows]) => [table, rows.length]));
}

/** A key of the test environment that sees one pricing model only. */
export async function pinnedKey(app: TestApp, pricingModelId: string): Promise<string> {
  const request = { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned', pricingModelId };
  return (await createApiKey(app.owner, request, Date.now())).token;
}
