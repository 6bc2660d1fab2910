import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import type { CardConfirmation } from '../payments/processor.ts';
import type { Wording } from '../wording/wording.ts';
import type { CardTaker, PageProcessor, PaymentToConfirm } from './checkout-view.ts';
import type { FormState } from './page-form.ts';
import { debitOf, testMethodHtml } from './page-test-method.ts';

/** The path of the script that shows Stripe's card form. */
export const stripeScriptPath = '/checkout-assets/stripe.js';

/** Whether a card can be entered at all. */
export function takesCards({ name, publishableKey }: Pick<PageProcessor, 'name' | 'publishableKey'>): boolean {
  return name === 'test' || (name.startsWith('stripe') && publishableKey !== null);
}

interface CardOptions {
  readonly toConfirm?: CardConfirmation | null;
  /** The attributes of the button that pays. */
  readonly submit?: Html | null;
}

/** The form of the payment method: own fields for the test network, Stripe's form for Stripe. */
export function cardHtml(
  taker: CardTaker,
  state: FormState,
  { toConfirm = null, submit = null }: CardOptions = {},
): Html {
  if (!takesCards(taker)) return html`<p class="notice bad">${state.wording.words.card.notTaken}</p>`;
  return taker.name === 'test' ? testMethodHtml(taker, state, submit) : stripeCardHtml(taker, state, toConfirm);
}

/** The value of the choice that is not a saved payment method. */
export const otherCard = 'new';

/** The submit button of a card form. Stripe's is disabled until its script has loaded, unless the card is a choice. */
export function cardButtonHtml(
  taker: CardTaker,
  rest: Html | null,
  text: string,
  { isHeld = true }: { readonly isHeld?: boolean } = {},
): Html {
  const isOfScript = taker.name !== 'test' && takesCards(taker);
  return html`<button class="wide-button"${rest}${isOfScript && html` data-card`}${isOfScript && isHeld && html` disabled`}>${text}</button>`;
}

/** The place of Stripe's form, with the messages of the script. */
function stripePlace(id: string, { language, words }: Wording, rest: Html): Html {
  const { scriptFailed, scriptBlocked, needsScript } = words.card;
  return html`<div id="${id}" data-language="${language}" data-failed="${scriptFailed}" data-blocked="${scriptBlocked}"${rest}></div>
<noscript><p class="notice bad">${needsScript}</p></noscript>`;
}

function stripeCardHtml(taker: CardTaker, { errors, wording }: FormState, toConfirm: CardConfirmation | null): Html {
  const { publishableKey, currency } = taker;
  const debit = debitOf(taker);
  const kinds = debit === null ? 'card' : `card ${debit}`;
  const legend = debit === null ? wording.words.card.card : wording.words.checkout.paymentMethod;
  const confirm =
    toConfirm !== null &&
    html` data-client-secret="${toConfirm.clientSecret}" data-confirmed-token="${toConfirm.token}"`;
  const rest = html` data-key="${publishableKey}" data-currency="${currency.toLowerCase()}" data-kinds="${kinds}"${confirm}`;
  return html`<fieldset>
<legend>${legend}</legend>
${stripePlace('stripe-card', wording, rest)}
<input type="hidden" name="token" id="token">
<input type="hidden" name="tokenKind" id="token-kind">
<p class="error" id="stripe-error" role="alert">${errors.token ?? errors.cardNumber}</p>
</fieldset>
`;
}

interface ConfirmForm {
  readonly action: string;
  readonly hidden: Html;
  readonly wording: Wording;
}

/** The answers to the bank of the test network, in the field `bankAnswer`. */
export const bankAnswers = { confirm: 'confirm', refuse: 'refuse' } as const;

/** The form that confirms a charge with the customer's bank. `hidden` is submitted afterwards, whatever the outcome. */
export function confirmPaymentHtml(
  { name, publishableKey }: PageProcessor,
  { clientSecret }: PaymentToConfirm,
  { action, hidden, wording }: ConfirmForm,
): Html {
  const { testBank, confirm, refuse } = wording.words.card;
  const answer = (value: string, label: string, kind: string) =>
    html`<button class="${kind}" name="bankAnswer" value="${value}">${label}</button>\n`;
  if (name === 'test')
    return html`<form method="post" action="${action}">
${hidden}
<p class="hint">${testBank}</p>
<div class="actions">${answer(bankAnswers.confirm, confirm, 'wide-button')}${answer(bankAnswers.refuse, refuse, 'plain wide-button')}</div>
</form>
`;
  const rest = html` data-key="${publishableKey}" data-client-secret="${clientSecret}"`;
  return html`<form method="post" action="${action}">
${hidden}
${stripePlace('stripe-payment', wording, rest)}
<p class="error" id="stripe-error" role="alert"></p>
<div class="actions"><button class="wide-button" data-card disabled>${wording.words.card.confirm}</button></div>
</form>
`;
}

