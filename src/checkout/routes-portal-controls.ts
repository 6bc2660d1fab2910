import { lockCustomer } from '../customers/store.ts';
import type { Page, PageAnswer } from '../http/page.ts';
import { invalid } from '../kernel/problem.ts';
import { subjectIdOf } from '../pricing/feature.ts';
import { getAutoTopUp, putAutoTopUp } from '../purchases/actions-auto-top-ups.ts';
import { putSpendControls } from '../spend-controls/actions.ts';
import { limitKey, maxSpendLimits, type SpendLimitInput } from '../spend-controls/spend-limit.ts';
import { listSubjects, readControls } from './actions-portal-credits.ts';
import { listTopUps, type Visitor, viewPortal } from './actions-portal-view.ts';
import { inVisit, portalPage, refusalText, type Visit } from './jobs-visit.ts';
import type { FieldErrors } from './page-form.ts';
import { type EnteredTopUp, enteredTopUp, knownTopUp, readTopUp, topUpPage } from './portal-credits.ts';
import { type EnteredLimit, enteredLimit, knownLimit, limitsPage, readLimit } from './portal-limits.ts';
import type { PortalControls } from './portal-view.ts';

const limitsPath = '/portal/limits';
const topUpPath = '/portal/automatic-top-up';

async function controlsOf(at: Visitor): Promise<PortalControls> {
  const { work, customer } = at;
  const [topUps, subjects] = [await listTopUps(at), await listSubjects(work, customer)];
  return readControls(work, customer, { topUps, subjects });
}

interface Refused<Entered> {
  readonly entered: Entered;
  readonly errors?: FieldErrors;
  readonly message?: string;
}

function showLimits(visit: Visit, refused?: Refused<EnteredLimit>): Promise<PageAnswer> {
  return inVisit(visit, async (at) => {
    const frame = await viewPortal(at);
    const controls = await controlsOf(at);
    const changed = controls.limits.find(({ id, setBy }) => id === visit.request.query.change && setBy === 'customer');
    const known = changed === undefined ? {} : { entered: knownLimit(changed, controls, frame.currency) };
    return {
      show: limitsPage(frame, visit, { controls, ...(refused ?? known) }),
      status: refused === undefined ? 200 : 422,
    };
  });
}

const askLimits = portalPage('GET', limitsPath, (visit) => showLimits(visit));

/** The limits that the customer has set, as a request that keeps them. */
function ownLimits(limits: PortalControls['limits']): SpendLimitInput[] {
  return limits.flatMap((limit) => {
    if (limit.setBy !== 'customer') return [];
    const { usageMeterSlug, creditPoolSlug, label, period, amount, unit, action, thresholds } = limit;
    return { usageMeterSlug, creditPoolSlug, label, period, amount, unit, action, thresholds: [...thresholds] };
  });
}

/** Sets a limit in place of that of the same use. A form that is sent twice finds it set. */
const saveLimit = portalPage('POST', limitsPath, async (visit) => {
  const entered = enteredLimit(visit.request.form);
  try {
    const errors = await inVisit(visit, async (at) => {
      const { work, customer } = at;
      await lockCustomer(work, customer.id);
      const { wording, seller, currency } = await viewPortal(at);
      const controls = await controlsOf(at);
      const read = readLimit(entered, controls, { wording, seller, currency });
      if ('errors' in read) return read.errors;
      const isOther = (limit: PortalControls['limits'][number]) =>
        limitKey({ ...limit, usageMeterId: subjectIdOf(limit) }) !== read.key;
      const others = ownLimits(controls.limits.filter(isOther));
      if (others.length >= maxSpendLimits) throw invalid(['ownLimits'], `must be at most ${maxSpendLimits}`);
      await putSpendControls(work, customer, { ownLimits: [...others, read.limit] });
      return null;
    });
    return errors === null ? { goTo: '/portal?done=limit' } : await showLimits(visit, { entered, errors });
  } catch (error) {
    const { wording } = await inVisit(visit, viewPortal);
    return showLimits(visit, { entered, message: refusalText(error, wording) });
  }
});

/** A form that is sent twice finds the limit removed. */
const removeLimit = portalPage('POST', `${limitsPath}/:id/remove`, async (visit) => {
  await inVisit(visit, async (at) => {
    const { work, customer } = at;
    await lockCustomer(work, customer.id);
    const controls = await controlsOf(at);
    const limits = controls.limits.filter(({ id }) => id !== visit.request.params.id);
    await putSpendControls(work, customer, { ownLimits: ownLimits(limits) });
  });
  return { goTo: '/portal?done=limitRemoved' };
});

function showTopUp(visit: Visit, refused?: Refused<EnteredTopUp>): Promise<PageAnswer> {
  return inVisit(visit, async (at) => {
    const frame = await viewPortal(at);
    const controls = await controlsOf(at);
    if (controls.automatic.length === 0) return { goTo: '/portal' };
    const { paymentMethods } = frame;
    const entered = knownTopUp(controls, frame.currency);
    return {
      show: topUpPage(frame, visit, { controls, paymentMethods, entered, ...refused }),
      status: refused === undefined ? 200 : 422,
    };
  });
}

const askTopUp = portalPage('GET', topUpPath, (visit) => showTopUp(visit));

/** Turns the top-up on, or changes it. Nothing is charged here: a job of the commit looks at the balance. */
const saveTopUp = portalPage('POST', topUpPath, async (visit) => {
  const entered = enteredTopUp(visit.request.form);
  const errors = await inVisit(visit, async (at) => {
    const { work, customer } = at;
    await lockCustomer(work, customer.id);
    const { wording, currency, paymentMethods } = await viewPortal(at);
    const read = readTopUp(entered, await controlsOf(at), { wording, currency });
    if ('errors' in read) return read.errors;
    if (paymentMethods.length === 0) return {};
    await putAutoTopUp(work, customer, read.topUp);
    return null;
  });
  return errors === null ? { goTo: '/portal?done=topUp' } : showTopUp(visit, { entered, errors });
});

/** Starts a top-up again that has stopped, with its own terms. */
const restartTopUp = portalPage('POST', `${topUpPath}/on`, async (visit) => {
  await inVisit(visit, async ({ work, customer }) => {
    await lockCustomer(work, customer.id);
    const stopped = await getAutoTopUp(work, customer);
    if (stopped === null || stopped.stoppedAt === null || stopped.priceSlug === null) return;
    const { priceSlug, below, upTo, quantity, maximumAmountPerMonth } = stopped;
    await putAutoTopUp(work, customer, { priceSlug, below, upTo, quantity, maximumAmountPerMonth });
  });
  return { goTo: '/portal?done=topUp' };
});

const endTopUp = portalPage('POST', `${topUpPath}/off`, async (visit) => {
  await inVisit(visit, ({ work, customer }) => putAutoTopUp(work, customer, null));
  return { goTo: '/portal?done=topUpOff' };
});

/** The pages in which a customer limits its own spending, and lets credits be bought of themselves. */
export const portalControlPages: readonly Page[] = [
  askLimits,
  saveLimit,
  removeLimit,
  askTopUp,
  saveTopUp,
  restartTopUp,
  endTopUp,
];
