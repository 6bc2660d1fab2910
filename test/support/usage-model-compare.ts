import assert from 'node:assert/strict';
import type { Body } from './harness.ts';
import { idOf, type Known, meters, placeText } from './usage-model-run.ts';
import { type Account, accountOf, balanceAsOf, balanceOf, type Credit, hasEnded, restOf } from './usage-oracle.ts';

/** Asks the service for everything that there is to read, and compares it with the oracle. `back` says when to look back. */
export async function compare(known: Known, back: number): Promise<void> {
  const customers = customersOf(known);
  // Whoever compares credits learns their ids, which the ledger names.
  await Promise.all([
    compareCredits(known),
    compareHolds(known),
    ...customers.map((customer) => compareBalances(known, customer)),
  ]);
  await Promise.all([
    ...customers.flatMap((customer) => [compareLedger(known, customer), compareThen(known, customer, back)]),
    ...meters.map((meter) => compareUsageByCustomer(known, meter)),
    compareUsageByTime(known, back),
  ]);
}

function customersOf({ customers }: Known): string[] {
  return [...new Set(Object.values(customers))];
}

/** The accounts of a customer, and how they are called here and by the service. */
function accountsOf(known: Known, customer: string) {
  return Object.entries(known.customers)
    .filter(([, each]) => each === customer)
    .flatMap(([name]) =>
      meters.map((meter) => ({
        account: accountOf(known.oracle, name, meter),
        place: placeText(name, meter),
        subscriptionId: idOf(known, name),
        usageMeterId: idOf(known, meter),
      })),
    );
}

/** How the service says that an amount is 0 on an account that was never used. */
function byAccount(rows: readonly Body[], balanceOfRow: (row: Body) => [string, string, number]) {
  return Object.fromEntries(
    rows.map((row) => {
      const [subscriptionId, usageMeterId, balance] = balanceOfRow(row);
      return [`${subscriptionId} ${usageMeterId}`, balance];
    }),
  );
}

async function compareBalances(known: Known, customer: string): Promise<void> {
  const { usageMeterBalances } = await known.get(`/customers/${customer}/usage-balances`);
  const told = byAccount(usageMeterBalances, (row) => [row.subscriptionId, row.id, row.availableBalance]);
  const expected = accountsOf(known, customer).map(({ account, subscriptionId, usageMeterId }) => {
    return [`${subscriptionId} ${usageMeterId}`, balanceOf(account, known.oracle.now)];
  });
  assert.deepEqual(told, Object.fromEntries(expected), `balances of ${customer}`);
}

/** All of a list, page after page. */
async function list(known: Known, path: string): Promise<{ data: Body[]; total: number }> {
  let page = await known.get(`${path}?limit=100`);
  const data: Body[] = [...page.data];
  while (page.hasMore) {
    page = await known.get(`${path}?limit=100&cursor=${page.nextCursor}`);
    data.push(...page.data);
  }
  return { data, total: page.total };
}

/** Every account, with those of the rows that are of it. */
function rowsByAccount(known: Known, rows: readonly Body[]) {
  return customersOf(known)
    .flatMap((customer) => accountsOf(known, customer))
    .map((each) => ({
      ...each,
      rows: rows.filter((row) => row.subscriptionId === each.subscriptionId && row.usageMeterId === each.usageMeterId),
    }));
}

async function compareCredits(known: Known): Promise<void> {
  const { data } = await list(known, '/usage-credits');
  for (const { account, place, rows } of rowsByAccount(known, data)) {
    known.creditIds.set(
      place,
      rows.map(({ id }) => id),
    );
    const told = rows.map(({ source, featureId, priority, expiresAt, status, ...row }) => {
      const { issuedAmount, appliedAmount, expiredAmount, takenBackAmount, remainingAmount } = row;
      const amounts = [issuedAmount, appliedAmount, expiredAmount, takenBackAmount, remainingAmount];
      return { source, featureId, priority, expiresAt, status, amounts };
    });
    const expected = account.credits.map((credit) => shownCredit(known, credit));
    assert.deepEqual(told, expected, `credits of ${place}`);
  }
}

