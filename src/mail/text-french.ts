import type { EmailCatalogue } from './email.ts';

export const french: EmailCatalogue = {
  greeting: 'Bonjour {customer},',
  closing: 'Pour toute question, répondez à cet e-mail.',
  retry: 'Nous réessaierons le {date}.',
  noRetry: 'Nous ne réessaierons pas automatiquement.',
  again: 'Il sera remis à zéro le {date}.',
  emails: {
    invoice_issued: {
      subject: 'Facture {number} de {seller}',
      heading: 'Facture {number}',
      text: 'Voici votre facture {number} de {amount}, à régler au plus tard le {date}. Elle est jointe au format PDF.',
      action: 'Voir et payer la facture',
    },
    receipt: {
      subject: 'Votre reçu de {seller}',
      heading: 'Merci pour votre paiement',
      text: 'Nous avons reçu le {date} votre paiement de {amount} pour la facture {number}.',
      action: 'Voir la facture',
    },
    payment_failed: {
      subject: 'Votre paiement à {seller} a échoué',
      heading: 'Votre paiement a échoué',
      text: 'Nous n’avons pas pu prélever {amount} pour la facture {number} le {date}. Veuillez mettre à jour votre moyen de paiement ou en utiliser un autre. {retry}',
      action: 'Payer la facture',
    },
    payment_action_required: {
      subject: 'Veuillez confirmer votre paiement à {seller}',
      heading: 'Votre banque vous demande de confirmer le paiement',
      text: 'Votre banque vous demande de confirmer le paiement de {amount} pour la facture {number}. Ouvrez la page de paiement pour le confirmer auprès de votre banque. D’ici là, la facture reste due.',
      action: 'Confirmer le paiement',
    },
    payment_waiting: {
      subject: 'Votre paiement à {seller} attend votre confirmation',
      heading: 'Votre paiement n’est pas encore terminé',
      text: 'Votre banque vous demande de confirmer le paiement de {amount} que vous avez commencé le {date}. Ouvrez la page de paiement et confirmez-le auprès de votre banque. Rien ne sera débité avant, et le paiement expirera sans confirmation.',
      action: 'Confirmer le paiement',
    },
    subscription_canceled: {
      subject: 'Votre abonnement à {plan} a pris fin',
      heading: 'Votre abonnement a pris fin',
      text: 'Votre abonnement à {plan} a pris fin le {date}.',
      action: null,
    },
    credit_note_issued: {
      subject: 'Avoir {number} de {seller}',
      heading: 'Avoir {number}',
      text: 'Nous vous avons crédité {amount} le {date}. L’avoir {number} est joint au format PDF.',
      action: 'Voir la facture',
    },
    trial_ending: {
      subject: 'Votre essai de {plan} se termine le {date}',
      heading: 'Votre essai se termine bientôt',
      text: 'Votre essai de {plan} se termine le {date}. Votre abonnement se poursuit ensuite et sera facturé à partir de cette date. Si vous ne souhaitez pas continuer, résiliez avant ce jour.',
      action: null,
    },
    card_expiring: {
      subject: 'Votre carte chez {seller} expire bientôt',
      heading: 'Votre carte expire bientôt',
      text: 'Votre carte {card} expire le {date}. Ajoutez-en une autre pour que votre prochain paiement aboutisse.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Vous avez atteint un plafond chez {seller}',
      heading: 'Votre plafond est atteint',
      text: 'Vous avez entièrement utilisé votre plafond de {limit}. {again}',
      action: 'Voir votre compte',
    },
    top_up_action_required: {
      subject: 'Veuillez confirmer votre carte auprès de {seller}',
      heading: 'Votre banque demande une confirmation',
      text: 'Nous n’avons pas pu recharger votre solde le {date}, car votre banque vous demande de confirmer le paiement. Ouvrez votre compte et enregistrez de nouveau votre carte, afin que votre banque l’autorise.',
      action: 'Ouvrir votre compte',
    },
  },
};
