import type { EmailCatalogue } from './email.ts';

export const spanish: EmailCatalogue = {
  greeting: 'Hola, {customer}:',
  closing: 'Si tiene alguna pregunta, responda a este correo.',
  retry: 'Lo intentaremos de nuevo el {date}.',
  noRetry: 'No lo intentaremos de nuevo automáticamente.',
  again: 'Se reinicia el {date}.',
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
      subject: 'Factura rectificativa {number} de {seller}',
      heading: 'Factura rectificativa {number}',
      text: 'El {date} le hemos abonado {amount}. La factura rectificativa {number} se adjunta en PDF.',
      action: 'Ver la factura',
    },
    trial_ending: {
      subject: 'Su prueba de {plan} termina el {date}',
      heading: 'Su prueba termina pronto',
      text: 'Su prueba de {plan} termina el {date}. Después, su suscripción continúa y se le cobrará a partir de ese día. Si no desea continuar, cancele antes de ese día.',
      action: null,
    },
    card_expiring: {
      subject: 'Su tarjeta en {seller} caduca pronto',
      heading: 'Su tarjeta caduca pronto',
      text: 'Su tarjeta {card} caduca el {date}. Añada otra para que su próximo pago se realice.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Ha alcanzado un límite en {seller}',
      heading: 'Ha alcanzado su límite',
      text: 'Ha consumido todo su límite de {limit}. {again}',
      action: 'Ver su cuenta',
    },
    top_up_action_required: {
      subject: 'Confirme su tarjeta en {seller}',
      heading: 'Su banco le pide una confirmación',
      text: 'No pudimos recargar su saldo el {date}, porque su banco le pide que confirme el pago. Abra su cuenta y guarde de nuevo su tarjeta para que su banco lo autorice.',
      action: 'Abrir su cuenta',
    },
  },
};
