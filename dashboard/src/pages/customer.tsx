import { Button, CopyButton, Progress, Skeleton, Tabs, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Customer, PricingModelDetails, SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { countText, dateText, words } from '../parts/format.ts';
import { invoiceColumns, paymentColumns } from '../parts/money-columns.tsx';
import { priceText } from '../parts/price-text.ts';
import { Problem } from '../parts/problem.tsx';
import { Rows, useFilters } from '../parts/records.tsx';
import { RefundButton } from '../parts/refund.tsx';
import { Facts, Heading, Identifier, Section, Status, When } from '../parts/shown.tsx';
import { SubscriptionActions } from '../parts/subscription-actions.tsx';
import { useMay } from '../session.ts';

const mostShown = 20;
const tabs = ['overview', 'money', 'usage', 'history'] as const;

export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('customers', 'list', { ids: id, limit: 1 }));
  if (error !== null) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const [customer] = data.data;
  if (customer === undefined)
    return <Empty title="There is no such customer">Is this the right mode, test or live?</Empty>;
  return <CustomerPage customer={customer} />;
}

function CustomerPage({ customer }: { readonly customer: Customer }) {
  const { filters, setFilters } = useFilters();
  const tab = tabs.find((name) => name === filters.tab) ?? 'overview';
  const { name, externalId, email } = customer;
  return (
    <>
      <Heading title={name || externalId} below={email} aside={<PortalButton customer={customer} />} />
      <Tabs value={tab} onChange={(value) => setFilters({ tab: value ?? undefined })} keepMounted={false}>
        <Tabs.List mb="lg">
          {tabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words(each)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <Overview customer={customer} />
        </Tabs.Panel>
        <Tabs.Panel value="money">
          <MoneyOf customer={customer} />
        </Tabs.Panel>
        <Tabs.Panel value="usage">
          <Ledger customer={customer} />
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <History customer={customer} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

interface OfCustomer {
  readonly customer: Customer;
}

/** Names one customer where external ids of several pricing models may be the same. */
const referenceOf = ({ externalId, pricingModelId }: Customer) => ({ externalId, pricingModelId });

function PortalButton({ customer }: OfCustomer) {
  const may = useMay('portal-sessions:write');
  const link = useMutation({ mutationFn: () => api.customers.createPortalSession(referenceOf(customer)) });
  if (!may) return null;
  const url = link.data?.portalSession.url;
  if (url === undefined)
    return (
      <Button variant="default" onClick={() => link.mutate()} loading={link.isPending}>
        Make a portal link
      </Button>
    );
  return (
    <CopyButton value={url}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? 'Copied' : 'Copy the portal link'}
        </Button>
      )}
    </CopyButton>
  );
}

