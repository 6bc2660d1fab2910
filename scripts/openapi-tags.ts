/**
 * The headings of the reference page, in the order in which a newcomer meets them. Products come first, then customers,
 * usage and payments, then the tools.
 */
export const tags = [
  {
    name: 'Pricing models',
    description:
      'A pricing model holds everything that is for sale: products, prices, features, usage meters and resources. Each customer belongs to one. Start here, with `POST /pricing-models/apply`.',
  },
  {
    name: 'Products',
    description:
      'A product is a plan or an item that customers buy. It has one default price and a set of features. The default product of a pricing model is the plan on which every customer starts.',
  },
  {
    name: 'Prices',
    description:
      'A price is what a product costs in each interval or once, or what the units of a usage meter cost. The terms of a price never change: create another price instead.',
  },
  {
    name: 'Features',
    description:
      'A feature is something that a plan grants: access (`toggle`), usage credits (`usage_credit_grant`), or a number of places (`resource`).',
  },
  {
    name: 'Product features',
    description: 'A product feature links a product to a feature that the product grants to its new subscriptions.',
  },
  {
    name: 'Usage meters',
    description: 'A usage meter counts what customers use, such as API calls or gigabytes, and prices it.',
  },
  {
    name: 'Credit pools',
    description:
      'A credit pool holds credits of a customer that the usage of several meters draws from, each at a rate.',
  },
  {
    name: 'Resources',
    description:
      'A resource is something that is occupied and not used up, such as a seat. Customers claim units of it.',
  },
  {
    name: 'Discounts',
    description: 'A discount takes a percentage or an amount off invoices. Customers redeem it by its code.',
  },
  {
    name: 'Customers',
    description: 'A customer is a person or company that you bill, known by your own id for it, the external id.',
  },
  {
    name: 'Spend controls',
    description:
      'Spend controls are the limits of what a customer uses in a day, week, month or billing period, in units or in money. They refuse, or only notify.',
  },
  {
    name: 'Payment methods',
    description:
      'A payment method is a card or bank account that the payment processor keeps for a customer. In test mode, tokens such as `pm_card_visa` stand for cards.',
  },
  {
    name: 'Subscriptions',
    description:
      'A subscription is a plan that a customer has. It renews at the end of each billing period until it is canceled.',
  },
  {
    name: 'Subscription item features',
    description:
      'A subscription item feature is a feature as one subscription has it. It can be changed or ended for that subscription alone.',
  },
  {
    name: 'Entitlements',
    description: 'Entitlements say what a customer may use now: its features, balances and resources in one answer.',
  },
  {
    name: 'Usage events',
    description: 'A usage event records that a customer has used units of a usage meter. Each event counts once.',
  },
  {
    name: 'Holds',
    description: 'A hold sets units aside before a long job, so that the balance still covers them when the job ends.',
  },
  {
    name: 'Usage credits',
    description:
      'Usage credits are units that a customer may use without paying for them. Plans grant them, and so does this family, by hand.',
  },
  {
    name: 'Resource claims',
    description: 'A resource claim is one unit of a resource that a subscription occupies, such as the seat of a user.',
  },
  {
    name: 'Checkout',
    description: 'Hosted pages on which customers buy, add a payment method, or manage their account.',
  },
  {
    name: 'Purchases',
    description: 'A purchase is one attempt of a customer to buy a product, paid once or by subscription.',
  },
  {
    name: 'Invoices',
    description:
      'An invoice asks a customer for money. A draft may change. Lines, discount and tax never change after it is finalized.',
  },
  {
    name: 'Invoice items',
    description:
      'An invoice item is a line that waits for the next invoice of a customer or a subscription. One invoice takes it, and ' +
      'a void invoice gives it back.',
  },
  {
    name: 'Credit notes',
    description:
      'A credit note takes back part of an invoice, line by line, with its share of discount and tax. Its money goes back ' +
      'by a refund, or lowers the amount due. Credit notes have numbers of their own, without gaps.',
  },
  {
    name: 'Customer balances',
    description:
      'The balance of a customer is money that it has with the seller. It pays for the next invoices of periods and usage.',
  },
  {
    name: 'Payments',
    description: 'A payment is one attempt to collect what is due on an invoice.',
  },
  {
    name: 'Tax rates',
    description: 'A tax rate applies in a country or in one of its states, when the setting `taxProvider` is `rates`.',
  },
  {
    name: 'Webhooks',
    description:
      'A webhook is an address of yours that receives events, signed by the Standard Webhooks specification. The payload is small: read the record for more. It belongs to version 1 of the API: fields may be added, and none is renamed, removed or given another meaning. Ignore fields that you do not know.',
  },
  {
    name: 'Exports',
    description: 'Files of CSV with all records of a kind, for accounting and spreadsheets.',
  },
  {
    name: 'Analytics',
    description: 'Reports on recurring revenue and money over time, exact for any past instant.',
  },
  {
    name: 'Search',
    description: 'A search finds a few records of each type by a text that people know, such as a name or a number.',
  },
  {
    name: 'Settings',
    description:
      'The settings of an environment: currency, payment terms, seller, tax, and retries of failed payments.',
  },
  {
    name: 'Emails',
    description: 'An email tells a customer of an event, in the texts of the seller or the usual ones.',
  },
  {
    name: 'Test clock',
    description: 'The test clock sets the time of the test environment, so that billing can be tested in seconds.',
  },
  {
    name: 'Audit log',
    description: 'The audit log says who changed which record, when, and how.',
  },
  {
    name: 'API keys',
    description:
      'An API key is the credential of a caller. It belongs to one environment, and has permissions. A key gives no other key more than it has.',
  },
  {
    name: 'Organizations',
    description: 'An organization is a company that bills its customers. It has a test and a live environment.',
  },
  {
    name: 'Utilities',
    description: 'A check of the connection and the API key.',
  },
  {
    name: 'Catalogs',
    description:
      'Legacy. A catalog is a pricing model under its name from before August 2025, with instants as ISO 8601 text. These operations exist for older clients: use `Pricing models` instead.',
  },
] as const;
