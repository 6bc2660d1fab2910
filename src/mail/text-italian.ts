import type { EmailCatalogue } from './email.ts';

export const italian: EmailCatalogue = {
  greeting: 'Gentile {customer},',
  closing: 'Per qualsiasi domanda, risponda a questa e-mail.',
  retry: 'Riproveremo il {date}.',
  noRetry: 'Non riproveremo automaticamente.',
  again: 'Si azzera il {date}.',
  emails: {
    invoice_issued: {
      subject: 'Fattura {number} di {seller}',
      heading: 'Fattura {number}',
      text: 'Ecco la fattura {number} di {amount}, con scadenza il {date}. È allegata in PDF.',
      action: 'Visualizza e paga la fattura',
    },
    receipt: {
      subject: 'La ricevuta di {seller}',
      heading: 'Grazie per il pagamento',
      text: 'Il {date} abbiamo ricevuto il pagamento di {amount} per la fattura {number}.',
      action: 'Visualizza la fattura',
    },
    payment_failed: {
      subject: 'Il pagamento a {seller} non è riuscito',
      heading: 'Il pagamento non è riuscito',
      text: 'Il {date} non siamo riusciti ad addebitare {amount} per la fattura {number}. Aggiorni il metodo di pagamento o ne usi un altro. {retry}',
      action: 'Paga la fattura',
    },
    payment_action_required: {
      subject: 'Confermi il pagamento a {seller}',
      heading: 'La Sua banca chiede di confermare il pagamento',
      text: 'La Sua banca chiede di confermare il pagamento di {amount} per la fattura {number}. Apra la pagina di pagamento e lo confermi lì con la Sua banca. Fino ad allora la fattura resta da pagare.',
      action: 'Conferma il pagamento',
    },
    payment_waiting: {
      subject: 'Il Suo pagamento a {seller} è in attesa di conferma',
      heading: 'Il Suo pagamento non è ancora completo',
      text: 'La Sua banca Le chiede di confermare il pagamento di {amount} iniziato il {date}. Apra la pagina di pagamento e lo confermi con la Sua banca. Fino ad allora non Le sarà addebitato nulla e, senza conferma, il pagamento scadrà.',
      action: 'Conferma il pagamento',
    },
    subscription_canceled: {
      subject: 'L’abbonamento a {plan} è terminato',
      heading: 'L’abbonamento è terminato',
      text: 'L’abbonamento a {plan} è terminato il {date}.',
      action: null,
    },
    credit_note_issued: {
      subject: 'Nota di credito {number} di {seller}',
      heading: 'Nota di credito {number}',
      text: 'Il {date} Le abbiamo accreditato {amount}. La nota di credito {number} è allegata in PDF.',
      action: 'Visualizza la fattura',
    },
    trial_ending: {
      subject: 'La prova di {plan} termina il {date}',
      heading: 'La prova sta per terminare',
      text: 'La prova di {plan} termina il {date}. L’abbonamento prosegue poi a pagamento. Se non desidera continuare, disdica prima di tale data.',
      action: null,
    },
    card_expiring: {
      subject: 'La carta usata con {seller} sta per scadere',
      heading: 'La carta sta per scadere',
      text: 'La carta {card} scade il {date}. Ne aggiunga un’altra, affinché il prossimo pagamento riesca.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Ha raggiunto un limite con {seller}',
      heading: 'Ha raggiunto il Suo limite',
      text: 'Ha utilizzato tutto il Suo limite di {limit}. {again}',
      action: 'Vedi l’account',
    },
    top_up_action_required: {
      subject: 'Confermi la carta usata con {seller}',
      heading: 'La Sua banca chiede una conferma',
      text: 'Il {date} non abbiamo potuto ricaricare il saldo, perché la Sua banca Le chiede di confermare il pagamento. Apra il Suo account e salvi di nuovo la carta, affinché la banca lo autorizzi.',
      action: 'Apri l’account',
    },
  },
};
