import { addOn, discounts, type Plan, pack, paidPlans, takesAddOns } from './catalogue.ts';
import { attach, isChargedAtOnce, subscribe } from './oracle-actions.ts';
import { type Attempt, type AttemptKind, endAttempt, isLimited, isLinkUsedUp, takeAttempt } from './oracle-attempts.ts';
import { methodOf } from './oracle-billing.ts';
import { changeNow } from './oracle-changes.ts';
import { sellPacks } from './oracle-purchases.ts';
import {
  type Books,
  type Customer,
  hasUsed,
  holderOf,
  isInTheWay,
  isTerminal,
  reach,
  type Subscription,
} from './oracle-records.ts';
import type { Random } from './random.ts';
import { currentSubscriptions, type Draw, type Form, nameOf, type Step } from './step.ts';
import { isChangeable, isMadeNow } from './steps-changes.ts';

/** Forms of a checkout page, filled in by a dishonest buyer. */

const mostForms = 7;
const returns = { successUrl: 'https://sim.test/paid', cancelUrl: 'https://sim.test' };
const refusedToken = 'pm_card_chargeDeclined';
const goodToken = 'pm_card_visa';
// Nothing costs more, so a page never asks for another look.
const shownDue = '9999999999';

/** A form, and the status with which it should be answered. */
interface Sent {
  readonly form: Form;
  readonly status: number;
}

const statuses = {
  shown: 200,
  goesOn: 303,
  refused: 400,
  declined: 402,
  notOffered: 409,
  wrong: 422,
  limited: 429,
} as const;

/** A step that opens a checkout by the API, and then sends forms to its page. */
function checkout(
  { text, customer }: Pick<Step, 'text'> & { readonly customer: Customer },
  session: object,
  decide: () => readonly Sent[],
): Step {
  let sent: readonly Sent[] = [];
  return {
    text,
    customer,
    ask: async () => {
      const checkoutSession = { type: 'product', customerExternalId: customer.name, ...returns, ...session };
      return { method: 'POST', path: '/checkout-sessions', body: { checkoutSession } };
    },
    apply: () => {
      sent = decide();
      return 'done';
    },
    visit: async ({ url }, pages, records) => {
      const { pathname, search } = new URL(url);
      const answered: string[] = [];
      for (const { form } of sent) {
        const filled =
          form.paymentMethodId === '' ? { ...form, paymentMethodId: await records.method(customer) } : form;
        answered.push(String(await pages.submit(pathname + search, filled)));
      }
      return { is: answered.join(), should: sent.map(({ status }) => status).join() };
    },
  };
}

/** Sends one form that tries something: answers how it ends, or the refusal by a limit or a closed link. */
function tryForm(books: Books, attempt: Attempt, act: () => 'paid' | 'passed' | 'failed', failed: number): number {
  if (
    isLinkUsedUp(books, { ...attempt, kind: 'payment' }) ||
    isLinkUsedUp(books, { ...attempt, kind: 'discount_code' })
  )
    return statuses.goesOn;
  if (!takeAttempt(books, attempt)) return statuses.limited;
  const outcome = act();
  endAttempt(books, attempt, outcome);
  return outcome === 'failed' ? failed : statuses.goesOn;
}

function attemptOf(kind: AttemptKind, customer: Customer, link: string): Attempt {
  return { kind, link, customer };
}

/** Guesses discount codes on the page of a pack. */
export const guessCodes: Draw = ({ random, books, customers, newName }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const codes = Array.from({ length: random.between(2, mostForms) }, () => newName('guess'));
  const attempt = attemptOf('discount_code', customer, newName('link'));
  return checkout({ text: `${customer.name} guesses ${codes.length} codes`, customer }, { priceSlug: pack.slug }, () =>
    codes.map((discountCode) => {
      const status = tryForm(books, attempt, () => 'failed', statuses.wrong);
      return { form: { ...placeOf(customer), step: 'review', discountCode }, status };
    }),
  );
};

/** Tries cards that their bank refuses on the page of a pack, and then perhaps a good one. */
export const testCards: Draw = ({ random, books, customers, newName }) => {
  // The address of a buyer without one would change with the order.
  const buyers = customers.filter((each) => each.place !== null && holderOf(each) !== undefined);
  const customer = random.pick(buyers);
  if (customer === undefined) return null;
  const cards = random.between(1, mostForms);
  const isPaid = !customer.isBroke && random.chance(0.5);
  const attempt = attemptOf('payment', customer, newName('link'));
  const text = `${customer.name} tries ${cards} stolen cards${isPaid ? ' and a good one' : ''} for a pack`;
  const form = { ...placeOf(customer), step: 'pay', shownDue };
  return checkout({ text, customer }, { priceSlug: pack.slug }, () => {
    const sent: Sent[] = Array.from({ length: cards }, () => ({
      form: { ...form, token: refusedToken },
      status: tryForm(books, attempt, () => 'failed', statuses.declined),
    }));
    if (!isPaid) return sent;
    const method = { token: goodToken, isGood: true, takesDays: false };
    const status = tryForm(
      books,
      attempt,
      () => {
        reach(books, 'pack paid after declined cards', customer);
        sellPacks(books, customer, { quantity: 1, method: attach(customer, method, false) });
        return 'paid';
      },
      statuses.declined,
    );
    return [...sent, { form: { ...form, token: goodToken }, status }];
  });
};

