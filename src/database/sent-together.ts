/**
 * Waits for statements that were sent one after the other without waiting for each: the database carries them out in that
 * order, and the way there and back is paid once. Waits until all are answered, also when one fails, so that none is still
 * under way when the transaction ends; then throws what the first of them failed with.
 */
export async function sentTogether<Answers extends readonly unknown[]>(
  statements: {
    readonly [Index in keyof Answers]: Promise<Answers[Index]>;
  },
): Promise<Answers> {
  const outcomes = await Promise.allSettled(statements);
  const answers = outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
  // One answer for each, in order.
  return answers as unknown as Answers;
}