function shownCredit(known: Known, credit: Credit) {
  const { source, feature, priority, expiresAt, issued, applied, takenBack } = credit;
  const rest = restOf(credit);
  const ended = hasEnded(credit, known.oracle.now);
  const expired = credit.expired + (ended ? rest : 0);
  const remaining = ended ? 0 : rest;
  const gone = expired > 0 ? 'expired' : takenBack > 0 ? 'taken_back' : 'used';
  return {
    source,
    featureId: feature === null ? null : idOf(known, feature),
    priority,
    expiresAt,
    status: remaining > 0 ? 'active' : gone,
    amounts: [issued, applied, expired, takenBack, remaining],
  };
}

async function compareHolds(known: Known): Promise<void> {
  const { data } = await list(known, '/holds');
  for (const { account, place, rows } of rowsByAccount(known, data)) {
    const told = rows.map(({ id, amount, status, settledAmount, expiresAt }) => {
      return [id, amount, status, settledAmount, expiresAt];
    });
    const ids = known.holdIds.get(place) ?? [];
    const expected = account.holds.map((hold, index) => {
      const status = hold.status === 'open' && hasEnded(hold, known.oracle.now) ? 'expired' : hold.status;
      return [ids[index], hold.amount, status, hold.settled, hold.expiresAt];
    });
    assert.deepEqual(told, expected, `holds of ${place}`);
  }
}

async function compareLedger(known: Known, customer: string): Promise<void> {
  const { data: entries, total } = await list(known, `/customers/${customer}/ledger`);
  assert.equal(total, entries.length);
  const instants = entries.map(({ createdAt }) => createdAt);
  assert.deepEqual(
    instants,
    instants.toSorted((one, other) => one - other),
    'entries are in the order of their booking',
  );
  for (const { account, place, subscriptionId, usageMeterId } of accountsOf(known, customer)) {
    const told = entries
      .filter((entry) => entry.subscriptionId === subscriptionId && entry.usageMeterId === usageMeterId)
      .map(({ createdAt: at, type, amount, availableAfter, priceId, usageCreditId, usageCreditApplications }) => {
        const drawn = usageCreditApplications.map((each: Body) => [each.usageCreditId, each.amount]);
        return { at, type, amount, after: availableAfter, price: priceId, credit: usageCreditId, drawn };
      });
    const expected = shownEntries(known, account, known.creditIds.get(place) ?? []);
    assert.deepEqual(joinSettlements(told), joinSettlements(expected), `entries of ${place}`);
  }
}

type ShownEntry = ReturnType<typeof shownEntries>[number];

/** Joins the settlements of one instant: the payments of several invoices may be recorded in any order. */
function joinSettlements(entries: readonly ShownEntry[]) {
  const joined: (Omit<ShownEntry, 'amount'> & { amounts: number[] })[] = [];
  for (const { amount, ...entry } of entries) {
    const last = joined.at(-1);
    if (entry.type !== 'settlement' || last?.type !== 'settlement' || last.at !== entry.at)
      joined.push({ ...entry, amounts: [amount] });
    else joined[joined.length - 1] = { ...entry, amounts: [...last.amounts, amount].toSorted((one, two) => one - two) };
  }
  return joined;
}

function shownEntries(known: Known, { entries }: Account, creditIds: readonly string[]) {
  return entries.map(({ at, type, amount, after, price, credit, drawn }) => {
    const named = credit === null ? null : creditIds[credit];
    const applications = drawn.map((each) => [creditIds[each.credit], each.amount]);
    const priceId = price === null ? null : idOf(known, price);
    return { at, type, amount, after, price: priceId, credit: named, drawn: applications };
  });
}

/** Looks back at an instant at which something happened or ended by itself, or one right before. */
async function compareThen(known: Known, customer: string, back: number): Promise<void> {
  const accounts = accountsOf(known, customer);
  const ends = accounts.flatMap(({ account }) =>
    [...account.credits, ...account.holds].flatMap(({ expiresAt }) => expiresAt ?? []),
  );
  const happened = accounts.flatMap(({ account }) => account.pictures.map((picture) => picture.at));
  const instants = [...new Set([...ends, ...happened].flatMap((at) => [at - 1, at]))]
    .filter((at) => at <= known.oracle.now)
    .sort((one, other) => one - other);
  const then = instants[back % instants.length];
  assert(then !== undefined);
  const { balances, total } = await known.get(`/customers/${customer}/ledger?limit=1&asOf=${then}`);
  const told = byAccount(balances, (row) => [row.subscriptionId, row.usageMeterId, row.availableBalance]);
  const expected = accounts.map(({ account, subscriptionId, usageMeterId }) => {
    return [`${subscriptionId} ${usageMeterId}`, balanceAsOf(account, then)];
  });
  assert.deepEqual(told, Object.fromEntries(expected), `balances of ${customer} as of ${new Date(then).toISOString()}`);
  const until = accounts.flatMap(({ account }) => account.entries).filter(({ at }) => at <= then);
  assert.equal(total, until.length, `entries of ${customer} as of ${new Date(then).toISOString()}`);
}

