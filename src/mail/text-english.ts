import type { EmailCatalogue } from './email.ts';

export const english: EmailCatalogue = {
  greeting: 'Hello {customer},',
  closing: 'Reply to this email if you have any questions.',
  retry: 'We will try again on {date}.',
  noRetry: 'We will not try again automatically.',
  again: 'It resets on {date}.',
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
      text: 'We credited you {amount} on {date}. Credit note {number} is attached as a PDF.',
      action: 'View the invoice',
    },
    trial_ending: {
      subject: 'Your trial of {plan} ends on {date}',
      heading: 'Your trial ends soon',
      text: 'Your trial of {plan} ends on {date}. Your subscription then continues, and you are charged from that day on. If you do not want to continue, cancel before that day.',
      action: null,
    },
    card_expiring: {
      subject: 'Your card with {seller} expires soon',
      heading: 'Your card expires soon',
      text: 'Your card {card} expires on {date}. Please add another one, so that your next payment succeeds.',
      action: null,
    },
    spend_limit_reached: {
      subject: 'You have reached a limit with {seller}',
      heading: 'You have reached your limit',
      text: 'You have used all of your limit of {limit}. {again}',
      action: 'View your account',
    },
    top_up_action_required: {
      subject: 'Please confirm your card with {seller}',
      heading: 'Your bank asks you to confirm',
      text: 'We could not top up your balance on {date}, because your bank asks you to confirm the payment. Please open your account and save your card again, so that your bank allows it.',
      action: 'Open your account',
    },
  },
};
