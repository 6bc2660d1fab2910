import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { SubscriptionDetails } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { countText, featureText, intervalText, words } from '../parts/format.ts';
import { Listed } from '../parts/listed.tsx';
import { InvoicesOf, PaymentsOf } from '../parts/money-lists.tsx';
import { priceText, pricingText } from '../parts/price-text.ts';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { Rows } from '../parts/records.tsx';
import { Facts, Heading, Identifier, Money, Section, Status, When } from '../parts/shown.tsx';
import { SubscriptionActions } from '../parts/subscription-actions.tsx';
import { SubscriptionDiscounts } from '../parts/subscription-discounts.tsx';
import { Timeline } from '../parts/timeline.tsx';

const mostShown = 10;

/** One subscription: its plan through time, its next invoice, its credits, and the money that it brought. */
export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('subscriptions', 'getDetails', { id }));
  const ofThis = { subscriptionId: id, limit: mostShown, order: 'desc' as const };
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  const subscription = data?.subscription;
  return (
    <>
      {subscription === undefined ? <Skeleton height={180} mb={40} /> : <Head subscription={subscription} />}
      {subscription !== undefined && isBilled(subscription) && <NextInvoice id={id} />}
      {subscription !== undefined && <Contents subscription={subscription} />}
      {subscription !== undefined && <SubscriptionDiscounts subscription={subscription} />}
      <Section title="Credits">
        <Listed
          query={read('usageCredits', 'list', ofThis)}
          caption="Credits"
          nothing="No credits were granted."
          columns={[
            { title: 'Granted by', cell: ({ source, reason }) => reason ?? words(source) },
            { title: 'Status', cell: ({ status }) => <Status of={status} />, from: 'sm' },
            { title: 'Expires', cell: ({ expiresAt }) => <When at={expiresAt} />, from: 'md' },
            { title: 'Granted', cell: ({ issuedAmount }) => countText(issuedAmount), align: 'right', from: 'xs' },
            { title: 'Left', cell: ({ remainingAmount }) => countText(remainingAmount), align: 'right' },
          ]}
        />
      </Section>
      <Seats id={id} />
      <InvoicesOf of={ofThis} />
      <PaymentsOf of={ofThis} />
    </>
  );
}

interface PartProps {
  readonly subscription: SubscriptionDetails;
}

function Head({ subscription }: PartProps) {
  const { name, status, customerId } = subscription;
  return (
    <CustomerNames ids={[customerId]}>
      <Heading
        title={name ?? 'Subscription'}
        below={
          <span className="beside">
            <Status of={status} />
            <CustomerName id={customerId} />
          </span>
        }
        aside={<SubscriptionActions subscription={subscription} />}
      />
      <section className="section">
        <Timeline subscription={subscription} />
      </section>
    </CustomerNames>
  );
}

/** Whether another invoice comes of it. */
function isBilled({ renews, status, pausedAt }: SubscriptionDetails): boolean {
  return renews && pausedAt === null && status !== 'canceled' && status !== 'incomplete_expired';
}

