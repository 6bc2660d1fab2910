/** An account whose balance has fallen below the threshold of its meter. */
export interface LowBalance {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
}

/** Whether a balance that was `before` and is `after` has fallen below the threshold: from at or above it. */
export function hasFallen(threshold: bigint | null, before: bigint, after: bigint): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}
