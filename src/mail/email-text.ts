import type { Language } from '../kernel/language.ts';
import type { EmailTemplateName } from '../organizations/mail-setting.ts';

/** The texts of one email in one language, with placeholders in braces. */
interface EmailMessage {
  readonly subject: string;
  readonly heading: string;
  readonly text: string;
  /** The label of the link; null without one. */
  readonly action: string | null;
}

interface Catalogue {
  readonly greeting: string;
  readonly closing: string;
  /** The day of the next attempt to collect an invoice, or that there is none. */
  readonly retry: string;
  readonly noRetry: string;
  readonly emails: Readonly<Record<EmailTemplateName, EmailMessage>>;
}

/** Every text of emails, by language. */
export const catalogues: Readonly<Record<Language, Catalogue>> = {
  en: {
    greeting: 'Hello {customer},',
    closing: 'Reply to this email if you have any questions.',
    retry: 'We will try again on {date}.',
    noRetry: 'We will not try again by ourselves.',
    emails: {
      invoice_issued: {
        subject: 'Invoice {number} from {seller}',
        heading: 'Invoice {number}',
        text: 'Here is your invoice {number} for {amount}, due on {date}. It is attached as a PDF.',
        action: 'View and pay the invoice',
      },
      receipt: {
        subject: 'Your receipt from {seller}',
        heading: 'Thank you for your payment',
        text: 'We received your payment of {amount} on {date} for invoice {number}.',
        action: 'View the invoice',
      },
      payment_failed: {
        subject: 'Your payment to {seller} failed',
        heading: 'Your payment failed',
        text: 'We could not collect {amount} for invoice {number} on {date}. Please update your payment method or pay with another one. {retry}',
        action: 'Pay the invoice',
      },
      payment_action_required: {
        subject: 'Please confirm your payment to {seller}',
        heading: 'Your bank asks you to confirm your payment',
        text: 'Your bank asks you to confirm the payment of {amount} for invoice {number}. Please open the payment page, where you confirm it with your bank. Until then the invoice stays open.',
        action: 'Confirm the payment',
      },
      payment_waiting: {
        subject: 'Your payment to {seller} is waiting for you',
        heading: 'Your payment is not complete yet',
        text: 'Your bank asks you to confirm the payment of {amount} that you began on {date}. Please open the payment page and confirm it with your bank. You will not be charged until you do, and the payment lapses if you do not.',
        action: 'Confirm the payment',
      },
      subscription_canceled: {
        subject: 'Your subscription to {plan} has ended',
        heading: 'Your subscription has ended',
        text: 'Your subscription to {plan} ended on {date}.',
        action: null,
      },
      credit_note_issued: {
        subject: 'Credit note {number} from {seller}',
        heading: 'Credit note {number}',
        text: 'We have credited you {amount} on {date}. The credit note {number} is attached as a PDF.',
        action: 'View the invoice',
      },
      trial_ending: {
        subject: 'Your trial of {plan} ends on {date}',
        heading: 'Your trial ends soon',
        text: 'Your trial of {plan} ends on {date}. Your subscription continues after it, and is charged from then on. If you do not want to continue, cancel before that day.',
        action: null,
      },
      card_expiring: {
        subject: 'Your card with {seller} expires soon',
        heading: 'Your card expires soon',
        text: 'Your card {card} expires on {date}. Please add another one, so that your next payment succeeds.',
        action: null,
      },
    },
  },
  de: {
    greeting: 'Guten Tag {customer},',
    closing: 'Bei Fragen antworten Sie einfach auf diese E-Mail.',
    retry: 'Am {date} versuchen wir es erneut.',
    noRetry: 'Wir versuchen es nicht von selbst noch einmal.',
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
        heading: 'Ihre Bank bittet um Bestätigung der Zahlung',
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
        subject: 'Gutschrift {number} von {seller}',
        heading: 'Gutschrift {number}',
        text: 'Wir haben Ihnen am {date} {amount} gutgeschrieben. Die Gutschrift {number} ist als PDF angehängt.',
        action: 'Rechnung ansehen',
      },
      trial_ending: {
        subject: 'Ihr Testzeitraum für {plan} endet am {date}',
        heading: 'Ihr Testzeitraum endet bald',
        text: 'Ihr Testzeitraum für {plan} endet am {date}. Danach läuft Ihr Abonnement weiter und wird ab dann berechnet. Wenn Sie das nicht möchten, kündigen Sie vor diesem Tag.',
        action: null,
      },
      card_expiring: {
        subject: 'Ihre Karte bei {seller} läuft bald ab',
        heading: 'Ihre Karte läuft bald ab',
        text: 'Ihre Karte {card} läuft am {date} ab. Bitte hinterlegen Sie eine andere, damit Ihre nächste Zahlung gelingt.',
        action: null,
      },
    },
  },
  es: {
    greeting: 'Hola, {customer}:',
    closing: 'Si tiene alguna pregunta, responda a este correo.',
    retry: 'Lo intentaremos de nuevo el {date}.',
    noRetry: 'No lo intentaremos de nuevo automáticamente.',
    emails: {
      invoice_issued: {
        subject: 'Factura {number} de {seller}',
        heading: 'Factura {number}',
        text: 'Aquí tiene su factura {number} por {amount}, con vencimiento el {date}. Se adjunta en PDF.',
        action: 'Ver y pagar la factura',
      },
      receipt: {
        subject: 'Su recibo de {seller}',
        heading: 'Gracias por su pago',
        text: 'El {date} recibimos su pago de {amount} por la factura {number}.',
        action: 'Ver la factura',
      },
      payment_failed: {
        subject: 'Su pago a {seller} no se pudo realizar',
        heading: 'Su pago no se pudo realizar',
        text: 'El {date} no pudimos cobrar {amount} por la factura {number}. Actualice su método de pago o pague con otro. {retry}',
        action: 'Pagar la factura',
      },
      payment_action_required: {
        subject: 'Confirme su pago a {seller}',
        heading: 'Su banco le pide que confirme el pago',
        text: 'Su banco le pide que confirme el pago de {amount} de la factura {number}. Abra la página de pago y confírmelo allí con su banco. Hasta entonces la factura sigue pendiente.',
        action: 'Confirmar el pago',
      },
      payment_waiting: {
        subject: 'Su pago a {seller} está pendiente de confirmación',
        heading: 'Su pago aún no se ha completado',
        text: 'Su banco le pide que confirme el pago de {amount} que inició el {date}. Abra la página de pago y confírmelo con su banco. Hasta entonces no se le cobrará nada y, si no lo confirma, el pago caducará.',
        action: 'Confirmar el pago',
      },
      subscription_canceled: {
        subject: 'Su suscripción a {plan} ha finalizado',
        heading: 'Su suscripción ha finalizado',
        text: 'Su suscripción a {plan} finalizó el {date}.',
        action: null,
      },
      credit_note_issued: {
        subject: 'Nota de crédito {number} de {seller}',
        heading: 'Nota de crédito {number}',
        text: 'El {date} le abonamos {amount}. La nota de crédito {number} se adjunta en PDF.',
        action: 'Ver la factura',
      },
      trial_ending: {
        subject: 'Su prueba de {plan} termina el {date}',
        heading: 'Su prueba termina pronto',
        text: 'Su prueba de {plan} termina el {date}. Después su suscripción continúa y se cobra a partir de entonces. Si no desea continuar, cancele antes de ese día.',
        action: null,
      },
      card_expiring: {
        subject: 'Su tarjeta en {seller} caduca pronto',
        heading: 'Su tarjeta caduca pronto',
        text: 'Su tarjeta {card} caduca el {date}. Añada otra para que su próximo pago se realice.',
        action: null,
      },
    },
  },
  fr: {
    greeting: 'Bonjour {customer},',
    closing: 'Pour toute question, répondez à cet e-mail.',
    retry: 'Nous réessaierons le {date}.',
    noRetry: 'Nous ne réessaierons pas automatiquement.',
    emails: {
      invoice_issued: {
        subject: 'Facture {number} de {seller}',
        heading: 'Facture {number}',
        text: 'Voici votre facture {number} de {amount}, à régler avant le {date}. Elle est jointe au format PDF.',
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
        text: 'Nous n’avons pas pu prélever {amount} pour la facture {number} le {date}. Mettez à jour votre moyen de paiement ou utilisez-en un autre. {retry}',
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
    },
  },
  it: {
    greeting: 'Gentile {customer},',
    closing: 'Per qualsiasi domanda, risponda a questa e-mail.',
    retry: 'Riproveremo il {date}.',
    noRetry: 'Non riproveremo automaticamente.',
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
        heading: 'La sua banca chiede di confermare il pagamento',
        text: 'La sua banca chiede di confermare il pagamento di {amount} per la fattura {number}. Apra la pagina di pagamento e lo confermi lì con la sua banca. Fino ad allora la fattura resta da pagare.',
        action: 'Conferma il pagamento',
      },
      payment_waiting: {
        subject: 'Il suo pagamento a {seller} è in attesa di conferma',
        heading: 'Il suo pagamento non è ancora completo',
        text: 'La sua banca le chiede di confermare il pagamento di {amount} iniziato il {date}. Apra la pagina di pagamento e lo confermi con la sua banca. Fino ad allora non le sarà addebitato nulla e, senza conferma, il pagamento scadrà.',
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
        text: 'Il {date} abbiamo accreditato {amount}. La nota di credito {number} è allegata in PDF.',
        action: 'Visualizza la fattura',
      },
      trial_ending: {
        subject: 'La prova di {plan} termina il {date}',
        heading: 'La prova sta per terminare',
        text: 'La prova di {plan} termina il {date}. L’abbonamento prosegue e viene addebitato da quel giorno. Se non desidera continuare, annulli prima di tale data.',
        action: null,
      },
      card_expiring: {
        subject: 'La carta usata con {seller} sta per scadere',
        heading: 'La carta sta per scadere',
        text: 'La carta {card} scade il {date}. Ne aggiunga un’altra, affinché il prossimo pagamento riesca.',
        action: null,
      },
    },
  },
  ja: {
    greeting: '{customer} 様',
    closing: 'ご不明な点がございましたら、このメールにご返信ください。',
    retry: '{date} に再度請求いたします。',
    noRetry: '自動での再請求は行いません。',
    emails: {
      invoice_issued: {
        subject: '{seller} からの請求書 {number}',
        heading: '請求書 {number}',
        text: '請求書 {number}(金額 {amount}、お支払期限 {date})をお送りします。PDF を添付しています。',
        action: '請求書を確認して支払う',
      },
      receipt: {
        subject: '{seller} からの領収のお知らせ',
        heading: 'お支払いありがとうございます',
        text: '{date} に請求書 {number} のお支払い {amount} を受領しました。',
        action: '請求書を確認する',
      },
      payment_failed: {
        subject: '{seller} へのお支払いが完了しませんでした',
        heading: 'お支払いが完了しませんでした',
        text: '{date} に請求書 {number} の {amount} を請求できませんでした。お支払い方法を更新するか、別の方法でお支払いください。{retry}',
        action: '請求書を支払う',
      },
      payment_action_required: {
        subject: '{seller} へのお支払いの確認をお願いします',
        heading: '銀行がお支払いの確認を求めています',
        text: '請求書 {number} のお支払い {amount} について、ご利用の銀行が本人確認を求めています。お支払いページを開き、銀行の確認手続きを完了してください。完了するまで請求書は未払いのままです。',
        action: 'お支払いを確認する',
      },
      payment_waiting: {
        subject: '{seller} へのお支払いの確認が必要です',
        heading: 'お支払いはまだ完了していません',
        text: '{date} に開始された {amount} のお支払いについて、ご利用の銀行が確認を求めています。お支払いページを開き、銀行で確認してください。確認されるまで請求は行われず、確認がない場合お支払いは無効になります。',
        action: 'お支払いを確認する',
      },
      subscription_canceled: {
        subject: '{plan} のご契約が終了しました',
        heading: 'ご契約が終了しました',
        text: '{plan} のご契約は {date} に終了しました。',
        action: null,
      },
      credit_note_issued: {
        subject: '{seller} からのクレジットノート {number}',
        heading: 'クレジットノート {number}',
        text: '{date} に {amount} を減額しました。クレジットノート {number} を PDF で添付しています。',
        action: '請求書を確認する',
      },
      trial_ending: {
        subject: '{plan} の無料トライアルは {date} に終了します',
        heading: '無料トライアルがまもなく終了します',
        text: '{plan} の無料トライアルは {date} に終了します。終了後はご契約が継続され、料金が発生します。継続を希望されない場合は、その日までに解約してください。',
        action: null,
      },
      card_expiring: {
        subject: '{seller} にご登録のカードの有効期限が近づいています',
        heading: 'カードの有効期限が近づいています',
        text: 'ご登録のカード {card} の有効期限は {date} です。次回のお支払いのため、別のカードをご登録ください。',
        action: null,
      },
    },
  },
  nl: {
    greeting: 'Beste {customer},',
    closing: 'Heb je vragen? Beantwoord dan deze e-mail.',
    retry: 'Op {date} proberen we het opnieuw.',
    noRetry: 'We proberen het niet vanzelf opnieuw.',
    emails: {
      invoice_issued: {
        subject: 'Factuur {number} van {seller}',
        heading: 'Factuur {number}',
        text: 'Hierbij ontvang je factuur {number} van {amount}, te betalen vóór {date}. De pdf is bijgevoegd.',
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
        text: 'Je bank vraagt je de betaling van {amount} te bevestigen die je op {date} bent begonnen. Open de betaalpagina en bevestig de betaling bij je bank. Tot dan wordt er niets afgeschreven, en zonder bevestiging vervalt de betaling.',
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
        text: 'Je proefperiode van {plan} eindigt op {date}. Daarna loopt je abonnement door en wordt het in rekening gebracht. Wil je niet doorgaan, zeg dan vóór die dag op.',
        action: null,
      },
      card_expiring: {
        subject: 'Je kaart bij {seller} verloopt binnenkort',
        heading: 'Je kaart verloopt binnenkort',
        text: 'Je kaart {card} verloopt op {date}. Voeg een andere toe, zodat je volgende betaling lukt.',
        action: null,
      },
    },
  },
  pt: {
    greeting: 'Olá, {customer},',
    closing: 'Em caso de dúvida, responda a este e-mail.',
    retry: 'Voltaremos a tentar em {date}.',
    noRetry: 'Não voltaremos a tentar automaticamente.',
    emails: {
      invoice_issued: {
        subject: 'Fatura {number} de {seller}',
        heading: 'Fatura {number}',
        text: 'Aqui está a fatura {number} no valor de {amount}, com vencimento em {date}. O PDF segue em anexo.',
        action: 'Ver e pagar a fatura',
      },
      receipt: {
        subject: 'O seu recibo de {seller}',
        heading: 'Obrigado pelo pagamento',
        text: 'Recebemos em {date} o pagamento de {amount} da fatura {number}.',
        action: 'Ver a fatura',
      },
      payment_failed: {
        subject: 'O pagamento a {seller} falhou',
        heading: 'O pagamento falhou',
        text: 'Em {date} não foi possível cobrar {amount} da fatura {number}. Atualize o método de pagamento ou use outro. {retry}',
        action: 'Pagar a fatura',
      },
      payment_action_required: {
        subject: 'Confirme o pagamento a {seller}',
        heading: 'O seu banco pede que confirme o pagamento',
        text: 'O seu banco pede que confirme o pagamento de {amount} da fatura {number}. Abra a página de pagamento e confirme-o aí junto do seu banco. Até lá, a fatura continua por pagar.',
        action: 'Confirmar o pagamento',
      },
      payment_waiting: {
        subject: 'O seu pagamento a {seller} aguarda confirmação',
        heading: 'O seu pagamento ainda não está concluído',
        text: 'O seu banco pede que confirme o pagamento de {amount} que iniciou em {date}. Abra a página de pagamento e confirme-o junto do seu banco. Até lá nada será cobrado e, sem confirmação, o pagamento caduca.',
        action: 'Confirmar o pagamento',
      },
      subscription_canceled: {
        subject: 'A assinatura de {plan} terminou',
        heading: 'A assinatura terminou',
        text: 'A assinatura de {plan} terminou em {date}.',
        action: null,
      },
      credit_note_issued: {
        subject: 'Nota de crédito {number} de {seller}',
        heading: 'Nota de crédito {number}',
        text: 'Creditámos {amount} em {date}. A nota de crédito {number} segue em anexo, em PDF.',
        action: 'Ver a fatura',
      },
      trial_ending: {
        subject: 'O período de teste de {plan} termina em {date}',
        heading: 'O período de teste está a terminar',
        text: 'O período de teste de {plan} termina em {date}. Depois disso, a assinatura continua e passa a ser cobrada. Se não quiser continuar, cancele antes desse dia.',
        action: null,
      },
      card_expiring: {
        subject: 'O seu cartão em {seller} expira em breve',
        heading: 'O seu cartão expira em breve',
        text: 'O seu cartão {card} expira em {date}. Adicione outro para que o próximo pagamento seja feito.',
        action: null,
      },
    },
  },
};