/** The quantities of a session: fixed, or with limits of its own or of its product. */
interface Offer {
  readonly body: object;
  readonly quantity: number;
  readonly least: number;
  readonly most: number | null;
}

/** The add-on of a session: sold by the seller, offered to the buyer, or absent. */
interface AddOnOffer {
  readonly body: (plan: object) => object;
  /** The quantity without a choice of the buyer, and the most that it may choose, also in a trial. */
  readonly quantity: number;
  readonly most: number;
  readonly mostInTrial: number;
  /** The quantity that the buyer asks for; null: nothing is offered. */
  readonly asked: number | null;
}

function drawAddOnOffer(random: Random, plan: Plan): AddOnOffer {
  const kind = takesAddOns(plan) ? random.weighted({ none: 3, sold: 1, offered: 3 }) : 'none';
  const quantity = random.between(1, 2);
  const most = random.between(2, 3);
  const sold = { priceSlug: addOn.slug, quantity };
  if (kind === 'none') return { body: (terms) => terms, quantity: 0, most: 0, mostInTrial: 0, asked: null };
  if (kind === 'sold')
    return {
      body: (terms) => ({ items: [terms, sold] }),
      quantity,
      most: quantity,
      mostInTrial: quantity,
      asked: null,
    };
  const offered = { ...sold, minimumQuantity: 1, maximumQuantity: most };
  const body = (terms: object) => ({ ...terms, optionalItems: [offered] });
  return { body, quantity: 0, most, mostInTrial: quantity, asked: random.pick([0, 1, 2, 3, 4, 900_000_000]) ?? 0 };
}

/** Buys a plan on its page with a quantity of the buyer's own, within what the seller allows or not. */
export const chooseQuantity: Draw = ({ random, books, customers, newName, wish }) => {
  const buyers = customers.filter((each) => each.place !== null && !each.isBroke && each.defaultMethod?.isGood);
  const customer = random.pick(buyers.filter(({ defaultMethod }) => !defaultMethod?.takesDays));
  const plan = random.pick(paidPlans.filter((each) => !each.billsAtEnd && (wish.plan?.(each, null) ?? true)));
  if (customer === undefined || plan === undefined) return null;
  if (customer.subscriptions.some((each) => isInTheWay(each) && !each.isFree)) return null;
  const gift = random.chance(0.3)
    ? (discounts.find(({ amount, type }) => type === 'percent' && amount === 100) ?? null)
    : null;
  const discount = gift === null || hasUsed(customer, gift) ? null : gift;
  const session = random.between(1, 2);
  const offer = random.pick(offersOf(plan, session)) ?? { body: {}, quantity: 1, least: 1, most: null };
  const asked = random.pick([1, session, 3, 4, 5, 6, 900_000_000]) ?? 1;
  const attempt = attemptOf('payment', customer, newName('link'));
  const extra = drawAddOnOffer(random, plan);
  const items = extra.body({ priceSlug: plan.slug, ...offer.body });
  const body = { ...items, ...(discount === null ? {} : { discountCode: discount.code }) };
  const withExtra = extra.asked === null ? '' : ` and ${extra.asked} of ${addOn.slug}`;
  const text = `${customer.name} asks for ${asked} of ${plan.slug}${withExtra} on a page of ${JSON.stringify(body)}`;
  return checkout({ text, customer }, body, () => {
    const isTrial = plan.trialDays > 0 && customer.subscriptions.every(({ trialEnd }) => trialEnd === null);
    const most = isTrial && offer.most !== null ? offer.quantity : offer.most;
    // A page that offers one quantity has no field for it, and ignores that of a form made by hand.
    const quantity = most === null || most === offer.least ? offer.quantity : asked;
    const addOns = extra.asked ?? extra.quantity;
    const wished = { plan, quantity, addOns, discount };
    const isRefused = quantity > (most ?? quantity) || addOns > (isTrial ? extra.mostInTrial : extra.most);
    const chosen: Form = extra.asked === null ? {} : { addOn0: String(extra.asked) };
    const form = {
      ...placeOf(customer),
      ...chosen,
      step: 'pay',
      shownDue,
      quantity: String(asked),
      paymentMethodId: '',
    };
    if (addOns > 0) reach(books, `add-on of a page ${isRefused ? 'refused' : 'bought'}`, customer);
    if (asked !== quantity) reach(books, 'quantity of a page that is fixed', customer);
    if (isRefused)
      reach(
        books,
        `quantity refused${isTrial ? ' in a trial' : ''}${discount === null ? '' : ' with a gift'}`,
        customer,
      );
    if (isRefused) return [{ form, status: isLimited(books, attempt) ? statuses.limited : statuses.wrong }];
    const act = () => {
      const isCharged = isChargedAtOnce(customer, wished);
      const made = subscribe(books, customer, {
        ...wished,
        offered: offer.quantity,
        ownMethod: customer.defaultMethod,
      });
      return isTerminal(made) ? 'failed' : isCharged ? 'paid' : 'passed';
    };
    return [{ form, status: tryForm(books, attempt, act, statuses.declined) }];
  });
};

