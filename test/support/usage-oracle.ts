/*
 * Usage, credits and holds in memory: the rules said once more, in the plainest way, to compare the service with. Nothing is
 * imported, amounts are small numbers, and a world is plain data, so that a copy of it can be tried and thrown away.
 */

export interface Price {
  readonly meter: string;
  readonly unitPrice: number;
  readonly unitsPerPrice: number;
}

/** Credits that come with a period, or once with the first. */
export interface Feature {
  readonly slug: string;
  readonly meter: string;
  readonly amount: number;
  readonly renews: boolean;
  readonly rollover: { readonly maximum: number; readonly periods: number } | null;
}

export interface Credit {
  readonly source: 'manual_adjustment' | 'billing_period_transition' | 'rollover';
  readonly feature: string | null;
  readonly transaction: string | null;
  readonly issued: number;
  readonly priority: number;
  readonly expiresAt: number | null;
  applied: number;
  expired: number;
  takenBack: number;
}

/** `credit` and `drawn` name credits by their place on the account. */
export interface Entry {
  readonly at: number;
  readonly type: string;
  readonly amount: number;
  readonly after: number;
  readonly price: string | null;
  readonly credit: number | null;
  readonly drawn: readonly { readonly credit: number; readonly amount: number }[];
}

export interface Hold {
  readonly price: string;
  readonly amount: number;
  readonly expiresAt: number;
  status: 'open' | 'settled' | 'released';
  settled: number | null;
}

/** What was on an account from an instant on, until the next such picture. */
interface Picture {
  readonly at: number;
  readonly available: number;
  readonly rests: readonly { readonly rest: number; readonly expiresAt: number | null }[];
  readonly held: readonly { readonly amount: number; readonly expiresAt: number }[];
}

export interface Account {
  readonly credits: Credit[];
  readonly entries: Entry[];
  readonly holds: Hold[];
  /** By price: units that no credit covered, and how many of them were put on invoices. */
  readonly overages: Record<string, { uncovered: number; invoiced: number }>;
  readonly pictures: Picture[];
}

export interface Invoice {
  readonly lines: readonly { readonly price: string; readonly units: number; readonly amount: number }[];
  readonly chargedAt: number;
  paid: boolean;
}

export interface Subscription {
  /** When money arrives: at once, an hour after the charge, or nothing is ever charged. */
  readonly pays: 'at once' | 'an hour later' | 'never';
  readonly features: readonly Feature[];
  readonly periodMs: number;
  start: number;
  end: number;
  /** By meter. */
  readonly accounts: Record<string, Account>;
  readonly invoices: Invoice[];
}

export interface StoredEvent {
  readonly subscription: string;
  readonly price: string;
  readonly transaction: string;
  readonly amount: number;
  readonly usageDate: number;
  /** Of a meter that counts distinct ones: equal texts are equal properties. */
  readonly properties: string;
  /** When the billing period began that it belongs to. */
  readonly period: number;
  readonly counted: boolean;
}

export type NewEvent = Omit<StoredEvent, 'period' | 'counted'>;

export interface World {
  now: number;
  readonly prices: Readonly<Record<string, Price>>;
  readonly distinctMeters: readonly string[];
  readonly subscriptions: Record<string, Subscription>;
  readonly events: StoredEvent[];
}

const hour = 3_600_000;

/** What a request comes to: done, or refused with this status. */
export type Refused = { readonly status: 400 | 402 | 409; readonly balance?: number };

export function isRefused(answer: object): answer is Refused {
  return 'status' in answer && typeof answer.status === 'number';
}

export function get<Value>(values: Readonly<Record<string, Value>>, key: string): Value {
  const value = values[key];
  if (value === undefined) throw new Error(`the oracle knows no ${key}`);
  return value;
}

export function accountOf(world: World, subscription: string, meter: string): Account {
  return get(get(world.subscriptions, subscription).accounts, meter);
}

export function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index];
  if (value === undefined) throw new Error(`the oracle knows no number ${index}`);
  return value;
}

// ---- what can be read

export function restOf({ issued, applied, expired, takenBack }: Credit): number {
  return issued - applied - expired - takenBack;
}