function sumOf(events: Known['oracle']['events']) {
  const units = events.filter(({ counted }) => counted).reduce((sum, { amount }) => sum + amount, 0);
  return { units, events: events.length };
}

async function compareUsageByCustomer(known: Known, meter: string): Promise<void> {
  const { oracle, customers } = known;
  const from = oracle.now - 90 * 86_400_000;
  const path = `/usage-meters/${idOf(known, meter)}/summary?groupBy=customer&from=${from}&to=${oracle.now + 1}`;
  const { usageMeterSummary } = await known.get(path);
  const events = oracle.events.filter(({ price }) => oracle.prices[price]?.meter === meter);
  const { units, events: count, groups } = usageMeterSummary;
  assert.deepEqual({ units, events: count }, sumOf(events), `usage of ${meter}`);
  const told = groups.map((group: Body) => [group.externalId, { units: group.units, events: group.events }]);
  const expected = Object.entries(Object.groupBy(events, ({ subscription }) => customers[subscription] ?? ''));
  assert.deepEqual(
    Object.fromEntries(told),
    Object.fromEntries(expected.map(([customer, own = []]) => [customer, sumOf(own)])),
    `usage of ${meter} by customer`,
  );
}

/** Of one subscription and meter, hour by hour, between two instants that are no whole hours. */
async function compareUsageByTime(known: Known, back: number): Promise<void> {
  const { oracle } = known;
  const names = Object.keys(oracle.subscriptions);
  const name = names[back % names.length] ?? '';
  const meter = meters[back % meters.length] ?? 'calls';
  const to = oracle.now - (back % 97) * 60_000 + 1;
  const from = to - (1 + (back % 700)) * 1_000_000;
  const query = `groupBy=hour&from=${from}&to=${to}&subscriptionId=${idOf(known, name)}`;
  const { usageMeterSummary } = await known.get(`/usage-meters/${idOf(known, meter)}/summary?${query}`);
  const events = oracle.events.filter(
    ({ subscription, price }) => subscription === name && oracle.prices[price]?.meter === meter,
  );
  let end = from;
  for (const group of usageMeterSummary.groups) {
    assert.equal(group.start, end, 'hours tile the time');
    end = group.end;
    const own = events.filter(({ usageDate }) => usageDate >= group.start && usageDate < group.end);
    assert.deepEqual(
      { units: group.units, events: group.events },
      sumOf(own),
      `usage of ${name}, ${meter}, in an hour`,
    );
  }
  assert.equal(end, to);
}

/** What was billed for usage: units and amounts by price, of each renewal. */
export async function compareInvoices(known: Known): Promise<void> {
  for (const customer of customersOf(known)) {
    const { invoices } = await known.get(`/customers/${customer}/billing`);
    for (const [name, subscription] of Object.entries(known.oracle.subscriptions)) {
      if (known.customers[name] !== customer) continue;
      const told = invoices
        .filter(({ invoice }: Body) => invoice.subscriptionId === idOf(known, name))
        .toSorted((one: Body, other: Body) => (one.invoice.id < other.invoice.id ? -1 : 1))
        .slice(1)
        .map(({ invoice, invoiceLineItems }: Body) => ({
          paid: invoice.status === 'paid',
          lines: invoiceLineItems
            .filter((line: Body) => line.type === 'usage')
            .map((line: Body) => [line.priceId, line.ledgerAccountCredit, line.amount])
            .sort(),
        }));
      const expected = subscription.invoices.map(({ paid, lines }) => ({
        paid,
        lines: lines.map(({ price, units, amount }) => [idOf(known, price), units, amount]).sort(),
      }));
      assert.deepEqual(told, expected, `invoices of ${name}`);
    }
  }
}
