import { Button, Progress, Skeleton, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Customer, CustomerBilling, SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { countText, featureText, words } from '../parts/format.ts';
import { Listed } from '../parts/listed.tsx';
import { subscriptionColumns } from '../parts/money-columns.tsx';
import { PortalLink } from '../parts/portal-link.tsx';
import { priceText } from '../parts/price-text.ts';
import { isInTheWay, PageProblem, Problem } from '../parts/problem.tsx';
import { addressWith, Rows, useFilters } from '../parts/records.tsx';
import { Facts, Go, Heading, Identifier, Section, Status, When } from '../parts/shown.tsx';
import { SubscriptionActions } from '../parts/subscription-actions.tsx';
import { Timeline } from '../parts/timeline.tsx';
import { useMay } from '../session.ts';

const Balances = lazy(() => import('../parts/balances.tsx').then(({ Balances: Part }) => ({ default: Part })));
const MeterUsage = lazy(() => import('../parts/meter-usage.tsx').then(({ MeterUsage: Part }) => ({ default: Part })));
const MoneyOf = lazy(() => import('../parts/customer-money.tsx').then(({ MoneyOf: Part }) => ({ default: Part })));
const SpendControls = lazy(() =>
  import('../parts/spend-controls.tsx').then(({ SpendControls: Part }) => ({ default: Part })),
);
const CustomerTerms = lazy(() =>
  import('../parts/customer-terms.tsx').then(({ CustomerTerms: Part }) => ({ default: Part })),
);
const NewDraft = lazy(() => import('../parts/draft-dialog.tsx').then(({ NewDraft: Part }) => ({ default: Part })));

const mostShown = 20;
const tabs = ['overview', 'money', 'usage', 'history'] as const;

export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('customers', 'list', { ids: id, limit: 1 }));
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const [customer] = data.data;
  if (customer === undefined)
    return (
      <>
        <Heading title="There is no such customer" />
        <Empty title="No customer of this mode has this id">
          Switch between test and live above, or <Go to="/customers">search the customers</Go>.
        </Empty>
      </>
    );
  return <CustomerPage customer={customer} />;
}

interface OfCustomer {
  readonly customer: Customer;
  readonly billing?: CustomerBilling | undefined;
}

/** Names one customer where external ids of several pricing models may be the same. */
const referenceOf = ({ externalId, pricingModelId }: Customer) => ({ externalId, pricingModelId });

/** The addresses whose last email was refused for good. */
function Bounced({ customer: { id } }: OfCustomer) {
  const mayRead = useMay('emails:read');
  const { data } = useQuery({
    ...read('emails', 'list', { customerId: id, order: 'desc', limit: mostShown }),
    enabled: mayRead,
  });
  const last = new Map<string, string | null>();
  for (const { status, recipients, bouncedRecipients, lastError } of data?.data ?? [])
    for (const address of [...(status === 'sent' ? recipients : []), ...bouncedRecipients])
      if (!last.has(address)) last.set(address, bouncedRecipients.includes(address) ? lastError : null);
  const refused = [...last.values()].filter((reason) => reason !== null);
  if (refused.length === 0) return null;
  return (
    <p role="status">
      {`The mail server refused ${refused.join('; ')}. Emails to that address are not sent until the customer has another one, or `}
      <Go to="/emails">an email is sent again</Go>.
    </p>
  );
}

