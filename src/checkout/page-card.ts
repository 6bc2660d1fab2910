import { type Html, html } from '../kernel/html.ts';
import type { PageDocument } from '../platform/page.ts';
import { type FieldErrors, fieldHtml } from './page-form.ts';

/** Who takes the card. */
export interface CardTaker {
  readonly name: string;
  readonly publishableKey: string | null;
  readonly currency: string;
}

/** Where the script stands that shows Stripe's own card form. */
export const stripeScriptPath = '/checkout-assets/stripe.js';

/** Whether a card can be asked for at all. */
export function takesCards({ name, publishableKey }: CardTaker): boolean {
  return name === 'test' || (name.startsWith('stripe') && publishableKey !== null);
}

/** Where a card is entered: fields of ours for the test network, Stripe's own form for Stripe. */
export function cardHtml(taker: CardTaker, errors: FieldErrors): Html {
  if (!takesCards(taker))
    return html`<p class="notice bad">The seller takes no cards here. Please ask the seller how to pay.</p>`;
  return taker.name === 'test' ? testCardHtml(errors) : stripeCardHtml(taker, errors);
}

function testCardHtml(errors: FieldErrors): Html {
  return html`<fieldset>
<legend>Card</legend>
<p class="hint">Test numbers: 4242 4242 4242 4242 is accepted, 4000 0000 0000 0002 is declined, with any date to come and any code.</p>
${fieldHtml({ name: 'cardNumber', label: 'Card number', autocomplete: 'cc-number', inputMode: 'numeric', maxLength: 30 }, errors)}
<div class="pair">
${fieldHtml({ name: 'cardExpiry', label: 'Expiry date', hint: 'MM / YY', autocomplete: 'cc-exp', inputMode: 'numeric', maxLength: 9 }, errors)}
${fieldHtml({ name: 'cardCode', label: 'Security code', hint: '3 or 4 digits', autocomplete: 'cc-csc', inputMode: 'numeric', maxLength: 6 }, errors)}
</div>
</fieldset>
`;
}

function stripeCardHtml({ publishableKey, currency }: CardTaker, errors: FieldErrors): Html {
  return html`<fieldset>
<legend>Card</legend>
<div id="stripe-card" data-key="${publishableKey}" data-currency="${currency.toLowerCase()}"></div>
<input type="hidden" name="token" id="token">
<p class="error" id="stripe-error" role="alert">${errors.token ?? errors.cardNumber}</p>
<noscript><p class="notice bad">The card form of Stripe needs JavaScript. Please allow it for this page.</p></noscript>
</fieldset>
`;
}

/** What the page with the card form loads besides: nothing, unless Stripe takes the card. */
export function cardScripts(taker: CardTaker): Pick<PageDocument, 'scripts' | 'sources'> {
  if (taker.name === 'test' || !takesCards(taker)) return {};
  return {
    scripts: ['https://js.stripe.com/v3/', stripeScriptPath],
    sources: {
      'frame-src': 'https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com',
      'connect-src': 'https://api.stripe.com',
      'img-src': 'https://*.stripe.com',
    },
  };
}

/** The script beside Stripe's own: it shows the form, and sends ours with the token that Stripe gives for the card. */
export const stripeScript = `'use strict';
(() => {
  const place = document.getElementById('stripe-card');
  const token = document.getElementById('token');
  const problem = document.getElementById('stripe-error');
  const form = place.closest('form');
  const stripe = Stripe(place.dataset.key);
  const elements = stripe.elements({
    mode: 'setup', currency: place.dataset.currency, paymentMethodTypes: ['card'], paymentMethodCreation: 'manual',
  });
  elements.create('payment').mount(place);
  form.addEventListener('submit', async (event) => {
    const button = event.submitter;
    if (token.value !== '' || (button && button.value === 'details')) return;
    event.preventDefault();
    problem.textContent = '';
    const checked = await elements.submit();
    const made = checked.error ? checked : await stripe.createPaymentMethod({ elements });
    if (made.error) {
      problem.textContent = made.error.message;
      return;
    }
    token.value = made.paymentMethod.id;
    // Not before this submit is over: a form is not sent again while it is being sent.
    setTimeout(() => form.requestSubmit(button));
  });
  // Who comes back to the page enters the card again.
  window.addEventListener('pageshow', () => { token.value = ''; });
})();
`;
