import type { EmailCatalogue } from './email.ts';

export const portuguese: EmailCatalogue = {
  greeting: 'Olá, {customer}:',
  closing: 'Em caso de dúvida, responda a este e-mail.',
  retry: 'Voltaremos a tentar em {date}.',
  noRetry: 'Não voltaremos a tentar automaticamente.',
  again: 'Recomeça do zero em {date}.',
  emails: {
    invoice_issued: {
      subject: 'Fatura {number} de {seller}',
      heading: 'Fatura {number}',
      text: 'Aqui está a fatura {number} no valor de {amount}, com vencimento em {date}. O PDF segue em anexo.',
      action: 'Ver e pagar a fatura',
    },
    receipt: {
      subject: 'O seu recibo de {seller}',
      heading: 'Agradecemos o seu pagamento',
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
      subject: 'A sua subscrição de {plan} terminou',
      heading: 'A sua subscrição terminou',
      text: 'A sua subscrição de {plan} terminou em {date}.',
      action: null,
    },
    credit_note_issued: {
      subject: 'Nota de crédito {number} de {seller}',
      heading: 'Nota de crédito {number}',
      text: 'Creditámos-lhe {amount} em {date}. A nota de crédito {number} segue em anexo, em PDF.',
      action: 'Ver a fatura',
    },
    trial_ending: {
      subject: 'O período de teste de {plan} termina em {date}',
      heading: 'O período de teste está a terminar',
      text: 'O período de teste de {plan} termina em {date}. Depois disso, a subscrição continua e passa a ser cobrada. Se não quiser continuar, cancele antes desse dia.',
      action: null,
    },
    card_expiring: {
      subject: 'O seu cartão em {seller} expira em breve',
      heading: 'O seu cartão expira em breve',
      text: 'O seu cartão {card} expira em {date}. Adicione outro para que o próximo pagamento seja efetuado.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'Atingiu um limite em {seller}',
      heading: 'O seu limite foi atingido',
      text: 'Usou todo o seu limite de {limit}. {again}',
      action: 'Ver a sua conta',
    },
    top_up_action_required: {
      subject: 'Confirme o seu cartão em {seller}',
      heading: 'O seu banco pede uma confirmação',
      text: 'Não foi possível carregar o seu saldo em {date}, porque o seu banco pede que confirme o pagamento. Abra a sua conta e guarde o cartão novamente, para que o seu banco o autorize.',
      action: 'Abrir a sua conta',
    },
  },
};
