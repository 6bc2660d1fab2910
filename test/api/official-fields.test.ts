import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckoutSessionCreateParams } from '@flowglad/node/resources/checkout-sessions';
import type { CustomerCreateParams, CustomerUpdateParams } from '@flowglad/node/resources/customers';
import type { DiscountCreateParams, DiscountUpdateParams } from '@flowglad/node/resources/discounts';
import type { PriceCreateParams, PriceUpdateParams } from '@flowglad/node/resources/prices';
import type { PricingModelCloneParams, PricingModelCreateParams } from '@flowglad/node/resources/pricing-models';
import type { ProductCreateParams, ProductUpdateParams } from '@flowglad/node/resources/products';
import type { ResourceClaimClaimParams, ResourceClaimReleaseParams } from '@flowglad/node/resources/resource-claims';
import type { ResourceCreateParams, ResourceUpdateParams } from '@flowglad/node/resources/resources';
import type { SubscriptionAdjustParams, SubscriptionCreateParams } from '@flowglad/node/resources/subscriptions';
import type { UsageEventCreateParams } from '@flowglad/node/resources/usage-events';
import type { UsageMeterCreateParams, UsageMeterUpdateParams } from '@flowglad/node/resources/usage-meters';
import { routes } from '../../src/api/routes.ts';
import { findUnknownFields, placeOf } from '../../src/http/unknown-fields.ts';

/** Every field that a type of the official package has. The compiler refuses the table when one is missing. */
type Whole<Fields> = { [Field in keyof Required<Fields>]: unknown };
const whole = <Fields>(fields: Whole<Fields>) => fields;
const names = <Name extends string>(...fields: Name[]) =>
  Object.fromEntries(fields.map((field) => [field, 'x'])) as Record<Name, unknown>;

type Item = SubscriptionAdjustParams.AdjustSubscriptionImmediatelyInput;
const itemTexts = names('subscriptionId', 'externalId', 'name', 'priceId');
const item = { ...itemTexts, type: 'static', addedDate: 0, quantity: 1, unitPrice: 1, metadata: {}, expiredAt: null };
type NewItem =
  import('@flowglad/node/resources/subscriptions').SubscriptionAdjustParams.AdjustSubscriptionImmediatelyInput.SubscriptionItemWithPriceSlugInput;
type AnsweredItem =
  import('@flowglad/node/resources/subscriptions').SubscriptionAdjustParams.AdjustSubscriptionImmediatelyInput.StaticSubscriptionItemClientSelectSchema;
// The answer about the billing of a customer has the price in each item.
const withPrice = { id: 'x', price: {} };
const adjustment = whole<Item>({
  timing: 'immediately',
  prorateCurrentBillingPeriod: true,
  newSubscriptionItems: [
    withPrice,
    whole<NewItem>({ ...item, priceSlug: 'x', manuallyCreated: true }),
    whole<AnsweredItem>({
      ...item,
      ...names('id', 'pricingModelId'),
      manuallyCreated: false,
      createdAt: 0,
      updatedAt: 0,
      livemode: false,
    }),
  ],
});

const priceTexts = { ...names('name', 'slug', 'productId'), unitPrice: 1, isDefault: true, active: true };
const month = { intervalUnit: 'month', intervalCount: 1 };
const ofNoMeter = { usageEventsPerUnit: null, usageMeterId: null };
const subscriptionPrice = whole<PriceCreateParams.SubscriptionPriceClientInsertSchema>({
  ...priceTexts,
  ...month,
  ...ofNoMeter,
  type: 'subscription',
  trialPeriodDays: 1,
});
const singlePrice = whole<PriceCreateParams.SinglePaymentPriceClientInsertSchema>({
  ...priceTexts,
  ...ofNoMeter,
  type: 'single_payment',
  intervalUnit: null,
  intervalCount: null,
  trialPeriodDays: null,
});
const usagePrice = whole<PriceCreateParams.UsagePriceClientInsertSchema>({
  ...priceTexts,
  ...month,
  type: 'usage',
  productId: null,
  usageMeterId: 'x',
  usageEventsPerUnit: 1,
  trialPeriodDays: null,
});
const ofProduct = <Price extends object>({ productId: _, ...price }: Price & { productId: unknown }) => price;
const productTexts = names('name', 'description', 'imageURL', 'pluralQuantityLabel', 'singularQuantityLabel', 'slug');
const product = { ...productTexts, active: true, default: false };
const discount = { ...names('name', 'code'), amount: 1, amountType: 'fixed', duration: 'once', numberOfPayments: null };
const outputs = { outputName: 'x', outputMetadata: {}, successUrl: 'x', cancelUrl: 'x', customerExternalId: 'x' };

