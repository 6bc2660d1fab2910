import { bulkParts, type Call, calls } from './api-calls.ts';
import type { Body } from './harness.ts';
import type { TenantWorld } from './tenants-world.ts';

type CallOf = (world: TenantWorld, n: string) => Call;

const later = () => Date.now() + 86_400_000;
const amount = 1;
const event = (w: TenantWorld, n: string, rest: object) => ({
  subscriptionId: w.subscriptionId,
  transactionId: `call-${n}`,
  amount,
  ...rest,
});
/** The ways to say what is used, and who uses it. */
const used: readonly ((w: TenantWorld) => object)[] = [
  (w) => ({ priceId: w.callsPriceId }),
  (w) => ({ priceSlug: w.callsPriceSlug }),
  (w) => ({ usageMeterId: w.callsMeterId }),
  (w) => ({ usageMeterSlug: w.callsMeterSlug }),
  (w) => ({ subscriptionId: undefined, customerId: w.customerId, usageMeterSlug: w.callsMeterSlug }),
  (w) => ({ subscriptionId: undefined, customerExternalId: w.externalId, usageMeterSlug: w.callsMeterSlug }),
];
const consumed = [...used, (w: TenantWorld) => ({ eventName: w.callsEventName })];
const told = [...consumed, (w: TenantWorld) => ({ eventName: w.asksEventName, properties: { size: 'large' } })];
const rateOf = (w: TenantWorld) => ({
  usageMeterId: w.callsMeterId,
  usageMeterSlug: w.callsMeterSlug,
  priceId: w.callsPriceId,
  priceSlug: w.callsPriceSlug,
});
const newGrant = (n: string, grant: object) => ({
  path: '/features',
  body: {
    feature: { type: 'usage_credit_grant', slug: `grant-${n}`, name: 'G', amount, renewalFrequency: 'once', ...grant },
  },
});
const ofPool = (w: TenantWorld) => ({ creditPoolId: w.poolId });
const newLimit = (w: TenantWorld, subject: object = { usageMeterId: w.callsMeterId }) => ({
  ...{ type: 'spend_limit', amount, pricingModelId: w.pricingModelId },
  spendLimit: { ...subject, period: 'month' },
});
const newPool = (w: TenantWorld, n: string) => ({
  ...{ name: 'Pool', slug: `pool-${n}`, unit: 'credit', pricingModelId: w.pricingModelId },
  rates: [{ usageMeterSlug: w.callsMeterSlug, where: { n: [n] }, cost: '1' }],
});
const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 100, isDefault: true };
const returns = { successUrl: 'https://app.example.com/paid', cancelUrl: 'https://app.example.com/plans' };
const adjustments = (verb: string): CallOf[] =>
  [
    (w: TenantWorld) => [
      { id: w.subscriptionItemId, subscriptionId: w.subscriptionId, quantity: 2 },
      { priceId: w.planPriceId },
    ],
    (w: TenantWorld, n: string) => [{ priceId: w.priceId, externalId: `item-${n}` }, { priceSlug: w.planPriceSlug }],
  ].map((items) => (w, n) => ({
    path: `/subscriptions/${w.subscriptionId}/${verb}`,
    body: {
      adjustment: {
        timing: 'immediately',
        newSubscriptionItems: items(w, n),
        priceOverrides: [
          { priceId: w.planPriceId, unitPrice: 1 },
          { priceSlug: w.callsPriceSlug, unitPrice: null },
        ],
      },
    },
  }));
