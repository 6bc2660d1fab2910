import assert from 'node:assert/strict';
import { instant } from '../../src/kernel/calendar.ts';
import type { Answer, Body, TestApp, TestOrganization } from './harness.ts';
import { beginYears, breakCard, type Caller, callerOf, type Subscriber, subscribeFor } from './years.ts';

/** An organization of its own, whose clock stands at 1 January 2026, and its customer `ada` on a plan. */
export interface World extends Subscriber, TestOrganization {
  readonly app: TestApp;
  readonly caller: Caller;
}

/** A request: method, path, body, and the status of its answer where it is refused. */
export type Asked = readonly [method: string, path: string, body?: Body, status?: number];

/** A path on which something happens, and every event that it tells, in order: the day of the clock, and the type. */
export interface Path {
  readonly path: string;
  /** Beside a plan of 30.00 a month since 1 January 2026, paid by card. */
  readonly with?: Body;
  readonly settings?: Body;
  readonly given?: (world: World) => Promise<unknown>;
  /** A request, or the date to which the clock moves. */
  readonly does: (world: World) => Asked | string | Promise<Asked | string>;
  readonly tells: readonly string[];
}

const january = instant('2026-01-01');
export const declines = 'pm_card_chargeCustomerFail';
export const atEnd = 'at_end_of_current_billing_period';

/** Asks for something of the world's plan. */
export function onPlan({ subscriptionId }: World, verb: string, body: Body = {}, status = 200): Asked {
  return ['POST', `/subscriptions/${subscriptionId}/${verb}`, body, status];
}

export function cancelAt(world: World, timing: string): Asked {
  return onPlan(world, 'cancel', { cancellation: { timing } });
}

/** Without a date it lasts until somebody ends it. */
export function pauseUntil(world: World, date: string | null): Asked {
  return onPlan(world, 'pause', { pause: { resumesAt: date === null ? null : instant(date) } });
}

export function attach({ customerId }: World, token: string, more: Body = {}): Asked {
  return ['POST', '/payment-methods', { paymentMethod: { customerId, type: 'card', token, ...more } }];
}

/** A change of plan to these items. */
export function changeTo(timing: string, ...newSubscriptionItems: Body[]): Body {
  return { adjustment: { timing, newSubscriptionItems } };
}

export function ask({ app, testKey: key }: World, [method, path, body]: Asked, headers = {}): Promise<Answer> {
  return app.request(method, path, body, { key, headers });
}

/** The renewal on 1 February cannot be paid. */
export async function lapse(world: World): Promise<void> {
  await breakCard(world.app, world);
  await world.caller.moveTo(instant('2026-02-01'));
}

export async function openInvoiceOf({ caller, subscriptionId }: World): Promise<string> {
  const { data } = await caller.get('/invoices?limit=100');
  const open = data.find((each: Body) => each.status === 'open' && each.subscriptionId === subscriptionId);
  return open.id;
}

/** Makes the world of a path as it is before anything happens on it. */
export async function newWorld(
  app: TestApp,
  { with: more = {}, settings, given }: Pick<Path, 'with' | 'settings' | 'given'>,
): Promise<World> {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await beginYears(app, organization, caller, january);
  if (settings !== undefined) await caller.put('/settings', { settings });
  const world = { ...organization, app, caller, ...(await subscribe(caller, more)) };
  await given?.(world);
  return world;
}

async function subscribe(caller: Caller, more: Body): Promise<Subscriber> {
  const { plan, ...terms } = { plan: 'month', token: 'pm_card_visa', ...more };
  if (plan !== 'free') return subscribeFor(caller, 'ada', { plan, ...terms });
  const { data } = await caller.post('/customers', {
    customer: { externalId: 'ada', email: 'a@acme.test', name: 'A' },
  });
  return { customerId: data.customer.id, subscriptionId: data.subscription.id, paymentMethodId: null };
}

/** What has been told in the world, oldest first. */
async function eventsIn({ caller }: World): Promise<Body[]> {
  const { data, hasMore } = await caller.get('/events?limit=100');
  assert.equal(hasMore, false);
  return data;
}

/**
 * Does it, and answers what it told. A request is sent as a dry run before, which tells nothing, and once more under its
 * key, which tells nothing more. One whose charge failed (402) would be tried again under its key, and is not repeated.
 */
export async function perform(world: World, auditContext: Asked | string): Promise<Body[]> {
  const before = await eventsIn(world);
  if (typeof auditContext === 'string') {
    await world.caller.moveTo(instant(auditContext));
    return (await eventsIn(world)).slice(before.length);
  }
  const [method, path, body, status = 200] = auditContext;
  const chargeFails = status === 402;
  const dry = await ask(world, [method, `${path}?dryRun=true`, body]);
  assert.equal(dry.status, chargeFails ? 200 : status, JSON.stringify(dry.body));
  assert.deepEqual(await eventsIn(world), before, 'a dry run tells nothing');
  const headers = { 'idempotency-key': 'once' };
  const answer = await ask(world, auditContext, headers);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  const after = await eventsIn(world);
  if (!chargeFails) {
    assert.equal((await ask(world, auditContext, headers)).status, status);
    assert.deepEqual(await eventsIn(world), after, 'a repeat tells nothing');
  }
  return after.slice(before.length);
}