function CustomerPage({ customer }: OfCustomer) {
  const { filters, setFilters } = useFilters();
  const tab = tabs.find((name) => name === filters.tab) ?? 'overview';
  const { name, externalId, email } = customer;
  const { data: billing, error, refetch } = useQuery(read('customers', 'getBilling', referenceOf(customer)));
  const { pricingModelId } = customer;
  const { data: pools } = useQuery(read('creditPools', 'list', { pricingModelId, limit: 100 }));
  const meters = new Map(billing?.pricingModel.usageMeters.map((meter) => [meter.id, meter.name]));
  const subjects = new Map([...meters, ...(pools?.data ?? []).map(({ id, name: ofPool }) => [id, ofPool] as const)]);
  return (
    <>
      <Heading
        title={name || externalId}
        below={email}
        aside={
          <>
            <NewInvoiceButton customer={customer} billing={billing} />
            <PortalLink customer={customer} />
          </>
        }
      />
      <Bounced customer={customer} />
      {error !== null && <Problem error={error} retry={refetch} />}
      <Tabs value={tab} onChange={(value) => setFilters({ tab: value ?? undefined })} keepMounted={false}>
        <Tabs.List mb="lg">
          {tabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words(each)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <Overview customer={customer} billing={billing} />
        </Tabs.Panel>
        <Tabs.Panel value="money">
          <Suspense fallback={<Skeleton height={260} />}>
            <MoneyOf customer={customer} currency={billing && currencyOf(billing)} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="usage">
          <Suspense fallback={<Skeleton height={260} />}>
            {billing === undefined ? <Skeleton height={260} /> : <Balances customer={customer} meters={subjects} />}
            {billing !== undefined && (
              <SpendControls customer={customer} billing={billing} currency={currencyOf(billing)} />
            )}
            <MeterUsage customerId={customer.id} meters={meters} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <History customer={customer} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

/** The currency in which a customer is billed: that of the plan. */
function currencyOf(billing: CustomerBilling): string {
  const items = billing.currentSubscription?.subscriptionItems ?? [];
  const prices = billing.pricingModel.products.flatMap((product) => product.prices);
  return items[0]?.price.currency ?? prices[0]?.currency ?? 'USD';
}

function NewInvoiceButton({ customer, billing }: OfCustomer) {
  const may = useMay('invoices:money');
  const [isOpen, setOpen] = useState(false);
  // Without its currency, an amount would be taken in the units of another one.
  if (!may || customer.archived || billing === undefined) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Write an invoice
      </Button>
      {isOpen && (
        <Suspense>
          <NewDraft
            customerId={customer.id}
            pricingModelId={customer.pricingModelId}
            currency={currencyOf(billing)}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  );
}

function Overview({ customer, billing }: OfCustomer) {
  const ofFeatures = useQuery(read('customers', 'getEntitlements', referenceOf(customer)));
  const ofCredits = useQuery(read('customers', 'getCreditBalances', referenceOf(customer)));
  if (billing === undefined) return <Skeleton height={260} />;
  const [granted, credits] = [ofFeatures.data, ofCredits.data];
  const missing = [ofFeatures, ofCredits].find(({ data, error }) => data === undefined && error !== null);
  const { entitlements } = granted ?? {};
  const pools = (credits?.creditBalances ?? []).filter(({ kind }) => kind === 'pool');
  const meterNames = new Map(billing.pricingModel.usageMeters.map(({ id, name }) => [id, name]));
  const past = billing.subscriptions.filter(({ current }) => !current);
  return (
    <>
      {billing.currentSubscriptions.map((subscription) => (
        <Plan key={subscription.id} subscription={subscription} />
      ))}
      {billing.currentSubscriptions.length === 0 && (
        <Empty title="No plan">This customer is subscribed to nothing.</Empty>
      )}
      {missing !== undefined && <Problem error={missing.error} retry={missing.refetch} />}
      {entitlements !== undefined && entitlements.usageMeterBalances.length > 0 && (
        <Section title="Balances" aside={<Go to={`/customers/${customer.id}?tab=usage`}>Through time</Go>}>
          <Facts
            facts={entitlements.usageMeterBalances.map(({ usageMeterId, slug, availableBalance, held }) => [
              meterNames.get(usageMeterId) ?? slug,
              <span key={usageMeterId} className="amount">
                {countText(availableBalance)}
                {held > 0 && `, ${countText(held)} held`}
              </span>,
            ])}
          />
        </Section>
      )}
      {pools.length > 0 && (
        <Section title="Credit pools" aside={<Go to={`/customers/${customer.id}?tab=usage`}>Through time</Go>}>
          <Facts
            facts={pools.map(({ slug, unit, availableBalance, held }) => [
              words(slug),
              <span key={slug} className="amount">
                {countText(availableBalance)} {unit === 'credit' ? 'credits' : unit}
                {held !== '0' && `, ${countText(held)} held`}
              </span>,
            ])}
          />
        </Section>
      )}
      {entitlements !== undefined && entitlements.resources.length > 0 && (
        <Section title="Seats and other resources">
          <Facts
            facts={entitlements.resources.map(({ slug, resourceId, claimed, capacity }) => [
              words(slug),
              <div key={resourceId} className="capacity">
                {countText(claimed)} of {countText(capacity)}
                <Progress
                  value={capacity === 0 ? 0 : (claimed / capacity) * 100}
                  size="sm"
                  mt={6}
                  aria-label={words(slug)}
                />
              </div>,
            ])}
          />
        </Section>
      )}
      {entitlements !== undefined && (
        <Section title="Features">
          <ul className="features">
            {entitlements.features.map((feature) => (
              <li key={feature.featureId}>{featureText(feature)}</li>
            ))}
          </ul>
        </Section>
      )}
      {past.length > 0 && (
        <Section title="Earlier plans">
          <Rows
            rows={past.slice(0, mostShown)}
            columns={subscriptionColumns}
            caption="Earlier plans"
            keyOf={({ id }) => id}
            to={({ id }) => `/subscriptions/${id}`}
          />
        </Section>
      )}
      <Section title="Details">
        <Facts
          facts={[
            ['Your id', <Identifier key="external" id={customer.externalId} />],
            ['Id', <Identifier key="id" id={customer.id} />],
            ['Customer since', <When key="since" at={customer.createdAt} />],
            ['Country', customer.billingAddress?.address.country ?? '–'],
            ['Tax', customer.taxExempt ? 'Exempt' : 'As the rates say'],
          ]}
        />
      </Section>
      <Suspense fallback={<Skeleton height={120} />}>
        <CustomerTerms customer={customer} />
      </Suspense>
    </>
  );
}

/** A subscription: its items, and the instants before and after now. */
function Plan({ subscription }: { readonly subscription: SubscriptionDetails }) {
  const { id, name, status, subscriptionItems } = subscription;
  return (
    <Section title={name ?? 'Plan'} aside={<SubscriptionActions subscription={subscription} />}>
      <span className="beside">
        <Status of={status} />
        <Go to={`/subscriptions/${id}`}>Open the subscription</Go>
      </span>
      <Rows
        rows={subscriptionItems}
        caption="Items of the plan"
        keyOf={(item) => item.id}
        columns={[
          { title: 'Item', cell: ({ name: item, price }) => item ?? price.name ?? price.slug ?? 'Item' },
          { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right' },
          { title: 'Price', cell: ({ price }) => priceText(price), align: 'right', from: 'xs' },
        ]}
      />
      <Timeline subscription={subscription} />
    </Section>
  );
}

function History({ customer: { id } }: OfCustomer) {
  return (
    <>
      <Section title="Events">
        <Listed
          query={read('events', 'list', { customerId: id, limit: mostShown, order: 'desc' })}
          caption="Events"
          nothing="No events about this customer."
          to={(event) => addressWith('/events', { event: event.id })}
          columns={[
            { title: 'Event', cell: ({ type }) => <span className="identifier">{type}</span> },
            { title: 'Date', cell: ({ occurredAt }) => <When at={occurredAt} />, align: 'right' },
          ]}
        />
      </Section>
      <Section title="Changes of the customer">
        <Listed
          query={read('auditLog', 'list', { recordId: id, limit: mostShown, order: 'desc' })}
          caption="Audit log"
          nothing="Nobody has changed this customer."
          columns={[
            {
              title: 'Request',
              cell: ({ action, operation }) => <span className="identifier">{action ?? operation}</span>,
            },
            { title: 'By', cell: ({ actor }) => words(actor.type), from: 'xs' },
            { title: 'Date', cell: ({ occurredAt }) => <When at={occurredAt} />, align: 'right' },
          ]}
        />
      </Section>
    </>
  );
}