/** The scripts of a page with the card form: none, unless Stripe takes the card. */
export function cardScripts(
  taker: Pick<PageProcessor, 'name' | 'publishableKey'>,
): Pick<PageDocument, 'scripts' | 'sources'> {
  if (taker.name === 'test' || !takesCards(taker)) return {};
  return {
    scripts: ['https://js.stripe.com/v3/', stripeScriptPath],
    sources: {
      // Stripe's script loads parts of itself, and wallets, from there.
      'script-src': "https://js.stripe.com 'self' https://*.js.stripe.com",
      'frame-src': 'https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com',
      'connect-src': 'https://api.stripe.com',
      'img-src': 'https://*.stripe.com',
    },
  };
}

/**
 * The script for Stripe's own one. It shows the card form, submits our form with the card's token, and runs a
 * confirmation by the bank if required. Until it runs, the buttons that need it are disabled.
 */
export const stripeScript = `'use strict';
(() => {
  const card = document.getElementById('stripe-card');
  const place = card || document.getElementById('stripe-payment');
  const problem = document.getElementById('stripe-error');
  const form = place.closest('form');
  const buttons = form.querySelectorAll('button[data-card]');
  const hold = (held) => { for (const button of buttons) button.disabled = held; };
  const fail = (error) => {
    problem.textContent = error.message || place.dataset.failed;
    hold(false);
  };
  if (typeof Stripe === 'undefined') {
    problem.textContent = place.dataset.blocked;
    return;
  }
  const stripe = Stripe(place.dataset.key, { locale: place.dataset.language });
  // What is under way is not begun again by a second click.
  let busy = false;
  const attempt = async (act) => {
    if (busy) return;
    busy = true;
    hold(true);
    problem.textContent = '';
    await act().catch(fail);
    busy = false;
  };
  const confirm = async () => {
    const { error } = await stripe.handleNextAction({ clientSecret: place.dataset.clientSecret });
    return error;
  };
  // Not before a submit is over: a form is not sent again while it is being sent.
  let ready = false;
  const send = (button) => {
    ready = true;
    hold(false);
    setTimeout(() => { form.requestSubmit(button); hold(true); });
  };
  if (card === null) {
    form.addEventListener('submit', (event) => {
      if (ready) return;
      event.preventDefault();
      // However it ended: what came of it, the seller asks Stripe.
      attempt(async () => { await confirm(); send(event.submitter); });
    });
    hold(false);
    return;
  }
  const token = document.getElementById('token');
  const tokenKind = document.getElementById('token-kind');
  const colors = getComputedStyle(document.documentElement);
  const color = (name) => colors.getPropertyValue(name).trim();
  const appearance = {
    theme: matchMedia('(prefers-color-scheme: dark)').matches ? 'night' : 'stripe',
    variables: {
      colorPrimary: color('--action'), colorText: color('--ink'), colorDanger: color('--bad'),
      colorBackground: color('--paper'), borderRadius: '8px', fontSizeBase: '16px',
    },
  };
  let elements;
  const show = (paymentMethodTypes) => {
    elements = stripe.elements({
      mode: 'setup', currency: card.dataset.currency, paymentMethodTypes, paymentMethodCreation: 'manual', appearance,
    });
    const form = elements.create('payment');
    // An account without bank debits still takes cards.
    form.on('loaderror', ({ error }) => {
      if (paymentMethodTypes.length === 1) return fail(error);
      form.destroy();
      show(['card']);
    });
    form.mount(card);
  };
  show(card.dataset.kinds.split(' '));
  const takesSaved = () => {
    const chosen = form.querySelector('input[name=paymentMethodId]:checked');
    return chosen !== null && chosen.value !== 'new';
  };
  const sendWith = (id, kind, button) => { token.value = id; tokenKind.value = kind; send(button); };
  form.addEventListener('submit', (event) => {
    const button = event.submitter;
    if (ready || takesSaved() || (button && (button.value === 'details' || button.value === 'review'))) return;
    event.preventDefault();
    attempt(async () => {
      const checked = await elements.submit();
      const made = checked.error ? checked : await stripe.createPaymentMethod({ elements });
      if (made.error) return fail(made.error);
      sendWith(made.paymentMethod.id, made.paymentMethod.type, button);
    });
  });
  // Who comes back to the page enters the card again.
  token.value = '';
  window.addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    token.value = '';
    ready = false;
    hold(false);
  });
  hold(false);
  if (card.dataset.clientSecret) {
    attempt(async () => {
      const error = await confirm();
      if (error) return fail(error);
      sendWith(card.dataset.confirmedToken, '', buttons[0]);
    });
  }
})();
`;
