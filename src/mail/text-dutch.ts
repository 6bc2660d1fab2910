import type { EmailCatalogue } from './email.ts';

export const dutch: EmailCatalogue = {
  greeting: 'Beste {customer},',
  closing: 'Heb je vragen? Beantwoord dan deze e-mail.',
  retry: 'Op {date} proberen we het opnieuw.',
  noRetry: 'We proberen het niet automatisch opnieuw.',
  again: 'Deze begint op {date} weer bij nul.',
  emails: {
    invoice_issued: {
      subject: 'Factuur {number} van {seller}',
      heading: 'Factuur {number}',
      text: 'Hierbij ontvang je factuur {number} van {amount}, uiterlijk te betalen op {date}. De pdf is bijgevoegd.',
      action: 'Factuur bekijken en betalen',
    },
    receipt: {
      subject: 'Je betaalbewijs van {seller}',
      heading: 'Bedankt voor je betaling',
      text: 'Op {date} hebben we je betaling van {amount} voor factuur {number} ontvangen.',
      action: 'Factuur bekijken',
    },
    payment_failed: {
      subject: 'Je betaling aan {seller} is mislukt',
      heading: 'Je betaling is mislukt',
      text: 'Op {date} konden we {amount} voor factuur {number} niet afschrijven. Werk je betaalmethode bij of betaal met een andere. {retry}',
      action: 'Factuur betalen',
    },
    payment_action_required: {
      subject: 'Bevestig je betaling aan {seller}',
      heading: 'Je bank vraagt je de betaling te bevestigen',
      text: 'Je bank vraagt je de betaling van {amount} voor factuur {number} te bevestigen. Open de betaalpagina en bevestig de betaling daar bij je bank. Tot dan blijft de factuur openstaan.',
      action: 'Betaling bevestigen',
    },
    payment_waiting: {
      subject: 'Je betaling aan {seller} wacht op je',
      heading: 'Je betaling is nog niet voltooid',
      text: 'Je bank vraagt je de betaling van {amount} te bevestigen waarmee je op {date} bent begonnen. Open de betaalpagina en bevestig de betaling bij je bank. Tot dan wordt er niets afgeschreven, en zonder bevestiging vervalt de betaling.',
      action: 'Betaling bevestigen',
    },
    subscription_canceled: {
      subject: 'Je abonnement op {plan} is beëindigd',
      heading: 'Je abonnement is beëindigd',
      text: 'Je abonnement op {plan} is op {date} beëindigd.',
      action: null,
    },
    credit_note_issued: {
      subject: 'Creditnota {number} van {seller}',
      heading: 'Creditnota {number}',
      text: 'Op {date} hebben we je {amount} gecrediteerd. Creditnota {number} is als pdf bijgevoegd.',
      action: 'Factuur bekijken',
    },
    trial_ending: {
      subject: 'Je proefperiode van {plan} eindigt op {date}',
      heading: 'Je proefperiode eindigt binnenkort',
      text: 'Je proefperiode van {plan} eindigt op {date}. Daarna loopt je abonnement door en ga je ervoor betalen. Wil je niet doorgaan, zeg dan vóór die dag op.',
      action: null,
    },
    card_expiring: {
      subject: 'Je kaart bij {seller} verloopt binnenkort',
      heading: 'Je kaart verloopt binnenkort',
      text: 'Je kaart {card} verloopt op {date}. Voeg een andere toe, zodat je volgende betaling lukt.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Je hebt een limiet bij {seller} bereikt',
      heading: 'Je limiet is bereikt',
      text: 'Je hebt je hele limiet van {limit} gebruikt. {again}',
      action: 'Account bekijken',
    },
    top_up_action_required: {
      subject: 'Bevestig je kaart bij {seller}',
      heading: 'Je bank vraagt om een bevestiging',
      text: 'We konden je saldo op {date} niet opwaarderen, omdat je bank je vraagt de betaling te bevestigen. Open je account en sla je kaart opnieuw op, zodat je bank de betaling toestaat.',
      action: 'Account openen',
    },
  },
};
