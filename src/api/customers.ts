import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import {
  archiveCustomer,
  CustomerBilling,
  createCustomer,
  getBilling,
  upsertCustomer,
} from '../billing/customer-billing.ts';
import { createPortalSession } from '../checkout/actions-portal-view.ts';
import { NewPortalSession, PortalSession } from '../checkout/checkout-input.ts';
import {
  listCustomers,
  renderCustomer,
  requireCustomerByExternalId,
  revokePortalLinks,
  updateCustomer,
} from '../customers/actions.ts';
import { Customer, CustomerChange, ExternalId, NewCustomer } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { readEntitlements } from '../entitlements/actions-entitlements.ts';
import { Entitlements } from '../entitlements/entitlement.ts';
import { eraseCustomer } from '../erasure/actions.ts';
import { Erasure } from '../erasure/erasure.ts';
import { batchedRoute, route } from '../http/route.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { TimestampQuery } from '../kernel/json.ts';
import {
  booleanFilter,
  createdFilters,
  idsFilter,
  instantFilter,
  metadataFilter,
  pageOf,
  pageQuery,
  pageRequest,
  searchFilter,
  textFilter,
} from '../kernel/pagination.ts';
import { getAutoTopUp, putAutoTopUp } from '../purchases/actions-auto-top-ups.ts';
import { AutoTopUp, AutoTopUpInput } from '../purchases/auto-top-up.ts';
import { getSpendControls, putSpendControls } from '../spend-controls/actions.ts';
import { SpendControls, SpendControlsInput } from '../spend-controls/spend-limit.ts';
import { Subscription, toSubscription } from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import {
  balanceReads,
  creditReads,
  readPastCredits,
  textOfBalances,
  textOfCredits,
  toUsageMeterBalance,
} from '../usage/actions-balances.ts';
import { readLedger } from '../usage/actions-ledger-entries.ts';
import { LedgerBalance, LedgerEntry, UsageMeterBalance } from '../usage/ledger.ts';
import { CreditBalance } from '../usage/usage-credit.ts';

const tag = 'Customers';

/** The path identifies a customer by external id, and the query by pricing model if the id is ambiguous. */
const externalIdParams = z.object({ externalId: ExternalId });

const pricingModelQuery = z.object({
  pricingModelId: textFilter.meta({ description: 'Required only if several pricing models have this external id.' }),
});

const pastInstant = instantFilter.meta({
  description: 'A past instant, in epoch milliseconds or as an ISO 8601 date-time.',
});
const readInstant = (sent: string | undefined) => (sent === undefined ? undefined : TimestampQuery.parse(sent));

const entitlementsTag = 'Entitlements';

const checkoutTag = 'Checkout';

const spendingTag = 'Spend controls';

const Controls = SpendControls.extend({ autoTopUp: AutoTopUp.nullable() }).meta({ id: 'SpendControls' });
const ControlsInput = SpendControlsInput.extend({
  autoTopUp: AutoTopUpInput.nullish().meta({ description: 'Null removes the automatic top-up. Absent: it stays.' }),
}).meta({ id: 'SpendControlsInput' });

async function readControls(work: Work, named: { externalId: string; pricingModelId: string | undefined }) {
  const controls = await getSpendControls(work, named.externalId, named.pricingModelId);
  return { ...controls, autoTopUp: await getAutoTopUp(work, named) };
}