const itemFeature = (rest: (w: TenantWorld) => object): CallOf => {
  return (w) => ({
    path: '/subscription-item-features',
    body: { subscriptionItemFeature: { subscriptionItemId: w.subscriptionItemId, ...rest(w) } },
  });
};
const itemFeatureChange = (idOf: (w: TenantWorld) => string, rest: (w: TenantWorld) => object): CallOf => {
  return (w) => ({
    path: `/subscription-item-features/${idOf(w)}`,
    body: { subscriptionItemFeature: { expiredAt: 4_102_444_800_000, ...rest(w) } },
  });
};
const wholeModel = (w: Pick<TenantWorld, 'callsMeterSlug' | 'callsPriceSlug' | 'seatSlug'>, n: string) => ({
  features: [
    { type: 'toggle', slug: `toggle-${n}`, name: 'T', description: '' },
    { type: 'resource', slug: `seats-${n}`, name: 'S', description: '', amount, resourceSlug: w.seatSlug },
    {
      type: 'usage_credit_grant',
      slug: `credits-${n}`,
      name: 'C',
      description: '',
      amount,
      renewalFrequency: 'once',
      usageMeterSlug: w.callsMeterSlug,
    },
  ],
  products: [
    {
      product: {
        name: 'Extra',
        slug: `extra-${n}`,
        active: true,
        usagePrices: [{ usageMeterSlug: w.callsMeterSlug, priceSlug: w.callsPriceSlug }],
      },
      price: { ...monthly, slug: `extra-monthly-${n}` },
      features: [],
    },
  ],
  usageMeters: [
    {
      usageMeter: { name: 'Meter', slug: w.callsMeterSlug, eventName: `called-${n}` },
      prices: [
        {
          type: 'usage',
          slug: w.callsPriceSlug,
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 1,
          usageEventsPerUnit: 100,
          isDefault: true,
        },
      ],
    },
  ],
  resources: [{ slug: w.seatSlug, name: 'Seat' }],
});

/** A catalog and one more of everything that a catalog names. */
function withNew({ pricingModel }: Body, n: string): Body {
  const names = {
    callsMeterSlug: pricingModel.usageMeters[1].usageMeter.slug,
    callsPriceSlug: pricingModel.usageMeters[1].prices[0].slug,
    seatSlug: pricingModel.resources[1].slug,
  };
  const { features, products, usageMeters } = wholeModel(names, n);
  const newMeters = usageMeters.map(({ prices }) => ({
    usageMeter: { name: 'New', slug: `meter-${n}` },
    prices: prices.map((price) => ({ ...price, slug: `overage-${n}` })),
  }));
  return {
    pricingModel: {
      ...pricingModel,
      features: [...pricingModel.features, ...features],
      products: [...pricingModel.products, ...products],
      usageMeters: [...pricingModel.usageMeters, ...newMeters],
      resources: [...pricingModel.resources, { slug: `seat-${n}`, name: 'New' }],
    },
  };
}

