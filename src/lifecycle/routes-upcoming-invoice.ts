import { z } from 'zod';
import { UpcomingInvoice } from '../invoicing/invoice.ts';
import { UpcomingInvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import { route } from '../platform/route.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';
import { previewUpcomingInvoice } from './upcoming-invoice.ts';

export const upcomingInvoiceRoutes = [
  route({
    method: 'GET',
    path: '/invoices/upcoming',
    summary: 'Show the next invoice of a subscription',
    description:
      "What the subscription's next renewal would ask for if it came now: the items of the next period and the usage until now. It has no id, number and billing period yet, and one without lines is never made. Where no renewal follows, it is refused.",
    tag: 'Invoices',
    query: z.object({ subscriptionId: SubscriptionId }),
    returns: z.object({ invoice: UpcomingInvoice, invoiceLineItems: z.array(UpcomingInvoiceLineItem) }),
    refuses: ['subscriptionNotFound', 'noUpcomingInvoice'],
    handle: (work, { query }) => previewUpcomingInvoice(work, query.subscriptionId),
  }),
];
