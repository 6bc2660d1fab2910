import type { EmailCatalogue } from './email.ts';

export const german: EmailCatalogue = {
  greeting: 'Guten Tag {customer},',
  closing: 'Bei Fragen antworten Sie einfach auf diese E-Mail.',
  retry: 'Am {date} versuchen wir es erneut.',
  noRetry: 'Wir versuchen es nicht automatisch erneut.',
  again: 'Es wird am {date} zurückgesetzt.',
  emails: {
    invoice_issued: {
      subject: 'Rechnung {number} von {seller}',
      heading: 'Rechnung {number}',
      text: 'Hier ist Ihre Rechnung {number} über {amount}, fällig am {date}. Sie ist als PDF angehängt.',
      action: 'Rechnung ansehen und bezahlen',
    },
    receipt: {
      subject: 'Ihr Zahlungsbeleg von {seller}',
      heading: 'Vielen Dank für Ihre Zahlung',
      text: 'Wir haben am {date} Ihre Zahlung über {amount} für die Rechnung {number} erhalten.',
      action: 'Rechnung ansehen',
    },
    payment_failed: {
      subject: 'Ihre Zahlung an {seller} ist fehlgeschlagen',
      heading: 'Ihre Zahlung ist fehlgeschlagen',
      text: 'Wir konnten am {date} {amount} für die Rechnung {number} nicht einziehen. Bitte aktualisieren Sie Ihre Zahlungsmethode oder zahlen Sie mit einer anderen. {retry}',
      action: 'Rechnung bezahlen',
    },
    payment_action_required: {
      subject: 'Bitte bestätigen Sie Ihre Zahlung an {seller}',
      heading: 'Ihre Bank bittet Sie, die Zahlung zu bestätigen',
      text: 'Ihre Bank bittet Sie, die Zahlung von {amount} für die Rechnung {number} zu bestätigen. Öffnen Sie dazu die Zahlungsseite und bestätigen Sie die Zahlung dort bei Ihrer Bank. Bis dahin bleibt die Rechnung offen.',
      action: 'Zahlung bestätigen',
    },
    payment_waiting: {
      subject: 'Ihre Zahlung an {seller} wartet auf Sie',
      heading: 'Ihre Zahlung ist noch nicht abgeschlossen',
      text: 'Ihre Bank bittet Sie, die Zahlung über {amount} zu bestätigen, die Sie am {date} begonnen haben. Öffnen Sie dazu die Zahlungsseite und bestätigen Sie die Zahlung bei Ihrer Bank. Vorher wird nichts abgebucht, und ohne Bestätigung verfällt die Zahlung.',
      action: 'Zahlung bestätigen',
    },
    subscription_canceled: {
      subject: 'Ihr Abonnement {plan} ist beendet',
      heading: 'Ihr Abonnement ist beendet',
      text: 'Ihr Abonnement {plan} endete am {date}.',
      action: null,
    },
    credit_note_issued: {
      subject: 'Rechnungskorrektur {number} von {seller}',
      heading: 'Rechnungskorrektur {number}',
      text: 'Wir haben Ihnen am {date} {amount} gutgeschrieben. Die Rechnungskorrektur {number} ist als PDF angehängt.',
      action: 'Rechnung ansehen',
    },
    trial_ending: {
      subject: 'Ihr Testzeitraum für {plan} endet am {date}',
      heading: 'Ihr Testzeitraum endet bald',
      text: 'Ihr Testzeitraum für {plan} endet am {date}. Danach läuft Ihr Abonnement kostenpflichtig weiter. Wenn Sie das nicht möchten, kündigen Sie vor diesem Tag.',
      action: null,
    },
    card_expiring: {
      subject: 'Ihre Karte bei {seller} läuft bald ab',
      heading: 'Ihre Karte läuft bald ab',
      text: 'Ihre Karte {card} läuft am {date} ab. Bitte hinterlegen Sie eine andere, damit Ihre nächste Zahlung gelingt.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Sie haben ein Limit bei {seller} erreicht',
      heading: 'Ihr Limit ist erreicht',
      text: 'Sie haben Ihr Limit von {limit} vollständig verbraucht. {again}',
      action: 'Konto ansehen',
    },
    top_up_action_required: {
      subject: 'Bitte bestätigen Sie Ihre Karte bei {seller}',
      heading: 'Ihre Bank bittet um Bestätigung',
      text: 'Wir konnten Ihr Guthaben am {date} nicht aufladen, weil Ihre Bank um eine Bestätigung der Zahlung bittet. Öffnen Sie bitte Ihr Konto und hinterlegen Sie Ihre Karte erneut, damit Ihre Bank die Zahlung zulässt.',
      action: 'Konto öffnen',
    },
  },
};