export const customerRoutes = [
  route({
    method: 'GET',
    path: '/customers',
    cell: 'all',
    merged: 'asc',
    needs: 'customers:read',
    summary: 'List customers',
    description:
      'Returns the customers of the environment, optionally those with an email address or external id. ' +
      'Archived customers are included unless `archived` is `false`.',
    tag,
    query: pageQuery({
      ids: idsFilter,
      search: searchFilter,
      email: textFilter,
      externalId: textFilter,
      pricingModelId: textFilter,
      archived: booleanFilter,
      erased: booleanFilter,
      metadata: metadataFilter,
      ...createdFilters,
    }),
    returns: pageOf(Customer),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCustomers(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'Get a customer',
    description:
      'Returns the customer with this external id. If several pricing models have one, the request is refused ' +
      'until `pricingModelId` names the model.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query }) => ({
      customer: renderCustomer(work, await requireCustomerByExternalId(work, params.externalId, query.pricingModelId)),
    }),
  }),
  route({
    method: 'PUT',
    path: '/customers/{externalId}',
    cell: 'customer',
    needs: 'customers:write',
    summary: 'Update a customer',
    description:
      'Changes the fields that are sent and leaves the others as they are. `externalId` in the body gives the ' +
      'customer another external id. With `upsert=true` a customer that does not exist is created with its default ' +
      'plan. It joins the pricing model that `pricingModelId` names, or the default one.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery.extend({
      upsert: booleanFilter.meta({ description: 'If true, the customer is created if it does not exist.' }),
    }),
    body: z.object({ customer: CustomerChange }),
    returns: z.object({ customer: Customer }),
    refuses: [
      'customerNotFound',
      'externalIdAmbiguous',
      'externalIdTaken',
      'pricingModelNotFound',
      'defaultPricingModelNotFound',
      'outsidePinnedPricingModel',
    ],
    handle: async (work, { params, query, body }) => {
      const change = query.upsert ? upsertCustomer : updateCustomer;
      return {
        customer: renderCustomer(work, await change(work, params.externalId, query.pricingModelId, body.customer)),
      };
    },
  }),
  route({
    method: 'POST',
    path: '/customers',
    cell: 'customer',
    needs: 'customers:write',
    summary: 'Create a customer',
    description:
      'Creates a customer under your own id, `externalId`, and starts the default plan of its pricing model, if ' +
      'there is one. Returns the customer and that subscription. Without `pricingModelId` the customer joins ' +
      'the default pricing model. If the customer exists and has all that is sent, it is returned, so creations at once ' +
      'are safe. An external id of a customer with other data is refused with 409.',
    tag,
    body: z.object({ customer: NewCustomer }),
    returns: z.object({
      data: z.object({
        customer: Customer,
        subscription: Subscription.optional(),
        subscriptionItems: z.array(SubscriptionItem).optional(),
      }),
    }),
    refuses: ['externalIdTaken', 'pricingModelNotFound', 'defaultPricingModelNotFound', 'outsidePinnedPricingModel'],
    handle: async (work, { body }) => {
      const { customer, plan } = await createCustomer(work, body.customer);
      const data = { customer: renderCustomer(work, customer) };
      if (plan === null) return { data };
      const subscriptionItems = plan.items.map((item) => ({ ...item, livemode: work.livemode }));
      return { data: { ...data, subscription: toSubscription(work, plan.subscription), subscriptionItems } };
    },
  }),
  route({
    method: 'POST',
    path: '/customers/{externalId}/archive',
    cell: 'customer',
    needs: 'customers:write',
    summary: 'Archive a customer',
    description:
      'Ends all subscriptions of the customer now and keeps its records. Its external id becomes free for ' +
      'another customer.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query }) => ({
      customer: renderCustomer(work, await archiveCustomer(work, params.externalId, query.pricingModelId)),
    }),
  }),
  route({
    method: 'POST',
    path: '/customers/{externalId}/erase',
    cell: 'customer',
    needs: 'customers:admin',
    summary: 'Erase a customer',
    description:
      'Erases the personal data of a customer for good, archived or not, and archives it. Its external id becomes its ' +
      '`id`, and is free for a new customer. Amounts, invoices and usage stay. A job erases the copies in the audit log, in events and ' +
      'elsewhere, and deletes the customer at its payment processors: repeat the request to see whether it is done. Cancel ' +
      'subscriptions and settle invoices first; the default plan ends by itself.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ erasure: Erasure }),
    refuses: ['customerNotFound', 'externalIdAmbiguous', 'customerSubscribed', 'customerOwes', 'customerBusy'],
    handle: async (work, { params, query }, { services }) => ({
      erasure: await eraseCustomer(work, encryptionOf(services), params.externalId, query.pricingModelId),
    }),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}/billing',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'Get the billing state of a customer',
    description:
      'Returns the customer with its subscriptions, invoices, payment methods, purchases and pricing model in ' +
      'one answer. `billingPortalUrl` opens the customer portal.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: CustomerBilling,
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: (work, { params, query }, { services }) =>
      getBilling(work, encryptionOf(services), params.externalId, query.pricingModelId),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}/entitlements',
    cell: 'customer',
    needs: 'entitlements:read',
    summary: 'Get the entitlements of a customer',
    description:
      'Returns the features, balances and resources that the customer may use now. They come from all current ' +
      'subscriptions, or from the one that `subscriptionId` names. A subscription that is paused, ended or not ' +
      'yet started grants nothing. A renewal or an end that is due is done first.',
    tag: entitlementsTag,
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: z.object({ subscriptionId: textFilter, pricingModelId: textFilter }),
    returns: z.object({ entitlements: Entitlements }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'externalIdAmbiguous'],
    etag: true,
    handle: async (work, { params, query }) => ({
      entitlements: await readEntitlements(work, params.externalId, query, catchUpAll),
    }),
  }),
  batchedRoute({
    method: 'GET',
    path: '/customers/{externalId}/usage-balances',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'Get the usage balances of a customer',
    description:
      'Returns one row for each usage meter of each current subscription. With `subscriptionId` the rows are ' +
      'those of that subscription, whatever its status.',
    tag,
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: z.object({ subscriptionId: textFilter, pricingModelId: textFilter }),
    returns: z.object({ usageMeterBalances: z.array(UsageMeterBalance) }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'externalIdAmbiguous'],
    operation: balanceReads,
    request: ({ params, query }) => ({ ...query, externalId: params.externalId }),
    answer: (balances) => ({ usageMeterBalances: balances.map(toUsageMeterBalance) }),
    batchText: textOfBalances,
  }),
  batchedRoute({
    method: 'GET',
    path: '/customers/{externalId}/credit-balances',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'Get the credit balances of a customer',
    description:
      'Returns the credits of the customer on each usage meter, over all subscriptions that have not ended, with those ' +
      'that wait for the next one. They are as of now, or of the past instant `asOf`.',
    tag,
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: z.object({ pricingModelId: textFilter, asOf: pastInstant }),
    returns: z.object({ creditBalances: z.array(CreditBalance) }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    operation: creditReads,
    request: ({ params: { externalId }, query: { pricingModelId, asOf } }) =>
      asOf === undefined ? { externalId, pricingModelId } : null,
    answer: (creditBalances) => ({ creditBalances }),
    batchText: textOfCredits,
    handleAlone: async (work, { params: { externalId }, query: { pricingModelId, asOf } }) => ({
      creditBalances: await readPastCredits(work, { externalId, pricingModelId }, readInstant(asOf) ?? work.now),
    }),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}/ledger',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'List the ledger entries of a customer',
    description:
      "Returns each change of the customer's balances, in the order of booking. A use names the credits that " +
      'paid for it. `balances` are the balances of all accounts in question, now or at the past instant `asOf`. ' +
      'With `asOf`, later entries are left out.',
    tag,
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: pageQuery({
      subscriptionId: textFilter,
      usageMeterId: textFilter,
      usageMeterSlug: textFilter,
      pricingModelId: textFilter,
      asOf: pastInstant,
    }),
    returns: pageOf(LedgerEntry).extend({ balances: z.array(LedgerBalance) }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'usageMeterNotFound', 'externalIdAmbiguous', 'invalidCursor'],
    handle: (work, { params: { externalId }, query }) => {
      const { pricingModelId, subscriptionId, usageMeterId, usageMeterSlug } = query;
      const asOf = readInstant(query.asOf);
      const ask = { externalId, pricingModelId, subscriptionId, usageMeterId, usageMeterSlug, asOf };
      return readLedger(work, ask, pageRequest(query));
    },
  }),
  route({
    method: 'POST',
    path: '/customers/{externalId}/portal-sessions',
    cell: 'customer',
    needs: 'portal-sessions:write',
    summary: 'Create a link to the customer portal',
    description:
      'Returns a `url` where the customer sees and changes its plan, invoices, usage and payment methods. ' +
      'Create the link when the customer asks for it: until it expires, anyone who has it acts as the customer.',
    tag: checkoutTag,
    params: z.object({ externalId: ExternalId }),
    query: pricingModelQuery,
    body: z.object({ portalSession: NewPortalSession.optional() }),
    returns: z.object({ portalSession: PortalSession }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query, body }, { services }) => ({
      portalSession: await createPortalSession(
        work,
        encryptionOf(services),
        params.externalId,
        body.portalSession ?? {},
        query.pricingModelId,
      ),
    }),
    sealedWith: ({ services }) => encryptionOf(services),
  }),
  route({
    method: 'DELETE',
    path: '/customers/{externalId}/portal-sessions',
    cell: 'customer',
    needs: 'portal-sessions:write',
    summary: 'Revoke the links to the customer portal',
    description:
      'Closes all links to the portal of this customer, with the visits that began with them. A customer who signs ' +
      'out does the same. Links that are created afterwards work.',
    tag: checkoutTag,
    params: z.object({ externalId: ExternalId }),
    query: pricingModelQuery,
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query }) => ({
      customer: renderCustomer(work, await revokePortalLinks(work, params.externalId, query.pricingModelId)),
    }),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}/spend-controls',
    cell: 'customer',
    needs: 'customers:read',
    summary: 'Get spend controls',
    description:
      'Returns the limits of a customer, how much of each is used in the present periods, and its automatic top-up.',
    tag: spendingTag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ spendControls: Controls }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params: { externalId }, query: { pricingModelId } }) => ({
      spendControls: await readControls(work, { externalId, pricingModelId }),
    }),
  }),
  route({
    method: 'PUT',
    path: '/customers/{externalId}/spend-controls',
    cell: 'customer',
    needs: 'customers:write',
    summary: 'Set spend controls',
    description:
      'Sets the limits of a customer in place of those that the seller set before. Consume and holds refuse what does not fit ' +
      'into a blocking limit with 402, exactly under any number of parallel requests. Usage events are always stored; those ' +
      'beyond a blocking limit have `beyondLimit`. A new limit counts from now on. All limits hold. `autoTopUp` buys credits when ' +
      'the balance falls below a line: one purchase at a time, on the default payment method. The credits come with the ' +
      'money. After three failed purchases in a row it stops.',
    tag: spendingTag,
    params: externalIdParams,
    query: pricingModelQuery,
    body: z.object({ spendControls: ControlsInput }),
    returns: z.object({ spendControls: Controls }),
    refuses: [
      'customerNotFound',
      'externalIdAmbiguous',
      'customerArchived',
      'usageMeterNotFound',
      'creditPoolNotFound',
      'priceNotFound',
    ],
    handle: async (work, { params: { externalId }, query: { pricingModelId }, body }) => {
      const named = { externalId, pricingModelId };
      const { autoTopUp, ...limits } = body.spendControls;
      await putSpendControls(work, named, limits);
      if (autoTopUp !== undefined) await putAutoTopUp(work, named, autoTopUp);
      return { spendControls: await readControls(work, named) };
    },
  }),
];