/** The next invoice as it would be now. */
function NextInvoice({ id }: { readonly id: string }) {
  const { data, isError } = useQuery({
    ...read('invoices', 'getUpcoming', { subscriptionId: id }),
    retry: false,
  });
  if (isError) return null;
  if (data === undefined) return <Skeleton height={120} mb={40} />;
  const { invoice, invoiceLineItems: lines } = data;
  const { currency, taxAmount, discountAmount, total, invoiceDate } = invoice;
  return (
    <Section
      title={
        <>
          Next invoice, on <When at={invoiceDate} />
        </>
      }
      aside={
        <Text fw={620} fz={18}>
          <Money amount={total} currency={currency} />
        </Text>
      }
    >
      <Rows
        rows={lines.map((line, index) => ({ ...line, key: String(index) }))}
        caption="Lines of the next invoice"
        keyOf={({ key }) => key}
        columns={[
          { title: 'Line', cell: ({ description, type }) => description ?? words(type) },
          { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right', from: 'sm' },
          {
            title: 'Amount',
            cell: ({ amount }) => <Money amount={amount} currency={currency} />,
            align: 'right',
          },
        ]}
      />
      <Text size="sm" c="dimmed" mt="xs" px="sm">
        As it would be now
        {discountAmount > 0 && (
          <>
            , less a discount of <Money amount={discountAmount} currency={currency} />
          </>
        )}
        {taxAmount !== null && taxAmount > 0 && (
          <>
            , with <Money amount={taxAmount} currency={currency} /> tax
          </>
        )}
        . Usage until then is added.
      </Text>
    </Section>
  );
}

function Contents({ subscription }: PartProps) {
  const { subscriptionItems, priceId: planPriceId, priceOverrides, experimental } = subscription;
  const own = new Map(priceOverrides.map((override) => [override.priceId, override]));
  const { featureItems, usageMeterBalances } = experimental;
  return (
    <>
      <Section title="Items">
        <Rows
          rows={subscriptionItems}
          caption="Items"
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Item',
              cell: ({ name, price, priceId }) => (
                <>
                  {name ?? price.name ?? price.slug ?? 'Item'}{' '}
                  {priceId !== planPriceId && <span className="quiet">add-on</span>}
                </>
              ),
            },
            { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right' },
            { title: 'Since', cell: ({ addedDate }) => <When at={addedDate} />, align: 'right', from: 'md' },
            {
              title: 'Price',
              cell: ({ price, unitPrice, pricing }) => {
                const override = own.get(price.id);
                const text =
                  pricing !== null
                    ? pricingText(pricing, price.currency)
                    : priceText({ ...price, unitPrice, pricing: null } as typeof price);
                return (
                  <>
                    {text} {override !== undefined && <span className="quiet">own price</span>}
                  </>
                );
              },
              align: 'right',
              from: 'xs',
            },
          ]}
        />
      </Section>
      {priceOverrides.length > 0 && (
        <Section title="Own prices">
          <Rows
            rows={priceOverrides}
            caption="Own prices"
            keyOf={({ priceId, startsAt }) => `${priceId} ${startsAt}`}
            columns={[
              { title: 'Price', cell: ({ priceId }) => <Identifier id={priceId} /> },
              { title: 'From', cell: ({ startsAt }) => <When at={startsAt} />, from: 'xs' },
              {
                title: 'Terms',
                cell: ({ unitPrice, pricing }) => {
                  const currency = subscriptionItems[0]?.price.currency ?? 'USD';
                  return pricing === null ? (
                    <Money amount={unitPrice} currency={currency} />
                  ) : (
                    pricingText(pricing, currency)
                  );
                },
                align: 'right',
              },
            ]}
          />
        </Section>
      )}
      {usageMeterBalances.length > 0 && (
        <Section title="Balances">
          <Facts
            facts={usageMeterBalances.map(({ id, name, availableBalance }) => [
              name,
              <span key={id} className="amount">
                {countText(availableBalance)}
              </span>,
            ])}
          />
        </Section>
      )}
      {featureItems.length > 0 && (
        <Section title="Features">
          <ul className="features">
            {featureItems.map((feature) => (
              <li key={feature.id}>{featureText(feature)}</li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Details">
        <Facts facts={factsOf(subscription)} />
      </Section>
    </>
  );
}

function factsOf(subscription: SubscriptionDetails): (readonly [string, React.ReactNode])[] {
  const { interval, intervalCount, cancellationReason, cancellationComment, doNotCharge, firstPeriod } = subscription;
  return [
    ['Billed', interval === null ? 'Never' : intervalText(interval, intervalCount)],
    ['Period began', <When key="began" at={subscription.currentBillingPeriodStart} />],
    ['Period ends', <When key="ends" at={subscription.currentBillingPeriodEnd} />],
    ['Counted from', <When key="anchor" at={subscription.billingCycleAnchorDate} />],
    ...(firstPeriod === null ? [] : [['First period', words(firstPeriod)] as const]),
    ...(doNotCharge ? [['Collected', 'By hand'] as const] : []),
    ...(cancellationReason === null ? [] : [['Reason of the end', words(cancellationReason)] as const]),
    ...(cancellationComment === undefined ? [] : [['Comment of the customer', cancellationComment] as const]),
    ['Id', <Identifier key="id" id={subscription.id} />],
  ];
}

const mostClaims = 8;

/** The resources of the subscription, and who has them. */
function Seats({ id }: { readonly id: string }) {
  const { data } = useQuery({ ...read('resourceClaims', 'getUsages', { subscriptionId: id }), retry: false });
  if (data === undefined || data.length === 0) return null;
  return (
    <Section title="Seats and other resources">
      <Rows
        rows={data}
        caption="Resources"
        keyOf={({ usage }) => usage.resourceId}
        columns={[
          { title: 'Resource', cell: ({ usage }) => words(usage.resourceSlug) },
          {
            title: 'Held by',
            cell: ({ claims, usage }) => (
              <>
                {claims
                  .slice(0, mostClaims)
                  .map(({ externalId }) => externalId ?? 'unnamed')
                  .join(', ')}
                {usage.claimed > mostClaims && ` and ${countText(usage.claimed - mostClaims)} more`}
              </>
            ),
            from: 'sm',
          },
          {
            title: 'Taken',
            cell: ({ usage }) => (
              <span className="amount">
                {countText(usage.claimed)} of {countText(usage.capacity)}
              </span>
            ),
            align: 'right',
          },
        ]}
      />
    </Section>
  );
}