/** Calls that name records in every way there is, in place of the one of `test/support/api-calls.ts`. */
const tenantCalls: Readonly<Record<string, readonly CallOf[]>> = {
  'POST /api-keys': [
    (w, n) => ({
      path: '/api-keys',
      body: { apiKey: { name: `Key ${n}`, permissions: ['read'], pricingModelId: w.pricingModelId } },
    }),
  ],
  'PUT /api-keys/{id}': [
    (w, n) => ({
      path: `/api-keys/${w.spareApiKeyId}`,
      body: { apiKey: { id: w.spareApiKeyId, name: `Key ${n}`, permissions: ['read'] } },
    }),
  ],
  'POST /customers': [
    (w, n) => ({
      path: '/customers',
      body: { customer: { externalId: `new-${n}`, email: 'n@a.test', name: 'N', pricingModelId: w.pricingModelId } },
    }),
  ],
  'POST /subscriptions': [
    (w) => ({
      path: '/subscriptions',
      body: {
        customerId: w.newcomerId,
        priceId: w.priceId,
        defaultPaymentMethodId: w.newcomerCardId,
        backupPaymentMethodId: w.newcomerCardId,
        priceOverrides: [{ priceId: w.priceId, unitPrice: 1 }],
      },
    }),
    (w) => ({
      path: '/subscriptions',
      body: {
        customerExternalId: w.newcomerExternalId,
        priceSlug: w.planPriceSlug,
        discountCode: w.discountCode,
        priceOverrides: [{ priceSlug: w.planPriceSlug, unitPrice: 1 }],
      },
    }),
    (w) => ({ path: '/subscriptions', body: { customerId: w.newcomerId, items: [{ priceId: w.planPriceId }] } }),
    (w) => ({ path: '/subscriptions', body: { customerId: w.newcomerId, items: [{ priceSlug: w.planPriceSlug }] } }),
  ],
  'POST /purchases': [
    (w: TenantWorld) => ({ customerId: w.newcomerId, priceId: w.priceId, paymentMethodId: w.newcomerCardId }),
    (w: TenantWorld) => ({
      customerExternalId: w.newcomerExternalId,
      priceSlug: w.planPriceSlug,
      discountCode: w.discountCode,
    }),
    (w: TenantWorld) => ({ customerId: w.newcomerId, items: [{ priceId: w.planPriceId }] }),
    (w: TenantWorld) => ({ customerId: w.newcomerId, items: [{ priceSlug: w.planPriceSlug }] }),
  ].map((purchase: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: '/purchases', body: { purchase: purchase(w) } });
  }),
  'POST /subscriptions/{id}/adjust': adjustments('adjust'),
  'POST /subscriptions/{id}/preview-adjust': adjustments('preview-adjust'),
  'POST /prices/quote': [
    (w) => ({ path: '/prices/quote', body: { quote: { lines: [{ priceId: w.planPriceId, units: 1 }] } } }),
    (w) => ({ path: '/prices/quote', body: { quote: { lines: [{ priceSlug: w.planPriceSlug, units: 1 }] } } }),
  ],
  'POST /pricing-models/apply': [
    (w, n) => ({ path: '/pricing-models/apply', body: { name: `Applied ${n}`, ...wholeModel(w, n) } }),
  ],
  'POST /pricing-models/setup': [
    (w, n) => ({ path: '/pricing-models/setup', body: { name: `Setup ${n}`, ...wholeModel(w, n) } }),
  ],
  'POST /pricing-models/{id}/apply': [
    (w, n) => ({ path: `/pricing-models/${w.pricingModelId}/apply`, body: withNew(w.exported, n) }),
  ],
  'PUT /pricing-models/{id}': [
    (w, n) => ({
      path: `/pricing-models/${w.pricingModelId}`,
      body: { pricingModel: { id: w.pricingModelId, name: `Renamed ${n}` } },
    }),
    (w, n) => ({ path: `/pricing-models/${w.pricingModelId}`, body: withNew(w.exported, n) }),
  ],
  'POST /products': [
    (w, n) => ({
      path: '/products',
      body: {
        product: { name: 'Extra', slug: `extra-${n}`, pricingModelId: w.pricingModelId, usagePrices: [rateOf(w)] },
        price: { ...monthly, slug: `extra-monthly-${n}` },
        featureIds: [w.toggleId, w.spareToggleId],
      },
    }),
    (w, n) => ({
      path: '/products',
      body: {
        product: { name: 'Metered', slug: `metered-${n}`, pricingModelId: w.pricingModelId },
        price: {
          type: 'usage',
          slug: `metered-${n}`,
          usageMeterId: w.callsMeterId,
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 1,
          usageEventsPerUnit: 1,
        },
      },
    }),
  ],
  'PUT /products/{id}': [
    (w, n) => ({
      path: `/products/${w.productId}`,
      body: {
        product: { id: w.productId, name: `Team ${n}`, slug: `team-${n}`, usagePrices: [rateOf(w)] },
        price: { ...monthly, productId: w.productId, slug: `team-monthly-${n}` },
        featureIds: [w.toggleId, w.spareToggleId],
      },
    }),
  ],
  'POST /prices': [
    calls['POST /prices'] as CallOf,
    (w, n) => ({
      path: '/prices',
      body: { price: { ...monthly, productId: w.productId, pricingModelId: w.pricingModelId, slug: `p-${n}` } },
    }),
  ],
  'PUT /prices/{id}': [
    (w, n) => ({
      path: `/prices/${w.priceId}`,
      body: { price: { id: w.priceId, type: 'subscription', isDefault: true, slug: `price-${n}` } },
    }),
  ],
  'POST /features': [
    (w, n) => newGrant(n, { usageMeterId: w.callsMeterId, pricingModelId: w.pricingModelId }),
    (w, n) => newGrant(n, ofPool(w)),
    (w, n) => ({ path: '/features', body: { feature: { ...newLimit(w), slug: `limit-${n}`, name: 'L' } } }),
    (w, n) => ({ path: '/features', body: { feature: { ...newLimit(w, ofPool(w)), slug: `drawn-${n}`, name: 'D' } } }),
    (w, n) => ({
      path: '/features',
      body: { feature: { type: 'resource', slug: `seats-${n}`, name: 'S', amount, resourceId: w.seatId } },
    }),
    (w, n) => {
      const weekly = { renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 1 } };
      return newGrant(n, { ...weekly, usageMeterId: w.callsMeterId });
    },
  ],
  'PUT /features/{id}': [
    (w, n) => ({
      path: `/features/${w.creditFeatureId}`,
      body: { feature: { id: w.creditFeatureId, usageMeterId: w.callsMeterId, slug: `credits-${n}` } },
    }),
    (w) => ({ path: `/features/${w.seatFeatureId}`, body: { feature: { resourceId: w.seatId } } }),
    (w) => ({ path: `/features/${w.poolFeatureId}`, body: { feature: ofPool(w) } }),
    (w) => ({ path: `/features/${w.limitFeatureId}`, body: { feature: { spendLimit: newLimit(w).spendLimit } } }),
    (w) => ({
      path: `/features/${w.drawnFeatureId}`,
      body: { feature: { spendLimit: newLimit(w, ofPool(w)).spendLimit } },
    }),
  ],
  'PUT /usage-meters/{id}': [
    (w, n) => ({
      path: `/usage-meters/${w.callsMeterId}`,
      body: { usageMeter: { id: w.callsMeterId, slug: `meter-${n}`, eventName: `called-${n}` } },
    }),
  ],
  'POST /credit-pools': [(w, n) => ({ path: '/credit-pools', body: { creditPool: newPool(w, n) } })],
  'PUT /credit-pools/{id}': [
    (w, n) => ({
      path: `/credit-pools/${w.poolId}`,
      body: {
        creditPool: { id: w.poolId, slug: `pool-${n}`, rates: [{ usageMeterSlug: w.callsMeterSlug, cost: '2' }] },
      },
    }),
  ],
  'PUT /resources/{id}': [
    (w, n) => ({ path: `/resources/${w.seatId}`, body: { resource: { id: w.seatId, slug: `seat-${n}` } } }),
  ],
  'PUT /catalogs/{id}': [
    (w, n) => ({
      path: `/catalogs/${w.pricingModelId}`,
      body: { catalog: { id: w.pricingModelId, name: `Catalog ${n}` } },
    }),
  ],
  'POST /discounts': [
    (w, n) => ({
      path: '/discounts',
      body: {
        discount: {
          ...{ name: 'Spring', code: `SPRING-${n}`, amount: 5, amountType: 'percent', duration: 'once' },
          ...{ pricingModelId: w.pricingModelId, productIds: [w.productId] },
        },
      },
    }),
  ],
  'POST /subscriptions/{id}/discounts': [
    (w: TenantWorld) => ({ discountId: w.spareDiscountId }),
    (w: TenantWorld) => ({ code: w.discountCode }),
  ].map((discount: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: `/subscriptions/${w.subscriptionId}/discounts`, body: { discount: discount(w) } });
  }),
  'PUT /discounts/{id}': [
    (w, n) => ({
      path: `/discounts/${w.discountId}`,
      body: {
        discount: { id: w.discountId, name: `Summer ${n}`, code: `SUMMER-${n}`, productIds: [w.productId] },
      },
    }),
  ],
  'POST /subscription-item-features': [
    itemFeature((w) => ({ featureId: w.spareFeatureId, type: 'toggle' })),
    itemFeature((w) => ({ featureId: w.spareCreditFeatureId, usageMeterId: w.callsMeterId })),
    itemFeature((w) => ({ featureId: w.spareCreditFeatureId, creditPoolId: w.poolId })),
    itemFeature((w) => ({ featureId: w.spareSeatFeatureId, resourceId: w.seatId })),
    itemFeature((w) => ({ featureId: w.spareToggleId, productFeatureId: w.spareLinkId })),
  ],
  'PUT /subscription-item-features/{id}': [
    itemFeatureChange(
      (w) => w.toggleItemFeatureId,
      (w) => ({
        id: w.toggleItemFeatureId,
        featureId: w.toggleId,
        subscriptionItemId: w.subscriptionItemId,
        subscriptionId: w.subscriptionId,
        productFeatureId: w.toggleLinkId,
      }),
    ),
    itemFeatureChange(
      (w) => w.creditItemFeatureId,
      (w) => ({ usageMeterId: w.callsMeterId }),
    ),
    itemFeatureChange((w) => w.creditItemFeatureId, ofPool),
    itemFeatureChange(
      (w) => w.seatItemFeatureId,
      (w) => ({ resourceId: w.seatId }),
    ),
  ],
  'POST /resource-claims/{subscriptionId}/claim': [
    (w, n) => ({
      path: `/resource-claims/${w.subscriptionId}/claim`,
      body: { resourceSlug: w.seatSlug, externalId: `claim-${n}` },
    }),
    (w, n) => ({
      path: `/resource-claims/${w.subscriptionId}/claim`,
      body: { resourceSlug: w.seatSlug, externalIds: [`claim-${n}`, `other-${n}`] },
    }),
  ],
  'POST /resource-claims/{subscriptionId}/release': [
    ...[
      (w: TenantWorld) => ({ externalId: w.seatClaimName }),
      (w: TenantWorld) => ({ externalIds: [w.seatClaimName] }),
      (w: TenantWorld) => ({ claimIds: [w.seatClaimId] }),
    ].map(
      (which): CallOf =>
        (w) => ({
          path: `/resource-claims/${w.subscriptionId}/release`,
          body: { resourceSlug: w.seatSlug, ...which(w) },
        }),
    ),
  ],
  'POST /entitlements/check': [
    (w) => ({
      path: '/entitlements/check',
      body: {
        pricingModelId: w.pricingModelId,
        checks: [
          { customerExternalId: w.externalId, featureSlug: w.toggleSlug },
          { customerExternalId: w.newcomerExternalId, featureSlug: w.spareToggleSlug },
        ],
      },
    }),
  ],
  'POST /subscriptions/{id}/add-feature': [
    calls['POST /subscriptions/{id}/add-feature'] as CallOf,
    (w) => ({ path: `/subscriptions/${w.subscriptionId}/add-feature`, body: { featureSlug: w.spareToggleSlug } }),
  ],
  'POST /usage-credits': [
    (w, n) => ({
      path: '/usage-credits',
      body: {
        usageCredit: {
          subscriptionId: w.subscriptionId,
          usageMeterId: w.callsMeterId,
          amount,
          reason: 'Sorry',
          transactionId: `credit-${n}`,
        },
      },
    }),
    ...(['poolId', 'poolSlug'] as const).map((by) => (w: TenantWorld, n: string) => ({
      path: '/usage-credits',
      body: {
        usageCredit: {
          customerExternalId: w.externalId,
          [by === 'poolId' ? 'creditPoolId' : 'creditPoolSlug']: w[by],
          amount: '0.5',
          transactionId: `pool-${n}`,
        },
      },
    })),
    (w) => ({
      path: '/usage-credits',
      body: {
        usageCredit: { subscriptionId: w.subscriptionId, usageMeterSlug: w.callsMeterSlug, amount, reason: 'Sorry' },
      },
    }),
    ...(['customerId', 'externalId'] as const).map((by) => (w: Parameters<CallOf>[0]) => ({
      path: '/usage-credits',
      body: {
        usageCredit: {
          [by === 'externalId' ? 'customerExternalId' : by]: w[by],
          usageMeterId: w.callsMeterId,
          amount,
        },
      },
    })),
  ],
  'POST /usage-events': told.map((by) => (w, n) => ({
    path: '/usage-events',
    body: { usageEvent: event(w, n, by(w)) },
  })),
  'POST /usage-events/consume': consumed.map((by) => (w, n) => ({
    path: '/usage-events/consume',
    body: { usageEvent: event(w, n, by(w)) },
  })),
  'POST /usage-events/bulk': told.map((by) => (w, n) => ({
    path: '/usage-events/bulk',
    body: { usageEvents: bulkParts.map((part) => event(w, `${n}-${part}`, by(w))) },
  })),
  'POST /holds': [...used, (w: TenantWorld) => ({ meter: w.callsMeterSlug })].map((by) => (w) => ({
    path: '/holds',
    body: { hold: { subscriptionId: w.subscriptionId, amount, expiresAt: later(), ...by(w) } },
  })),
  'PUT /customers/{externalId}/spend-controls': [
    (w: TenantWorld) => ({ limits: [{ usageMeterSlug: w.callsMeterSlug, period: 'day', amount }] }),
    (w: TenantWorld) => ({ ownLimits: [{ usageMeterSlug: w.callsMeterSlug, period: 'day', amount }] }),
    (w: TenantWorld) => ({ limits: [{ creditPoolSlug: w.poolSlug, period: 'day', amount }] }),
    (w: TenantWorld) => ({ ownLimits: [{ creditPoolSlug: w.poolSlug, period: 'day', amount }] }),
    (w: TenantWorld) => ({
      autoTopUp: { priceSlug: w.unitsPriceSlug, below: 1, quantity: 1, maximumAmountPerMonth: 1000 },
    }),
  ].map((controlsOf) => (w: TenantWorld) => ({
    path: `/customers/${w.externalId}/spend-controls`,
    body: { spendControls: controlsOf(w) },
  })),
  'POST /subscriptions/{id}/retry-payment': [
    (w) => ({
      path: `/subscriptions/${w.owingSubscriptionId}/retry-payment`,
      body: { paymentMethodId: w.owingCardId },
    }),
  ],
  'POST /invoices': [
    (w: TenantWorld) => ({ customerId: w.newcomerId, lines: [{ priceId: w.planPriceId }] }),
    (w: TenantWorld) => ({
      customerExternalId: w.newcomerExternalId,
      lines: [{ priceSlug: w.planPriceSlug }],
      discountCode: w.discountCode,
    }),
  ].map((invoice: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: '/invoices', body: { invoice: invoice(w) } });
  }),
  'PUT /invoices/{id}': [
    (w: TenantWorld) => ({ id: w.draftInvoiceId, lines: [{ priceId: w.planPriceId }] }),
    (w: TenantWorld) => ({ lines: [{ priceSlug: w.planPriceSlug }], discountCode: w.discountCode }),
  ].map((invoice: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: `/invoices/${w.draftInvoiceId}`, body: { invoice: invoice(w) } });
  }),
  'POST /invoices/{id}/lines': [
    (w) => ({ path: `/invoices/${w.draftInvoiceId}/lines`, body: { lines: [{ priceId: w.planPriceId }] } }),
    (w) => ({ path: `/invoices/${w.draftInvoiceId}/lines`, body: { lines: [{ priceSlug: w.planPriceSlug }] } }),
  ],
  'POST /invoice-items': [
    (w: TenantWorld) => ({ customerId: w.customerId, priceId: w.planPriceId }),
    (w: TenantWorld) => ({ customerExternalId: w.externalId, priceSlug: w.planPriceSlug }),
    (w: TenantWorld) => ({ subscriptionId: w.subscriptionId, description: 'Set-up', unitAmount: 1 }),
  ].map((invoiceItem: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: '/invoice-items', body: { invoiceItem: invoiceItem(w) } });
  }),
  'PUT /invoice-items/{id}': [
    (w: TenantWorld) => ({ id: w.invoiceItemId, priceId: w.planPriceId }),
    (w: TenantWorld) => ({ priceSlug: w.planPriceSlug }),
  ].map((invoiceItem: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: `/invoice-items/${w.invoiceItemId}`, body: { invoiceItem: invoiceItem(w) } });
  }),
  'POST /invoices/{id}/pay': [
    (w) => ({ path: `/invoices/${w.openInvoiceId}/pay`, body: { paymentMethodId: w.owingCardId } }),
  ],
  'PUT /tax-rates/{id}': [
    (w, n) => ({ path: `/tax-rates/${w.taxRateId}`, body: { taxRate: { id: w.taxRateId, name: `VAT ${n}` } } }),
  ],
  'POST /checkout-sessions': [
    (w: TenantWorld) => ({
      customerExternalId: w.newcomerExternalId,
      type: 'product',
      priceId: w.priceId,
      discountCode: w.discountCode,
    }),
    (w: TenantWorld) => ({ customerExternalId: w.newcomerExternalId, type: 'product', priceSlug: w.planPriceSlug }),
    (w: TenantWorld) => ({
      customerExternalId: w.newcomerExternalId,
      type: 'product',
      items: [{ priceId: w.planPriceId }],
      optionalItems: [{ priceId: w.extraPriceId }],
    }),
    (w: TenantWorld) => ({
      customerExternalId: w.newcomerExternalId,
      type: 'product',
      items: [{ priceSlug: w.planPriceSlug }],
      optionalItems: [{ priceSlug: w.extraPriceSlug }],
    }),
    (w: TenantWorld) => ({
      customerExternalId: w.waitingExternalId,
      type: 'activate_subscription',
      targetSubscriptionId: w.waitingSubscriptionId,
    }),
    (w: TenantWorld) => ({
      customerExternalId: w.externalId,
      type: 'add_payment_method',
      targetSubscriptionId: w.subscriptionId,
    }),
  ].map((session: (w: TenantWorld) => object): CallOf => {
    return (w) => ({ path: '/checkout-sessions', body: { checkoutSession: { ...returns, ...session(w) } } });
  }),
  'PUT /subscriptions/{id}': [
    (w) => ({
      path: `/subscriptions/${w.subscriptionId}`,
      body: {
        subscription: {
          id: w.subscriptionId,
          defaultPaymentMethodId: w.paymentMethodId,
          backupPaymentMethodId: w.sparePaymentMethodId,
        },
      },
    }),
  ],
  'POST /payment-methods': [
    (w: TenantWorld) => ({ customerId: w.customerId }),
    (w: TenantWorld) => ({ customerExternalId: w.externalId }),
  ].map(
    (whose): CallOf =>
      (w) => ({
        path: '/payment-methods',
        body: { paymentMethod: { ...whose(w), type: 'card', token: 'pm_card_visa' } },
      }),
  ),
  'PUT /webhooks/{id}': [
    (w, n) => ({
      path: `/webhooks/${w.webhookId}`,
      body: {
        webhook: { id: w.webhookId, pricingModelId: w.pricingModelId, name: `Hook ${n}`, filterTypes: [] },
      },
    }),
  ],
};

/** Valid calls of an operation, by method and path. */
export function callsOf(operation: string): readonly CallOf[] {
  const shared = calls[operation];
  return tenantCalls[operation] ?? (shared === undefined ? [] : [shared]);
}
