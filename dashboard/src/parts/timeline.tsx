import type { Subscription } from '../../../client/src/generated-entry.ts';
import { dateText } from './format.ts';

/** The instants of a subscription in order; a dashed line leads to those that lie ahead. */
export function Timeline({ subscription }: { readonly subscription: Subscription }) {
  return (
    <ol className="timeline" aria-label="Timeline">
      {instantsOf(subscription).map(([what, at, isAhead]) => (
        <li key={what} data-ahead={isAhead}>
          <span className="timeline-date">{dateText(at)}</span>
          {what}
        </li>
      ))}
    </ol>
  );
}

/** Instants after the start of the period lie ahead. */
function instantsOf(subscription: Subscription): (readonly [string, number, boolean])[] {
  const { startDate, trialEnd, currentBillingPeriodStart, currentBillingPeriodEnd } = subscription;
  const { canceledAt, cancelScheduledAt, status } = subscription;
  const isOver = canceledAt !== null;
  const instants = [
    ['Started', startDate, false],
    ['Trial ends', trialEnd, status === 'trialing'],
    ['Paused', subscription.pausedAt, false],
    ['This period began', currentBillingPeriodStart, false],
    ['Plan changes', subscription.scheduledAdjustmentAt, true],
    ['Resumes', subscription.resumesAt, true],
    ['Ends', isOver ? null : cancelScheduledAt, true],
    ['Next bill', cancelScheduledAt === null && !isOver ? currentBillingPeriodEnd : null, true],
    ['Ended', canceledAt, false],
  ] as const;
  return instants
    .flatMap(([what, at, isAhead]) => (at === null ? [] : [[what, at, isAhead] as const]))
    .sort(([, one], [, other]) => one - other);
}