function offersOf({ quantities }: Plan, quantity: number): Offer[] {
  const fixed = { body: { quantity }, quantity, least: quantity, most: null };
  const own = { body: { quantity, minimumQuantity: 1, maximumQuantity: 5 }, quantity, least: 1, most: 5 };
  const least = quantities?.least ?? 1;
  const none = { body: {}, quantity: least, least, most: quantities?.most ?? null };
  return [fixed, own, none];
}

function placeOf({ place }: Customer): Form {
  return place === null ? { country: 'NZ' } : { country: place.country, state: place.state ?? '' };
}

/** The link of a customer's portal that is not closed. */
function portalOf(books: Books, customer: Customer): Attempt {
  let version = 0;
  const link = () => attemptOf('payment', customer, `portal of ${customer.name}, ${version}`);
  while (isLinkUsedUp(books, link())) version += 1;
  return link();
}

/** Asks for another quantity of its plan by a form of the portal, within what the seller allows or not. */
export const changeInPortal: Draw = ({ random, books, customers }) => {
  const changeable = currentSubscriptions({ customers }).filter(
    (each) => isChangeable(each) && each.scheduled === null,
  );
  const charged = changeable.filter((each) => methodOf(each)?.takesDays === false);
  const limited = charged.filter(({ plan }) => plan.quantities !== undefined);
  const subscription = random.pick(limited.length > 0 && random.chance(0.8) ? limited : charged);
  if (subscription === undefined) return null;
  const { customer, plan, quantity: present, status: before } = subscription;
  const { least, most: allowed } = plan.quantities ?? { least: present, most: present };
  // A trial has not been paid, so it grants no more than it has.
  const most = before === 'trialing' ? Math.max(least, Math.min(allowed, present)) : allowed;
  const quantity = random.pick([1, 2, 3, 4, 5, 900_000_000]) ?? 1;
  let status: number = statuses.shown;
  return {
    text: `asks in the portal for ${quantity} instead of ${present} of ${nameOf(subscription)}`,
    customer,
    ask: async () => ({ method: 'POST', path: `/customers/${customer.name}/portal-sessions`, body: {} }),
    apply: () => {
      const attempt = portalOf(books, customer);
      const isRefused = quantity < least || quantity > most;
      const refused = least === most ? statuses.notOffered : statuses.refused;
      if (isRefused)
        reach(books, `quantity of the portal refused${before === 'trialing' ? ' in a trial' : ''}`, customer);
      const lacksSeats = plan.seats * quantity < subscription.claims.size && quantity !== present;
      if (isRefused || lacksSeats) {
        const isTaken = takeAttempt(books, attempt);
        if (isTaken) endAttempt(books, attempt, 'untried');
        status = isTaken ? (isRefused ? refused : statuses.notOffered) : statuses.limited;
      } else status = tryForm(books, attempt, () => askFor(books, subscription, quantity), statuses.declined);
      return 'done';
    },
    visit: async ({ portalSession }, pages, records) => {
      const { cookie, formToken } = await pages.enterPortal(portalSession.url);
      const form = { formToken, priceId: await records.price(plan.slug), quantity: String(quantity), shownDue };
      const path = `/portal/subscriptions/${await records.subscription(subscription)}/change`;
      return { is: String(await pages.submit(path, form, cookie)), should: String(status) };
    },
  };
};

function askFor(books: Books, subscription: Subscription, quantity: number): 'passed' | 'failed' {
  const { plan, customer, addOns } = subscription;
  const terms = { plan, quantity, addOns };
  if (quantity === subscription.quantity) return 'passed';
  reach(books, 'quantity of the portal allowed', customer);
  if (isMadeNow(subscription, terms, 'auto')) {
    const how = { prorates: true, collectsRefunded: false };
    return changeNow(books, subscription, terms, how) === 'not_paid' ? 'failed' : 'passed';
  }
  subscription.scheduled = terms;
  return 'passed';
}
