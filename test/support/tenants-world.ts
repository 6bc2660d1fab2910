import { sql } from 'kysely';
import { createApiKey, revokeApiKey } from '../../src/organizations/actions.ts';
import { anyId } from './any-id.ts';
import type { TestCell } from './databases.ts';
import { nameIn } from './fixtures.ts';
import { type Body, startTestApp, type TestApp } from './harness.ts';
import { type StripeServer, startStripeServer } from './stripe-server.ts';
import { buildWorld, structure, type World, type WorldOptions } from './world.ts';

/** A world with a name of its own for everything that is named: nothing of it is called as in another tenant's. */
export interface TenantWorld extends World {
  readonly productSlug: string;
  readonly planPriceId: string;
  readonly planPriceSlug: string;
  readonly unitsPriceSlug: string;
  readonly extraPriceId: string;
  readonly extraPriceSlug: string;
  readonly toggleId: string;
  readonly toggleSlug: string;
  readonly spareToggleId: string;
  readonly spareToggleSlug: string;
  readonly creditFeatureId: string;
  readonly seatFeatureId: string;
  readonly spareCreditFeatureId: string;
  readonly poolFeatureId: string;
  readonly limitFeatureId: string;
  readonly drawnFeatureId: string;
  readonly spareSeatFeatureId: string;
  readonly seatId: string;
  readonly seatSlug: string;
  readonly seatClaimId: string;
  readonly seatClaimName: string;
  readonly poolId: string;
  readonly poolSlug: string;
  readonly callsMeterId: string;
  readonly callsMeterSlug: string;
  readonly callsEventName: string;
  readonly asksEventName: string;
  readonly callsPriceId: string;
  readonly callsPriceSlug: string;
  readonly discountCode: string;
  readonly email: string;
  /** A request that has changed something. */
  readonly requestId: string;
  /** A person who has changed something. */
  readonly userId: string;
  readonly billingPeriodId: string;
  readonly usageTransactionId: string;
  /** A customer with a card and without a paid plan. */
  readonly newcomerId: string;
  readonly newcomerExternalId: string;
  readonly newcomerCardId: string;
  readonly boughtPriceId: string;
  readonly boughtInvoiceId: string;
  readonly owingCardId: string;
  readonly toggleItemFeatureId: string;
  readonly toggleLinkId: string;
  /** A link of the spare toggle, which no subscription has. */
  readonly spareLinkId: string;
  /** The whole catalog, as it is exported. */
  readonly exported: Body;
  readonly creditItemFeatureId: string;
  readonly seatItemFeatureId: string;
  readonly deliveredEventId: string;
  readonly mailedEventId: string;
  readonly deliveredObjectId: string;
  /** Waits for the first payment. */
  readonly waitingSubscriptionId: string;
  readonly waitingExternalId: string;
}

/** Somebody with a key, and what the key may see. */
export interface Tenant {
  readonly name: string;
  readonly key: string;
  readonly environmentId: number;
  readonly pinnedPricingModelId: string | null;
  readonly world: TenantWorld;
}

// Amounts that nobody else has.
const amounts: Readonly<Record<string, number>> = { victim: 7_919_301 };
const ordinaryAmount = 2900;

