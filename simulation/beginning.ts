import { discounts, structure, taxRates } from './catalogue.ts';
import type { Ask } from './client.ts';

/** The seller's setup before the first customer. */
export function beginning(inboxUrl: string, allowMultipleSubscriptions: boolean): Ask[] {
  const post = (path: string, body: object): Ask => ({ method: 'POST', path, body, key: keyOf(path, body) });
  return [
    post('/pricing-models/setup', structure()),
    ...discounts.map(({ code, type, amount, times, minimum, perCustomer, isFirstOnly }) => {
      const duration = times === null ? 'forever' : times === 1 ? 'once' : 'number_of_payments';
      const several = duration === 'number_of_payments' ? { numberOfPayments: times } : {};
      const limits = {
        minimumAmount: minimum,
        maximumRedemptionsPerCustomer: perCustomer,
        firstPurchaseOnly: isFirstOnly,
      };
      const terms = { name: code, code, amountType: type, amount, duration, ...several, ...limits };
      return post('/discounts', { discount: terms });
    }),
    ...taxRates.map(({ country, state, percentage, isInclusive: inclusive }) =>
      post('/tax-rates', { taxRate: { country, state, type: 'vat', percentage, inclusive } }),
    ),
    { method: 'PUT', path: '/settings', body: { settings: { taxProvider: 'rates', allowMultipleSubscriptions } } },
    post('/webhooks', { webhook: { name: 'Inbox', url: inboxUrl, filterTypes: [] } }),
  ];
}

function keyOf(path: string, body: object): string {
  return `begin ${path} ${JSON.stringify(body)}`.slice(0, 200);
}
