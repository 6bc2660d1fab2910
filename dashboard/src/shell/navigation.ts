import {
  type Icon,
  IconAlarm,
  IconBolt,
  IconBook2,
  IconCash,
  IconChartBar,
  IconClockPlay,
  IconCreditCardRefund,
  IconFileInvoice,
  IconFilePencil,
  IconHeartbeat,
  IconHistory,
  IconHome2,
  IconKey,
  IconMail,
  IconRefresh,
  IconSettings,
  IconShoppingCart,
  IconUserCog,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';

interface Destination {
  readonly to: string;
  readonly name: string;
  readonly icon: Icon;
}

/** The pages of the navigation, in groups. A page that is added to the router is added here too. */
export const destinations: readonly { readonly group: string; readonly pages: readonly Destination[] }[] = [
  {
    group: 'Overview',
    pages: [{ to: '/', name: 'Home', icon: IconHome2 }],
  },
  {
    group: 'Money',
    pages: [
      { to: '/customers', name: 'Customers', icon: IconUsers },
      { to: '/subscriptions', name: 'Subscriptions', icon: IconRefresh },
      { to: '/invoices', name: 'Invoices', icon: IconFileInvoice },
      { to: '/drafts', name: 'Drafts', icon: IconFilePencil },
      { to: '/payments', name: 'Payments', icon: IconCash },
      { to: '/credit-notes', name: 'Credit notes', icon: IconCreditCardRefund },
      { to: '/purchases', name: 'Purchases', icon: IconShoppingCart },
      { to: '/dunning', name: 'Dunning', icon: IconAlarm },
      { to: '/emails', name: 'Emails', icon: IconMail },
    ],
  },
  {
    group: 'Offer',
    pages: [
      { to: '/catalog', name: 'Catalog', icon: IconBook2 },
      { to: '/usage', name: 'Usage', icon: IconChartBar },
    ],
  },
  {
    group: 'Developers',
    pages: [
      { to: '/events', name: 'Events', icon: IconBolt },
      { to: '/webhooks', name: 'Webhooks', icon: IconWebhook },
      { to: '/api-keys', name: 'API keys', icon: IconKey },
      { to: '/audit-log', name: 'Audit log', icon: IconHistory },
      { to: '/time-machine', name: 'Time machine', icon: IconClockPlay },
    ],
  },
  {
    group: 'Organization',
    pages: [
      { to: '/people', name: 'People', icon: IconUserCog },
      { to: '/settings', name: 'Settings', icon: IconSettings },
      { to: '/service-health', name: 'Health', icon: IconHeartbeat },
    ],
  },
];