function Overview({ customer }: OfCustomer) {
  const { data: billing, error, refetch } = useQuery(read('customers', 'getBilling', referenceOf(customer)));
  const { data: granted } = useQuery(read('customers', 'getEntitlements', referenceOf(customer)));
  if (error !== null) return <Problem error={error} retry={refetch} />;
  if (billing === undefined) return <Skeleton height={260} />;
  const { entitlements } = granted ?? {};
  const meterNames = new Map(billing.pricingModel.usageMeters.map(({ id, name }) => [id, name]));
  return (
    <>
      {billing.currentSubscriptions.map((subscription) => (
        <Plan key={subscription.id} subscription={subscription} model={billing.pricingModel} />
      ))}
      {billing.currentSubscriptions.length === 0 && (
        <Empty title="No plan">This customer is subscribed to nothing.</Empty>
      )}
      {entitlements !== undefined && entitlements.usageMeterBalances.length > 0 && (
        <Section title="Balances">
          <Facts
            facts={entitlements.usageMeterBalances.map(({ usageMeterId, slug, availableBalance, held }) => [
              meterNames.get(usageMeterId) ?? slug,
              <Text key={usageMeterId} component="span" className="amount">
                {countText(availableBalance)}
                {held > 0 && `, ${countText(held)} held`}
              </Text>,
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
      <Section title="Features">
        <ul className="features">
          {(entitlements?.features ?? []).map(({ featureId, name }) => (
            <li key={featureId}>{name}</li>
          ))}
        </ul>
      </Section>
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
    </>
  );
}

interface PlanProps {
  readonly subscription: SubscriptionDetails;
  readonly model: PricingModelDetails;
}

/** A subscription: its items, and the instants before and after now. */
function Plan({ subscription, model }: PlanProps) {
  const { name, status, subscriptionItems } = subscription;
  return (
    <Section title={name ?? 'Plan'} aside={<SubscriptionActions subscription={subscription} model={model} />}>
      <Status of={status} />
      <Rows
        rows={subscriptionItems}
        caption="Items of the plan"
        keyOf={({ id }) => id}
        columns={[
          { title: 'Item', cell: ({ name: item, price }) => item ?? price.name ?? price.slug ?? 'Item' },
          { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right' },
          { title: 'Price', cell: ({ price }) => priceText(price), align: 'right', from: 'xs' },
        ]}
      />
      <ol className="timeline" aria-label="Timeline">
        {instantsOf(subscription).map(([what, at, isAhead]) => (
          <li key={what} data-ahead={isAhead}>
            <span className="timeline-date">{dateText(at)}</span>
            {what}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** The instants of a subscription in order; those after the start of the period lie ahead. */
function instantsOf(subscription: SubscriptionDetails): (readonly [string, number, boolean])[] {
  const { startDate, trialEnd, currentBillingPeriodStart, currentBillingPeriodEnd } = subscription;
  const instants = [
    ['Started', startDate, false],
    ['Trial ends', trialEnd, subscription.status === 'trialing'],
    ['Paused', subscription.pausedAt, false],
    ['This period began', currentBillingPeriodStart, false],
    ['Plan changes', subscription.scheduledAdjustmentAt, true],
    ['Resumes', subscription.resumesAt, true],
    ['Ends', subscription.cancelScheduledAt, true],
    ['Next bill', subscription.cancelScheduledAt === null ? currentBillingPeriodEnd : null, true],
    ['Ended', subscription.canceledAt, false],
  ] as const;
  return instants
    .flatMap(([what, at, isAhead]) => (at === null ? [] : [[what, at, isAhead] as const]))
    .sort(([, one], [, other]) => one - other);
}

function MoneyOf({ customer: { id } }: OfCustomer) {
  const recent = { customerId: id, limit: mostShown, order: 'desc' as const };
  const invoices = useQuery(read('invoices', 'list', recent));
  const payments = useQuery(read('payments', 'list', recent));
  const methods = useQuery(read('paymentMethods', 'list', { customerId: id, limit: mostShown }));
  return (
    <>
      <Section title="Invoices">
        <Listed of={invoices} nothing="Nothing was invoiced.">
          {(rows) => (
            <Rows
              rows={rows}
              columns={invoiceColumns}
              caption="Invoices"
              keyOf={keyOf}
              to={(row) => `/invoices/${row.id}`}
            />
          )}
        </Listed>
      </Section>
      <Section title="Payments">
        <Listed of={payments} nothing="Nothing was collected.">
          {(rows) => (
            <Rows
              rows={rows}
              caption="Payments"
              keyOf={keyOf}
              columns={[
                ...paymentColumns,
                { title: 'Actions', cell: (payment) => <RefundButton payment={payment} />, align: 'right' },
              ]}
            />
          )}
        </Listed>
      </Section>
      <Section title="Ways to pay">
        <Listed of={methods} nothing="There is no way to collect money from this customer.">
          {(rows) => (
            <Rows
              rows={rows}
              caption="Payment methods"
              keyOf={keyOf}
              columns={[
                {
                  title: 'Method',
                  cell: ({ type, paymentMethodData: { brand, last4 } }) =>
                    `${words(String(brand ?? type))}${last4 === undefined ? '' : ` ending in ${last4}`}`,
                },
                { title: 'Default', cell: ({ default: isDefault }) => (isDefault ? 'Default' : '') },
                { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, align: 'right' },
              ]}
            />
          )}
        </Listed>
      </Section>
    </>
  );
}

const keyOf = ({ id }: { readonly id: string }) => id;

interface ListedProps<Row> {
  readonly of: {
    readonly data: { readonly data: readonly Row[] } | undefined;
    readonly error: Error | null;
  };
  readonly nothing: string;
  readonly children: (rows: readonly Row[]) => React.ReactNode;
}

function Listed<Row>({ of: { data, error }, nothing, children }: ListedProps<Row>) {
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Skeleton height={80} />;
  if (data.data.length > 0) return children(data.data);
  return (
    <Text c="dimmed" size="sm">
      {nothing}
    </Text>
  );
}

function Ledger({ customer }: OfCustomer) {
  const ledger = useQuery(read('customers', 'listLedger', { ...referenceOf(customer), limit: 50, order: 'desc' }));
  return (
    <Section title="Ledger of credits">
      <Listed of={ledger} nothing="No credits were granted or used.">
        {(rows) => (
          <Rows
            rows={rows}
            caption="Entries of the ledger"
            keyOf={keyOf}
            columns={[
              { title: 'Entry', cell: ({ type }) => words(type) },
              { title: 'Date', cell: ({ createdAt }) => <When at={createdAt} />, from: 'xs' },
              {
                title: 'Credits',
                cell: ({ amount }) => <span className="amount">{countText(amount)}</span>,
                align: 'right',
              },
              {
                title: 'Balance after it',
                cell: ({ availableAfter }) => <span className="amount">{countText(availableAfter)}</span>,
                align: 'right',
              },
            ]}
          />
        )}
      </Listed>
    </Section>
  );
}

function History({ customer: { id } }: OfCustomer) {
  const events = useQuery(read('events', 'list', { objectId: id, limit: mostShown, order: 'desc' }));
  const audit = useQuery(read('auditLog', 'list', { recordId: id, limit: mostShown, order: 'desc' }));
  return (
    <>
      <Section title="Events">
        <Listed of={events} nothing="No events about this customer.">
          {(rows) => (
            <Rows
              rows={rows}
              caption="Events"
              keyOf={keyOf}
              columns={[
                { title: 'Event', cell: ({ type }) => <span className="identifier">{type}</span> },
                { title: 'Date', cell: ({ occurredAt }) => <When at={occurredAt} />, align: 'right' },
              ]}
            />
          )}
        </Listed>
      </Section>
      <Section title="Changes">
        <Listed of={audit} nothing="Nobody has changed this customer.">
          {(rows) => (
            <Rows
              rows={rows}
              caption="Audit log"
              keyOf={keyOf}
              columns={[
                {
                  title: 'Request',
                  cell: ({ action, operation }) => <span className="identifier">{action ?? operation}</span>,
                },
                { title: 'By', cell: ({ actor }) => words(actor.type), from: 'xs' },
                { title: 'Date', cell: ({ occurredAt }) => <When at={occurredAt} />, align: 'right' },
              ]}
            />
          )}
        </Listed>
      </Section>
    </>
  );
}