/** The catalog of a world, with records under names of its own beside those that every world has. */
export function tenantStructure(suffix: string): Body {
  const base: Body = structure(suffix);
  const unitPrice = amounts[suffix] ?? ordinaryAmount;
  const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const [team] = base.products;
  const [calls] = base.usageMeters;
  const feature = (slug: string, rest: Body) => ({ slug: `${suffix}-${slug}`, name: slug, description: slug, ...rest });
  const renewalFrequency = 'every_billing_period';
  const grant = { type: 'usage_credit_grant', amount: 1000, renewalFrequency, usageMeterSlug: `${suffix}-calls` };
  return {
    ...base,
    isDefault: suffix !== 'pinned',
    features: [
      ...base.features,
      feature('toggle', { type: 'toggle' }),
      feature('spare', { type: 'toggle' }),
      feature('credits', grant),
      feature('units', { ...grant, renewalFrequency: 'once' }),
      feature('spare-credits', {
        ...grant,
        renewalFrequency: 'every_interval',
        grantInterval: { unit: 'week', count: 1 },
      }),
      feature('pooled', { ...grant, usageMeterSlug: null, creditPoolSlug: `${suffix}-pool` }),
      feature('limit', {
        type: 'spend_limit',
        amount: 1000,
        spendLimit: { usageMeterSlug: `${suffix}-calls`, period: 'month' },
      }),
      feature('drawn', {
        type: 'spend_limit',
        amount: 1000,
        spendLimit: { creditPoolSlug: `${suffix}-pool`, period: 'month' },
      }),
      ...['seats', 'spare-seats'].map((slug) =>
        feature(slug, { type: 'resource', amount: 9, resourceSlug: `${suffix}-seat` }),
      ),
    ],
    products: [
      {
        ...team,
        price: { ...team.price, unitPrice },
        features: [...team.features, `${suffix}-toggle`, `${suffix}-credits`, `${suffix}-seats`],
      },
      {
        product: { name: 'Plan', slug: `${suffix}-plan`, active: true },
        price: { ...monthly, slug: `${suffix}-plan-monthly`, unitPrice: unitPrice + 1 },
        features: [],
      },
      {
        product: { name: 'Units', slug: `${suffix}-units`, active: true },
        price: { type: 'single_payment', slug: `${suffix}-units`, unitPrice: 100 },
        features: [`${suffix}-units`],
      },
      {
        product: { name: 'Extra', slug: `${suffix}-extra`, active: true, addOn: true },
        price: { ...monthly, slug: `${suffix}-extra-monthly`, unitPrice: unitPrice + 2 },
        features: [],
      },
    ],
    usageMeters: [
      calls,
      {
        usageMeter: { name: 'Own calls', slug: `${suffix}-calls`, eventName: `${suffix}-called` },
        prices: [{ ...calls.prices[0], slug: `${suffix}-overage` }],
      },
      {
        usageMeter: { name: 'Questions', slug: `${suffix}-questions`, eventName: `${suffix}-asked` },
        prices: [
          { ...calls.prices[0], slug: `${suffix}-question` },
          { ...calls.prices[0], slug: `${suffix}-large`, isDefault: false, where: { size: ['large'] } },
        ],
      },
    ],
    resources: [...base.resources, { slug: `${suffix}-seat`, name: 'Own seat' }],
    creditPools: [
      ...base.creditPools,
      {
        slug: `${suffix}-pool`,
        name: 'Own pool',
        unit: 'credit',
        rates: [{ usageMeterSlug: `${suffix}-calls`, per: 1, cost: '1' }],
      },
    ],
  };
}

/** The service, with an account for live mode that knows the tokens of the test network. */
export async function startTenantApp(isSound = true) {
  const stripe = await startStripeServer();
  const [account] = stripe.services.stripe ?? [];
  if (account === undefined) throw new Error('the stand-in has an account');
  const services = { stripe: [{ ...account, name: 'stripe', livemode: true }] };
  const app = await startTestApp({ services, isSound });
  return { app, stripe };
}

interface Place {
  readonly name: string;
  readonly key: string;
  readonly environmentId: number;
  readonly pinned?: boolean;
  /** The cell of all its customers. Absent: they are in those of their names. */
  readonly cell?: TestCell | undefined;
}

/** Makes a tenant with one record of every kind. */
export async function buildTenant(
  app: TestApp,
  { name, key, environmentId, pinned = false, cell }: Place,
): Promise<Tenant> {
  let used = key;
  const keyFor = async (pricingModelId: string) => {
    const request = { environmentId, livemode: false, name: `Key of ${name}`, pricingModelId };
    used = (await createApiKey(app.owner, request, Date.now())).token;
    return used;
  };
  const nameOf = (wanted: string) => (cell === undefined ? wanted : nameIn(app, cell.database, environmentId, wanted));
  const options: WorldOptions = { structureOf: tenantStructure, nameOf, ...(pinned ? { keyFor } : {}) };
  const world = await buildWorld(app, { testKey: key, testEnvironmentId: environmentId }, name, options);
  return {
    name,
    key: used,
    environmentId,
    pinnedPricingModelId: pinned ? world.pricingModelId : null,
    world: { ...world, ...(await addOwn(app, used, { name, world, nameOf })) },
  };
}

interface Own {
  readonly name: string;
  readonly world: World;
  readonly nameOf: (name: string) => string;
}

