import process from 'node:process';

// Fills a test environment with a believable company: 300 customers and two years of history, by the test clock of a running
// service. TOLLKEEPER_URL and TOLLKEEPER_TEST_KEY give its address and key. The same seed makes the same company.

const address = process.env.TOLLKEEPER_URL ?? `http://127.0.0.1:${process.env.PORT || 3000}`;
const key = process.env.TOLLKEEPER_TEST_KEY;
const seed = Number(process.argv[2] ?? 1);

const weeks = 104;
const customerCount = 300;
const weekMs = 7 * 86_400_000;
// Requests in flight at once: the service and its database share the machine.
const concurrency = 8;

/** An answer of the API. */
// biome-ignore lint/suspicious/noExplicitAny: the demo reads answers of every shape.
type Answer = any;

async function send(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ ok: boolean; status: number; answer: Answer }> {
  const response = await fetch(`${address}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { ok: response.ok, status: response.status, answer: await response.json() };
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const { ok, status, answer } = await send(method, path, body);
  if (!ok) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  return answer;
}

/** Numbers from 0 to 1 in an order that the seed decides (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomFrom(seed);
const happens = (chance: number) => random() < chance;
function pick<Item>(items: readonly [Item, ...Item[]]): Item {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

async function inParallel<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true };
const plan = (name: string, unitPrice: number, features: string[], more: object = {}) => ({
  product: { name, slug: name.toLowerCase(), active: true },
  price: { ...monthly, slug: `${name.toLowerCase()}-monthly`, name: `${name}, monthly`, unitPrice, ...more },
  features,
});
const grant = (plan: string, amount: number) => ({
  type: 'usage_credit_grant',
  slug: `${plan}-calls`,
  name: `${amount.toLocaleString('en-US')} calls a month`,
  description: 'Calls that the plan includes',
  amount,
  renewalFrequency: 'every_billing_period',
  usageMeterSlug: 'api-calls',
});

const pricingModel = {
  name: 'Northwind Cloud',
  isDefault: true,
  features: [
    { type: 'toggle', slug: 'sso', name: 'Single sign-on', description: 'Sign-in by the own provider' },
    grant('starter', 5000),
    grant('team', 50_000),
    grant('business', 250_000),
  ],
  products: [
    plan('Starter', 2900, ['starter-calls'], { trialPeriodDays: 14 }),
    plan('Team', 9900, ['team-calls']),
    plan('Business', 29_900, ['business-calls', 'sso']),
  ],
  usageMeters: [
    {
      usageMeter: { name: 'API calls', slug: 'api-calls' },
      prices: [{ ...monthly, type: 'usage', slug: 'api-call', unitPrice: 2, usageEventsPerUnit: 100 }],
    },
  ],
};

const planSlugs = ['starter', 'team', 'business'] as const;
const callsOf = { starter: 1200, team: 11_000, business: 55_000 } as const;
const first = [
  'Acorn',
  'Blue',
  'Cedar',
  'Delta',
  'Ember',
  'Fjord',
  'Granite',
  'Harbor',
  'Iris',
  'Juniper',
  'Kite',
  'Lumen',
] as const;
const second = [
  'Labs',
  'Works',
  'Health',
  'Robotics',
  'Foods',
  'Logistics',
  'Studio',
  'Energy',
  'Media',
  'Systems',
] as const;
const people = ['ada', 'grace', 'linus', 'margaret', 'edsger', 'barbara', 'alan', 'radia'] as const;

interface Customer {
  readonly id: string;
  readonly subscriptionId: string;
  plan: (typeof planSlugs)[number];
  state: 'running' | 'paused' | 'leaving' | 'gone';
  /** The week in which a card that fails is replaced. */
  mendsCardAt: number | null;
}

const customers: Customer[] = [];
const at = (start: number, week: number) => new Date(start + week * weekMs).toISOString();

interface Newcomer {
  readonly number: number;
  readonly name: string;
  readonly plan: Customer['plan'];
  readonly isDiscounted: boolean;
  readonly email: string;
}

function newcomer(number: number): Newcomer {
  const name = `${pick(first)} ${pick(second)} ${number}`;
  const email = `${pick(people)}@${name.toLowerCase().replaceAll(' ', '-')}.example`;
  return {
    number,
    name,
    email,
    plan: pick(['starter', 'starter', 'team', 'team', 'business']),
    isDiscounted: happens(0.12),
  };
}

const card = (customerId: string, token: string) => ({
  paymentMethod: { customerId, type: 'card', token, default: true, automaticallyUpdateSubscriptions: true },
});

async function signUp({ number, name, plan: chosen, isDiscounted, email }: Newcomer): Promise<void> {
  const customer = { externalId: `demo-${number}`, name, email };
  const { data } = await ask('POST', '/customers', { customer });
  const id: string = data.customer.id;
  await ask('POST', '/payment-methods', card(id, 'pm_card_visa'));
  const { subscription } = await ask('POST', '/subscriptions', {
    customerId: id,
    priceSlug: `${chosen}-monthly`,
    // All are billed on the first of the month, so that two years take few steps of the clock.
    billingAnchor: 'calendar',
    ...(isDiscounted && { discountCode: 'WELCOME' }),
  });
  customers[number] = { id, subscriptionId: subscription.id, plan: chosen, state: 'running', mendsCardAt: null };
}

type Step = () => Promise<void>;

/** A change that a customer makes in a week; null: none. Chances are by the week. */
function changeOf(customer: Customer, week: number): Step | null {
  const { id, subscriptionId } = customer;
  const path = `/subscriptions/${subscriptionId}`;
  if (customer.mendsCardAt === week) {
    customer.mendsCardAt = null;
    return async () => void (await send('POST', '/payment-methods', card(id, 'pm_card_mastercard')));
  }
  if (customer.state === 'paused' && happens(0.2)) {
    customer.state = 'running';
    return async () => void (await send('POST', `${path}/resume`));
  }
  if (customer.state !== 'running' || customer.mendsCardAt !== null) return null;
  if (happens(0.005)) {
    customer.state = 'leaving';
    const timing = happens(0.7) ? 'at_end_of_current_billing_period' : 'immediately';
    return async () => void (await send('POST', `${path}/cancel`, { cancellation: { timing } }));
  }
  if (happens(0.004)) {
    // Some mend it before the last attempt, and some never.
    customer.mendsCardAt = happens(0.8) ? week + pick([3, 4, 5]) : weeks + 1;
    return async () => void (await send('POST', '/payment-methods', card(id, 'pm_card_chargeCustomerFail')));
  }
  if (happens(0.007)) return changePlan(customer, path);
  if (happens(0.002)) {
    customer.state = 'paused';
    return async () => void (await send('POST', `${path}/pause`, { pause: {} }));
  }
  return happens(0.002) ? () => refundLast(id) : null;
}

function changePlan(customer: Customer, path: string): Step {
  const others = planSlugs.filter((slug) => slug !== customer.plan);
  const next = happens(0.75) ? (others.at(-1) ?? 'business') : (others[0] ?? 'starter');
  customer.plan = next;
  const newSubscriptionItems = [{ priceSlug: `${next}-monthly`, quantity: 1 }];
  return async () =>
    void (await send('POST', `${path}/adjust`, { adjustment: { timing: 'immediately', newSubscriptionItems } }));
}

async function refundLast(customerId: string): Promise<void> {
  const { data } = await ask('GET', `/payments?customerId=${customerId}&status=succeeded&limit=1`);
  if (data[0] !== undefined)
    await send('POST', `/payments/${data[0].id}/refund`, { partialAmount: Math.ceil(data[0].amount / 2) });
}

/** Usage of a week, one event for each customer. The one whose subscription has ended is left out from then on. */
async function use(week: number): Promise<void> {
  const running = customers.filter(({ state }) => state === 'running');
  const usageEvents = running.map(({ subscriptionId, plan: used }, index) => ({
    subscriptionId,
    priceSlug: 'api-call',
    transactionId: `demo-${seed}-${week}-${index}`,
    amount: Math.ceil(callsOf[used] * (0.4 + random() * 1.1)),
  }));
  if (usageEvents.length === 0) return;
  const { ok } = await send('POST', '/usage-events/bulk', { usageEvents });
  if (ok) return;
  const gone = await listEnded();
  for (const customer of customers) if (gone.has(customer.subscriptionId)) customer.state = 'gone';
  const others = usageEvents.filter(({ subscriptionId }) => !gone.has(subscriptionId));
  if (others.length > 0) await ask('POST', '/usage-events/bulk', { usageEvents: others });
}

/** The ids of all subscriptions that have ended. */
async function listEnded(): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Answer = await ask('GET', `/subscriptions?status=canceled&limit=100${from}`);
    for (const { id } of page.data) ids.add(id);
    cursor = page.nextCursor ?? null;
  }
  return ids;
}

async function fill(): Promise<void> {
  const existing = await ask('GET', '/customers?limit=1');
  if (existing.total > 0)
    throw new Error('the environment has customers already: use the test key of an organization without any');
  const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const start = today - weeks * weekMs + 9 * 3_600_000;
  await ask('PUT', '/test-clock', { testClock: { now: at(start, 0) } });
  await ask('POST', '/pricing-models/setup', pricingModel);
  const welcome = {
    name: 'Welcome',
    code: 'WELCOME',
    amountType: 'percent',
    amount: 20,
    duration: 'number_of_payments',
    numberOfPayments: 3,
  };
  await ask('POST', '/discounts', { discount: welcome });
  for (let week = 0; week <= weeks; week++) {
    if (week > 0) await ask('PUT', '/test-clock', { testClock: { now: at(start, week) } });
    const until = Math.min(Math.round((customerCount * (week + 1)) / (weeks - 2)), customerCount);
    const newcomers = Array.from({ length: until - customers.length }, (_, index) =>
      newcomer(customers.length + index),
    );
    const changes = customers.map((customer) => changeOf(customer, week)).filter((step) => step !== null);
    // All of a week at once, because a few newcomers alone leave most of the machine idle.
    await inParallel([...newcomers.map((each) => () => signUp(each)), ...changes], (step) => step());
    if (week % 2 === 0) await use(week);
    if (week % 13 === 0) console.log(`  ${at(start, week).slice(0, 10)}: ${customers.length} customers`);
  }
}

async function show(): Promise<void> {
  const { mrr } = await ask('GET', '/analytics/mrr');
  const [group] = mrr.groups;
  const last = group.points.at(-1);
  console.log(`MRR ${(last.mrr / 100).toFixed(2)} ${group.currency} from ${last.customers} customers.`);
  console.log(`Look at it: ${address}/ in a browser, or
  curl '${address}/api/v1/analytics/mrr?interval=month' -H "Authorization: Bearer $TOLLKEEPER_TEST_KEY"`);
}

if (key === undefined) {
  console.error('Set TOLLKEEPER_TEST_KEY to the test key that the first start printed.');
  process.exitCode = 1;
} else {
  const begun = Date.now();
  console.log(`Two years of a company at ${address}, seed ${seed}:`);
  await fill();
  console.log(`Done in ${Math.round((Date.now() - begun) / 1000)} seconds.`);
  await show();
}
