import { checkStep } from './check-payments.ts';
import type { DueStep } from './due-step.ts';
import { dunStep } from './dun.ts';
import { cancelStep } from './end-due-subscriptions.ts';
import { expireStep } from './expire-incomplete.ts';
import { renewStep } from './renew.ts';
import { resumeStep } from './resume-paused.ts';
import type { DueKind } from './store-due.ts';

/** A step with its batch size: large if it works in sets, small if not. */
export interface OrderedStep {
  readonly kind: DueKind;
  readonly step: DueStep;
  readonly atOnce: number;
}

/** All kinds of due work, in order of execution at one instant. */
export const dueSteps: readonly OrderedStep[] = [
  { kind: 'check', step: checkStep, atOnce: 500 },
  { kind: 'cancel', step: cancelStep, atOnce: 50 },
  { kind: 'expire', step: expireStep, atOnce: 50 },
  { kind: 'resume', step: resumeStep, atOnce: 500 },
  { kind: 'renew', step: renewStep, atOnce: 500 },
  { kind: 'dun', step: dunStep, atOnce: 200 },
];