/** Adds what a world lacks for a call with each id. */
async function addOwn(app: TestApp, key: string, { name, world, nameOf }: Own) {
  const get = (path: string): Promise<Body> => app.get(path, { key });
  const post = (path: string, body: unknown): Promise<Body> => app.post(path, body, { key });
  const catalog = await readCatalog(get, name, world);
  const { subscriptionId } = world;
  const event = { subscriptionId, priceId: catalog.callsPriceId, amount: 3 };
  await post('/usage-events', { usageEvent: { ...event, transactionId: `${name}-transaction` } });
  // What comes late goes into the roll-ups that are closed.
  const late = { transactionId: `${name}-late`, usageDate: Date.now() - 86_400_000 };
  await post('/usage-events', { usageEvent: { ...event, ...late } });
  const claim = { resourceSlug: catalog.seatSlug, externalId: `${name}-ada` };
  const { claims } = await post(`/resource-claims/${subscriptionId}/claim`, claim);
  const plan = await get(`/products?slug=${name}-plan&pricingModelId=${world.pricingModelId}`);
  const link = { productId: plan.data[0].id, featureId: catalog.spareToggleId };
  const { productFeature } = await post('/product-features', { productFeature: link });
  const discountCode = `${name}-code`.toUpperCase();
  const discount = { name: 'Own', code: discountCode, amount: 30, amountType: 'percent', duration: 'forever' };
  const changed = await app.request('POST', '/discounts', { discount }, { key });
  const limited = { ...discount, code: `${discountCode}-2`, productIds: [world.productId] };
  await post('/discounts', { discount: limited });
  const newcomer = await newCustomer(post, nameOf(`${name}-newcomer`));
  const card = { customerId: newcomer.id, type: 'card', token: 'pm_card_visa' };
  const { paymentMethod } = await post('/payment-methods', { paymentMethod: card });
  const waiting = await newCustomer(post, nameOf(`${name}-waiting`));
  const { subscription } = await post('/subscriptions', { customerId: waiting.id, priceId: world.priceId });
  const { purchase } = await get(`/purchases/${world.purchaseId}`);
  const { subscription: owing } = await get(`/subscriptions/${world.owingSubscriptionId}`);
  const { data: owingCards } = await get(`/payment-methods?customerId=${owing.customerId}`);
  const { data: events } = await get(`/usage-events?subscriptionId=${subscriptionId}`);
  const { data: invoices } = await get(`/invoices?purchaseId=${world.purchaseId}`);
  return {
    ...catalog,
    seatClaimId: claims[0].id as string,
    seatClaimName: claim.externalId,
    spareLinkId: productFeature.id as string,
    exported: await get(`/pricing-models/${world.pricingModelId}/export`),
    discountCode,
    email: `${name}@acme.test`,
    requestId: changed.headers.get('x-request-id') ?? '',
    userId: await changeAsPerson(app, discountCode),
    billingPeriodId: events[0].billingPeriodId as string,
    usageTransactionId: `${name}-transaction`,
    newcomerId: newcomer.id,
    newcomerExternalId: newcomer.externalId,
    newcomerCardId: paymentMethod.id as string,
    boughtPriceId: purchase.priceId as string,
    boughtInvoiceId: invoices[0].id as string,
    owingCardId: owingCards[0].id as string,
    ...(await readFeatures(get, world, catalog)),
    waitingSubscriptionId: subscription.id as string,
    waitingExternalId: waiting.externalId,
  };
}

/** Notes one more change of a discount, as that of a person. */
async function changeAsPerson(app: TestApp, discountCode: string): Promise<string> {
  const userId = anyId('user');
  await app.owner.transaction().execute(async (db) => {
    await sql`select set_config('tollkeeper.user_id', ${userId}, true)`.execute(db);
    await sql`update discounts set name = name || ' again' where code = ${discountCode}`.execute(db);
  });
  return userId;
}

/** What the subscription has of the features, and what was told of its events. */
async function readFeatures(
  get: (path: string) => Promise<Body>,
  { externalId, webhookId, productId, emailId }: World,
  { toggleId, creditFeatureId, seatFeatureId }: Awaited<ReturnType<typeof readCatalog>>,
) {
  const { currentSubscription } = await get(`/customers/${externalId}/billing`);
  const { data: deliveries } = await get(`/webhooks/${webhookId}/deliveries?limit=100`);
  // A test of the endpoint is of no event.
  const delivery = deliveries.find(({ eventId }: Body) => eventId !== null);
  const { data: links } = await get(`/product-features?productId=${productId}&featureId=${toggleId}`);
  const itemFeatureOf = (featureId: string): string =>
    currentSubscription.experimental.featureItems.find((row: Body) => row.featureId === featureId).id;
  return {
    toggleItemFeatureId: itemFeatureOf(toggleId),
    toggleLinkId: links[0].id as string,
    creditItemFeatureId: itemFeatureOf(creditFeatureId),
    seatItemFeatureId: itemFeatureOf(seatFeatureId),
    deliveredEventId: delivery.eventId as string,
    mailedEventId: (await get(`/emails/${emailId}`)).email.eventId as string,
    deliveredObjectId: delivery.objectId as string,
  };
}

async function newCustomer(post: (path: string, body: unknown) => Promise<Body>, externalId: string) {
  const customer = { externalId, email: `${externalId}@acme.test`, name: externalId };
  const { data } = await post('/customers', { customer });
  return { id: data.customer.id as string, externalId };
}