/** Bodies with every field of a method, by operation. `@flowglad/server` adds the last ones of an operation. */
const bodies: Readonly<Record<string, readonly object[]>> = {
  'POST /customers': [
    {
      customer: whole<CustomerCreateParams.Customer>({
        ...names('email', 'externalId', 'name', 'domain', 'iconURL', 'logoURL', 'userId'),
        archived: false,
      }),
    },
  ],
  'PUT /customers/{externalId}': [
    {
      customer: whole<CustomerUpdateParams.Customer>({
        ...names('email', 'name', 'domain', 'iconURL', 'logoURL', 'userId'),
        archived: true,
      }),
    },
    {
      customer: {
        ...names('id', 'name', 'email', 'phone'),
        billingAddress: {
          ...names('name', 'firstName', 'lastName', 'email', 'phone'),
          address: names('name', 'line1', 'line2', 'city', 'state', 'postal_code', 'country'),
        },
      },
      externalId: 'x',
    },
  ],
  'POST /discounts': [
    {
      discount: whole<DiscountCreateParams.DefaultDiscountClientInsertSchema>({
        ...discount,
        active: true,
        pricingModelId: 'x',
      }),
    },
  ],
  'PUT /discounts/{id}': [
    { discount: whole<DiscountUpdateParams.DefaultDiscountClientUpdateSchema>({ ...discount, id: 'x', active: true }) },
  ],
  'POST /prices': [{ price: subscriptionPrice }, { price: singlePrice }, { price: usagePrice }],
  'PUT /prices/{id}': [
    {
      price: whole<PriceUpdateParams.SubscriptionPriceClientUpdateSchema>({
        ...names('id', 'name', 'slug'),
        type: 'subscription',
        isDefault: true,
        active: true,
      }),
    },
  ],
  'POST /pricing-models': [
    whole<PricingModelCreateParams>({ pricingModel: { name: 'x', isDefault: true }, defaultPlanIntervalUnit: 'day' }),
  ],
  'PUT /pricing-models/{id}': [{ pricingModel: { id: 'x', isDefault: true, name: 'x' } }],
  'POST /pricing-models/{id}/clone': [
    whole<PricingModelCloneParams>({ name: 'x', destinationEnvironment: 'livemode' }),
  ],
  'POST /products': [subscriptionPrice, singlePrice].map((price) =>
    whole<ProductCreateParams>({
      product: whole<ProductCreateParams.Product>({ ...product, pricingModelId: 'x' }),
      price: ofProduct(price),
      featureIds: [],
    }),
  ),
  'PUT /products/{id}': [subscriptionPrice, singlePrice].map((price) =>
    whole<ProductUpdateParams>({
      product: whole<ProductUpdateParams.Product>({ ...product, id: 'x' }),
      price,
      featureIds: [],
    }),
  ),
  'POST /resources': [
    { resource: whole<ResourceCreateParams.Resource>({ ...names('name', 'pricingModelId', 'slug'), active: true }) },
  ],
  'PUT /resources/{id}': [
    { resource: whole<ResourceUpdateParams.Resource>({ ...names('id', 'name', 'slug'), active: true }) },
  ],
  'POST /subscriptions': [
    whole<SubscriptionCreateParams>({
      ...names('backupPaymentMethodId', 'customerExternalId', 'customerId', 'defaultPaymentMethodId', 'interval'),
      ...names('name', 'priceId', 'priceSlug', 'startDate'),
      doNotCharge: false,
      intervalCount: 1,
      metadata: {},
      quantity: 1,
      trialEnd: 1,
    }),
  ],
  'POST /subscriptions/{id}/adjust': [{ adjustment }],
  'POST /subscriptions/{id}/preview-adjust': [{ adjustment }],
  'POST /subscriptions/{id}/cancel': [{ cancellation: { timing: 'immediately' } }],
  // The package for servers sends an empty body.
  'POST /subscriptions/{id}/uncancel': [{}],
  'POST /usage-events': [
    {
      usageEvent: whole<UsageEventCreateParams.UsageEvent>({
        ...names('subscriptionId', 'transactionId', 'priceId', 'priceSlug', 'usageMeterId', 'usageMeterSlug'),
        amount: 1,
        properties: {},
        usageDate: 0,
      }),
    },
  ],
  'POST /usage-meters': [
    {
      usageMeter: whole<UsageMeterCreateParams.UsageMeter>({
        ...names('name', 'pricingModelId', 'slug'),
        aggregationType: 'sum',
      }),
      price: whole<UsageMeterCreateParams.Price>({ type: 'usage', unitPrice: 1, usageEventsPerUnit: 1 }),
    },
  ],
  'PUT /usage-meters/{id}': [
    {
      usageMeter: whole<UsageMeterUpdateParams.UsageMeter>({ ...names('id', 'name', 'slug'), aggregationType: 'sum' }),
    },
  ],
  'POST /checkout-sessions': [
    {
      checkoutSession: whole<CheckoutSessionCreateParams.IdentifiedProductCheckoutSessionInput>({
        ...outputs,
        ...names('priceId', 'priceSlug'),
        type: 'product',
        anonymous: false,
        preserveBillingCycleAnchor: true,
        quantity: 1,
      }),
    },
    {
      checkoutSession: whole<CheckoutSessionCreateParams.ActivateSubscriptionCheckoutSessionInput>({
        ...outputs,
        type: 'activate_subscription',
        targetSubscriptionId: 'x',
        preserveBillingCycleAnchor: true,
      }),
    },
    {
      checkoutSession: whole<CheckoutSessionCreateParams.AddPaymentMethodCheckoutSessionInput>({
        ...outputs,
        type: 'add_payment_method',
        targetSubscriptionId: 'x',
        automaticallyUpdateSubscriptions: true,
      }),
    },
  ],
  'POST /resource-claims/{subscriptionId}/claim': [
    whole<ResourceClaimClaimParams>({
      ...names('resourceSlug', 'externalId'),
      externalIds: [],
      metadata: {},
      quantity: 1,
    }),
  ],
  'POST /resource-claims/{subscriptionId}/release': [
    whole<ResourceClaimReleaseParams>({
      ...names('resourceSlug', 'externalId'),
      claimIds: [],
      externalIds: [],
      quantity: 1,
    }),
  ],
  'POST /payments/{id}/refund': [{ partialAmount: 1 }],
  // By hand: the document of the reference requires the name and the slug.
  'POST /subscription-item-features': [
    { subscriptionItemFeature: names('subscriptionItemId', 'featureId', 'type', 'name', 'slug') },
  ],
  // By hand: the reference dropped the field from its own clients in January 2026.
  'PUT /features/{id}': [{ feature: names('id', 'name', 'slug', 'description', 'pricingModelId') }],
};

const queries: Readonly<Record<string, object>> = {
  'GET /resources': names('pricingModelId'),
  'GET /resource-claims/{subscriptionId}/usages': names('resourceIds', 'resourceSlugs'),
  // The package for servers passes on what its caller says.
  'GET /resource-claims/{subscriptionId}/usage': names('resourceId', 'resourceSlug', 'subscriptionId'),
  'GET /resource-claims/{subscriptionId}/claims': names('resourceSlug'),
  'GET /customers/{externalId}/usage-balances': names('subscriptionId'),
};

test('the list of ignored fields is what the official packages send and no operation has', () => {
  for (const { method, path, query, body, ignores = [] } of routes) {
    const operation = `${method} ${path}`;
    const sent = queries[operation];
    const fields = [
      ...(sent === undefined ? [] : findUnknownFields('query', query ?? assert.fail(operation), sent)),
      ...(bodies[operation] ?? []).flatMap((each) => (body ? findUnknownFields('body', body, each) : [])),
    ];
    assert.deepEqual([...new Set(fields.map(placeOf))].sort(), [...ignores].sort(), operation);
  }
});
