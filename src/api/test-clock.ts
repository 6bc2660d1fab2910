import { z } from 'zod';
import { askForClock, readMovedClock, setTestClock } from '../billing/move-clock.ts';
import { route } from '../http/route.ts';
import { TimestampInput } from '../kernel/json.ts';
import { getTestClock } from '../organizations/actions.ts';
import { TestClock } from '../organizations/clock.ts';

const tag = 'Test clock';

const count = (description: string) => z.int().min(0).meta({ description });

const ClockWork = z
  .object({
    periodsRenewed: count('The number of renewed billing periods.'),
    subscriptionsCanceled: count('The number of subscriptions that ended.'),
    invoicesCreated: count('The number of invoices created.'),
    paymentsSucceeded: count('The number of successful charges.'),
    paymentsFailed: count('The number of failed charges.'),
    creditsExpired: count('The number of credits that expired with unused units.'),
    eventsCreated: count('The number of events published.'),
  })
  .meta({ id: 'ClockWork', description: 'The work done since the clock was last set.' });

export const testClockRoutes = [
  route({
    method: 'GET',
    path: '/test-clock',
    cell: 'home',
    needs: 'test-clock:read',
    summary: 'Get the test clock',
    description: 'Returns the time of the environment, and whether it is frozen.',
    tag,
    returns: z.object({ testClock: TestClock }),
    refuses: [],
    handle: async (work) => ({ testClock: await getTestClock(work) }),
  }),
  route({
    method: 'PUT',
    path: '/test-clock',
    cell: 'home',
    needs: 'test-clock:admin',
    summary: 'Set the test clock',
    description:
      'Freezes the time of test mode at `now`, or moves it forward, and carries out everything that falls due ' +
      'on the way, in order. Returns the new time and a count of the work done. Time stands still until it is ' +
      'moved again. With subscriptions in place, an earlier time is refused with 400.',
    tag,
    body: z.object({ testClock: z.object({ now: TimestampInput }) }),
    returns: z.object({ testClock: TestClock, work: ClockWork }),
    refuses: ['testClockInLiveMode', 'testClockBackwards', 'testClockMoving', 'outsidePinnedPricingModel'],
    asks: (work, { body }, request) => askForClock(work, body.testClock.now, request),
    handle: (work, { body }, _, others) => setTestClock(work, body.testClock.now, others),
    afterEffects: (work, _, __, others) => readMovedClock(work, others),
  }),
];
