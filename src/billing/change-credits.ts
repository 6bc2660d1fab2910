import type { Work } from '../database/work.ts';
import { getUsageCredit, grantByHand, takeBack } from '../usage/actions-credits.ts';
import type { NewUsageCredit, UsageCredit } from '../usage/usage-credit.ts';
import { catchUp } from './catch-up.ts';

/** Grants credits manually to a subscription after catching up. */
export async function grantUsageCredit(work: Work, asked: NewUsageCredit): Promise<UsageCredit> {
  await catchUp(work, asked.subscriptionId);
  return grantByHand(work, asked);
}

/** Takes back the remainder of a credit, or `amount` of it, after catching up its subscription. */
export async function takeBackUsageCredit(work: Work, id: string, amount: bigint | null): Promise<UsageCredit> {
  const { subscriptionId } = await getUsageCredit(work, id);
  await catchUp(work, subscriptionId);
  return takeBack(work, id, amount);
}