async function readCatalog(get: (path: string) => Promise<Body>, name: string, { pricingModelId }: World) {
  const list = async (kind: string): Promise<Body[]> =>
    (await get(`/${kind}?limit=100&pricingModelId=${pricingModelId}`)).data;
  const idIn = (rows: readonly Body[], slug: string): string => rows.find((row) => row.slug === `${name}-${slug}`).id;
  const [features, prices, meters] = [await list('features'), await list('prices'), await list('usage-meters')];
  const pools = await list('credit-pools');
  const { resources } = await get(`/resources?pricingModelId=${pricingModelId}`);
  return {
    productSlug: `${name}-plan`,
    planPriceId: idIn(prices, 'plan-monthly'),
    planPriceSlug: `${name}-plan-monthly`,
    unitsPriceSlug: `${name}-units`,
    extraPriceId: idIn(prices, 'extra-monthly'),
    extraPriceSlug: `${name}-extra-monthly`,
    toggleId: idIn(features, 'toggle'),
    toggleSlug: `${name}-toggle`,
    spareToggleId: idIn(features, 'spare'),
    spareToggleSlug: `${name}-spare`,
    creditFeatureId: idIn(features, 'credits'),
    seatFeatureId: idIn(features, 'seats'),
    spareCreditFeatureId: idIn(features, 'spare-credits'),
    poolFeatureId: idIn(features, 'pooled'),
    limitFeatureId: idIn(features, 'limit'),
    drawnFeatureId: idIn(features, 'drawn'),
    spareSeatFeatureId: idIn(features, 'spare-seats'),
    seatId: idIn(resources, 'seat'),
    seatSlug: `${name}-seat`,
    poolId: idIn(pools, 'pool'),
    poolSlug: `${name}-pool`,
    callsMeterId: idIn(meters, 'calls'),
    callsMeterSlug: `${name}-calls`,
    callsEventName: `${name}-called`,
    asksEventName: `${name}-asked`,
    callsPriceId: idIn(prices, 'overage'),
    callsPriceSlug: `${name}-overage`,
  };
}

/** Keys that opened the environment until a moment ago, and keys that never did. */
export async function endedKeys(app: TestApp, environmentId: number): Promise<{ name: string; key: string }[]> {
  const make = async (name: string, expiresAt: number | null = null) => {
    const request = { environmentId, livemode: false, name, expiresAt };
    const made = await createApiKey(app.owner, request, Date.now());
    return { ...made, name, key: made.token };
  };
  const [expired, revoked] = [await make('expired'), await make('revoked')];
  // Whatever is remembered of a key that was in use is forgotten when it ends.
  for (const { key } of [expired, revoked]) await app.get('/customers', { key });
  await app.owner
    .updateTable('apiKeys')
    .set({ expiresAt: Date.now() - 1 })
    .where('id', '=', expired.id)
    .execute();
  await revokeApiKey(app.owner, revoked.id, Date.now());
  return [expired, revoked, await make('expired from the start', Date.now() - 1)];
}

export interface Tenants {
  readonly app: TestApp;
  /** The processor of live mode. */
  readonly stripe: StripeServer;
  readonly victim: Tenant;
  /** Everybody whom the victim's records must not exist for, each with a whole world of its own. */
  readonly intruders: readonly Tenant[];
}

const everybody = ['pinned', 'live', 'stranger', 'strangerlive'] as const;

/**
 * The victim and everybody who must not reach it, or a few of them. Together, all their customers are in one cell besides home, to whose
 * rows the test adds its own.
 */
export async function buildTenants(
  names: readonly (typeof everybody)[number][] = everybody,
  { together = false }: { readonly together?: boolean } = {},
): Promise<Tenants> {
  const { app, stripe } = await startTenantApp(!together);
  const cell = together ? app.cells.at(-1) : undefined;
  const stranger = await app.newOrganization();
  const victim = await buildTenant(app, {
    name: 'victim',
    key: app.testKey,
    environmentId: app.testEnvironmentId,
    cell,
  });
  const places: (Place & { name: (typeof everybody)[number] })[] = [
    { name: 'pinned', key: app.testKey, environmentId: app.testEnvironmentId, pinned: true },
    { name: 'live', key: app.liveKey, environmentId: app.liveEnvironmentId },
    { name: 'stranger', key: stranger.testKey, environmentId: stranger.testEnvironmentId },
    { name: 'strangerlive', key: stranger.liveKey, environmentId: stranger.liveEnvironmentId },
  ];
  const intruders: Tenant[] = [];
  for (const place of places.filter(({ name }) => names.includes(name)))
    intruders.push(await buildTenant(app, { ...place, cell }));
  return { app, stripe, victim, intruders };
}
