import { z } from 'zod';
import { readMovedClock, setTestClock } from '../billing/move-clock.ts';
import { route } from '../http/route.ts';
import { TimestampInput } from '../kernel/json.ts';
import { getTestClock } from '../organizations/actions-clock.ts';
import { TestClock } from '../organizations/clock.ts';

const tag = 'Test clock';

const count = (description: string) => z.int().min(0).meta({ description });

const ClockWork = z
  .object({
    periodsRenewed: count('Billing periods that began where another one ended.'),
    subscriptionsCanceled: count('Subscriptions that ended.'),
    invoicesCreated: count('Invoices that were made.'),
    paymentsSucceeded: count('Charges that succeeded.'),
    paymentsFailed: count('Charges that failed.'),
    creditsExpired: count('Credits whose unused rest is gone.'),
    eventsCreated: count('Events that were published.'),
  })
  .meta({ id: 'ClockWork', description: 'What was done since the clock was last set.' });

export const testClockRoutes = [
  route({
    method: 'GET',
    path: '/test-clock',
    summary: "Get the environment's time",
    tag,
    returns: z.object({ testClock: TestClock }),
    refuses: [],
    handle: async (work) => ({ testClock: await getTestClock(work) }),
  }),
  route({
    method: 'PUT',
    path: '/test-clock',
    summary: 'Freeze the time of test mode, or move it forward',
    description:
      'Everything that is due on the way is done, in the order of its due instants, before the answer. Time then stands still until it is moved again. Before there are subscriptions, any instant can be set.',
    tag,
    body: z.object({ testClock: z.object({ now: TimestampInput }) }),
    returns: z.object({ testClock: TestClock, work: ClockWork }),
    refuses: ['testClockInLiveMode', 'testClockBackwards', 'testClockMoving', 'outsidePinnedPricingModel'],
    handle: (work, { body }) => setTestClock(work, body.testClock.now),
    afterEffects: readMovedClock,
  }),
];