export function hasEnded({ expiresAt }: { readonly expiresAt: number | null }, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function pictureOf({ credits, entries, holds }: Account, now: number): Picture {
  return {
    at: now,
    available: entries.at(-1)?.after ?? 0,
    rests: credits.map((credit) => ({ rest: restOf(credit), expiresAt: credit.expiresAt })),
    held: holds.filter(({ status }) => status === 'open').map(({ amount, expiresAt }) => ({ amount, expiresAt })),
  };
}

/** What a picture that nothing has touched since shows at an instant: what ended by then is gone, by time alone. */
function balanceOn({ available, rests, held }: Picture, now: number): number {
  const ended = rests.filter((credit) => hasEnded(credit, now)).reduce((sum, { rest }) => sum + rest, 0);
  const isHeld = held.filter((hold) => !hasEnded(hold, now)).reduce((sum, { amount }) => sum + amount, 0);
  return available - ended - isHeld;
}

export function balanceOf(account: Account, now: number): number {
  return balanceOn(pictureOf(account, now), now);
}

/** What the balance was when it was asked for at a past instant, after all that was done at it. */
export function balanceAsOf(account: Account, then: number): number {
  const picture = account.pictures.findLast((each) => each.at <= then);
  return picture === undefined ? 0 : balanceOn(picture, then);
}

/** Called when something may have changed at `world.now`. */
export function takePictures(world: World): void {
  for (const { accounts } of Object.values(world.subscriptions)) {
    for (const account of Object.values(accounts)) account.pictures.push(pictureOf(account, world.now));
  }
}

// ---- what changes a balance

export function book(world: World, account: Account, entry: Pick<Entry, 'type' | 'amount'> & Partial<Entry>): void {
  const after = (account.entries.at(-1)?.after ?? 0) + entry.amount;
  account.entries.push({ at: world.now, price: null, credit: null, drawn: [], ...entry, after });
}

type NewCredit = Omit<Credit, 'applied' | 'expired' | 'takenBack'>;

export function give(world: World, account: Account, credit: NewCredit): void {
  account.credits.push({ ...credit, applied: 0, expired: 0, takenBack: 0 });
  book(world, account, { type: 'grant', amount: credit.issued, credit: account.credits.length - 1 });
}

/** Lowest priority number first, then what ends first, then what never ends, then the oldest. */
function inOrderOfUse(account: Account, now: number): { credit: Credit; place: number }[] {
  const end = (credit: Credit) => credit.expiresAt ?? Number.POSITIVE_INFINITY;
  return account.credits
    .map((credit, place) => ({ credit, place }))
    .filter(({ credit }) => !hasEnded(credit, now) && restOf(credit) > 0)
    .sort(
      (one, other) =>
        one.credit.priority - other.credit.priority ||
        (end(one.credit) === end(other.credit) ? one.place - other.place : end(one.credit) - end(other.credit)),
    );
}

export function use(world: World, account: Account, price: string, units: number): void {
  let uncovered = units;
  const drawn: { credit: number; amount: number }[] = [];
  for (const { credit, place } of inOrderOfUse(account, world.now)) {
    const amount = Math.min(restOf(credit), uncovered);
    if (amount === 0) break;
    credit.applied += amount;
    uncovered -= amount;
    drawn.push({ credit: place, amount });
  }
  const overage = account.overages[price] ?? { uncovered: 0, invoiced: 0 };
  account.overages[price] = { ...overage, uncovered: overage.uncovered + uncovered };
  book(world, account, { type: 'usage', amount: -units, price, drawn });
}

// ---- time

/** The credits that come with the period that begins, or has just begun. */
export function grantFeatures(world: World, subscription: Subscription, isFirst: boolean): void {
  for (const feature of subscription.features.filter(({ renews }) => renews || isFirst)) {
    give(world, get(subscription.accounts, feature.meter), {
      source: 'billing_period_transition',
      feature: feature.slug,
      transaction: null,
      issued: feature.amount,
      priority: 100,
      expiresAt: feature.renews ? subscription.end : null,
    });
  }
}

/** Ends the credits that end with the period, and carries over of each feature as much as it lets go over. */
function endCredits(world: World, { accounts, features, end, periodMs }: Subscription): void {
  for (const account of Object.values(accounts)) {
    const ending = account.credits
      .map((credit, place) => ({ credit, place, rest: restOf(credit) }))
      .filter(({ credit, rest }) => hasEnded(credit, end) && rest > 0);
    for (const { credit, place, rest } of ending) {
      credit.expired += rest;
      book(world, account, { type: 'expiry', amount: -rest, credit: place });
    }
    for (const { credit, rest } of ending) {
      const rollover = features.find(({ slug }) => slug === credit.feature)?.rollover ?? null;
      if (rollover === null || credit.source === 'rollover') continue;
      const over = account.credits.filter((each) => each.source === 'rollover' && each.feature === credit.feature);
      const usable = over.filter((each) => !hasEnded(each, end)).reduce((sum, each) => sum + restOf(each), 0);
      const issued = Math.min(rest, rollover.maximum - usable);
      if (issued <= 0) continue;
      const expiresAt = end + rollover.periods * periodMs;
      give(world, account, {
        source: 'rollover',
        feature: credit.feature,
        transaction: null,
        issued,
        priority: credit.priority,
        expiresAt,
      });
    }
  }
}

/** Whether the end of a credit is its own. That of a plan's credit comes with its period. */
function endsByItself({ source, feature }: Credit): boolean {
  return source === 'manual_adjustment' && feature === null;
}

/** Books the end of credits that have ended by themselves. */
export function bookEnds(world: World, account: Account): void {
  for (const [place, credit] of account.credits.entries()) {
    const rest = restOf(credit);
    if (!endsByItself(credit) || !hasEnded(credit, world.now) || rest === 0) continue;
    credit.expired += rest;
    book(world, account, { type: 'expiry', amount: -rest, credit: place });
  }
}

/** The ends that are still to come of credits that end by themselves. */
function endsToCome(accounts: Subscription['accounts']): number[] {
  const credits = Object.values(accounts).flatMap((account) => account.credits);
  return credits.flatMap((credit) => {
    const isToCome = credit.expiresAt !== null && endsByItself(credit) && restOf(credit) > 0;
    return isToCome ? [credit.expiresAt] : [];
  });
}

/** Puts the overage of the period on an invoice. Half a minor unit is rounded up. */
function bill(world: World, { accounts, invoices, pays }: Subscription): void {
  if (pays === 'never') return;
  const lines = Object.values(accounts).flatMap(({ overages }) =>
    Object.entries(overages).flatMap(([price, overage]) => {
      const units = overage.uncovered - overage.invoiced;
      overage.invoiced = overage.uncovered;
      const { unitPrice, unitsPerPrice } = get(world.prices, price);
      return units === 0 ? [] : [{ price, units, amount: Math.floor((units * unitPrice) / unitsPerPrice + 0.5) }];
    }),
  );
  invoices.push({ lines, chargedAt: world.now, paid: false });
}

function renew(world: World, subscription: Subscription): void {
  endCredits(world, subscription);
  bill(world, subscription);
  subscription.start = subscription.end;
  subscription.end += subscription.periodMs;
  grantFeatures(world, subscription, false);
}

/** Lives through the ends of periods of a subscription that nobody has lived through yet. Answers how many there were. */
export function catchUp(world: World, name: string): number {
  const subscription = get(world.subscriptions, name);
  let renewals = 0;
  for (; subscription.end <= world.now; renewals++) renew(world, subscription);
  return renewals;
}

function settle(world: World, { accounts }: Subscription, invoice: Invoice): void {
  invoice.paid = true;
  for (const [meter, account] of Object.entries(accounts)) {
    const lines = invoice.lines.filter(({ price }) => get(world.prices, price).meter === meter);
    const units = lines.reduce((sum, line) => sum + line.units, 0);
    if (units > 0) book(world, account, { type: 'settlement', amount: units });
  }
}

/** Takes the money of whoever pays at once, and with `late` also what has arrived by now of the others. */
export function collect(world: World, { late }: { readonly late: boolean }): void {
  for (const subscription of Object.values(world.subscriptions)) {
    for (const invoice of subscription.invoices.filter(({ paid }) => !paid)) {
      const arrives = invoice.chargedAt + (subscription.pays === 'at once' ? 0 : hour);
      if (subscription.pays === 'at once' || (late && arrives <= world.now)) settle(world, subscription, invoice);
    }
  }
}

/** Time goes on, and everything that comes due on the way is done when it does. */
export function pass(world: World, until: number): void {
  for (;;) {
    collect(world, { late: true });
    const due = Object.values(world.subscriptions).filter(({ end }) => end <= world.now);
    for (const subscription of due) renew(world, subscription);
    if (due.length > 0) continue;
    for (const { accounts } of Object.values(world.subscriptions))
      for (const account of Object.values(accounts)) bookEnds(world, account);
    takePictures(world);
    const next = Math.min(
      ...Object.values(world.subscriptions).flatMap(({ end, invoices, pays, accounts }) => [
        end,
        ...endsToCome(accounts),
        ...(pays === 'an hour later'
          ? invoices.filter(({ paid }) => !paid).map(({ chargedAt }) => chargedAt + hour)
          : []),
      ]),
    );
    if (next > until) break;
    world.now = next;
  }
  world.now = until;
}
