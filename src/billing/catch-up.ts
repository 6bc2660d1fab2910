import { RunAgain, type Work } from '../database/work.ts';
import { readClock } from '../organizations/store-clock.ts';
import { findBehind } from '../subscriptions/store-renewals.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { cancelStep } from './end-due-subscriptions.ts';
import { type Held, holdSubscription } from './end-subscription.ts';
import { renewStep } from './renew.ts';
import { resumeStep } from './resume-paused.ts';

// Which of them is due of one subscription at a time is decided by their dates: never two of them.
const steps = [cancelStep, resumeStep, renewStep];

/**
 * Does what is due for this subscription and not done yet, each as of the instant at which it was due, in this
 * transaction: its scheduled end, its going on after a pause, its renewals, one after the other. So what a caller asks
 * for meets the subscription as it is now, whether or not the worker has come by. Nothing is due: one read. Where due
 * work failed lately, it is left as it is, so that a caller can still act on it.
 */
export async function catchUp(work: Work, subscriptionId: string): Promise<void> {
  await catchUpAll(work, [subscriptionId]);
}

/** The same for several. As many rounds as the longest of them is behind. */
export async function catchUpAll(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  for (;;) {
    const behind = await findBehind(work, subscriptionIds);
    if (behind.length === 0) return;
    for (const step of steps) await step.perform(work, await step.claim(work, behind.length, behind));
  }
}

/**
 * The subscription and its customer as they are now, held until the work ends: what was due has been done. Refuses with
 * `subscriptionNotFound`.
 */
export async function holdCurrent(work: Work, id: string): Promise<Held> {
  const held = await holdSubscription(work, id);
  if (await hasOvertaken(work, held.subscription)) throw new RunAgain();
  if ((await findBehind(work, [id])).length === 0) return held;
  await catchUp(work, id);
  return holdSubscription(work, id);
}

/**
 * Whether the subscription went into its period while this work waited for it: an instant that lies ahead of the work's own,
 * and has come by now. As of its own it would find the subscription in no period at all.
 */
async function hasOvertaken(work: Work, { currentBillingPeriodStart: start, startDate }: SubscriptionRow) {
  if (start === null || start <= work.now || startDate > work.now) return false;
  const { now } = await readClock(work);
  return start <= (now ?? Date.now());
}
