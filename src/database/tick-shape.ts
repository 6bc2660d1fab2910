import { executionAsyncResource } from 'node:async_hooks';

const kept: object[] = [];

// The engine forgets how the objects look that stand for callbacks of `process.nextTick` when it collects garbage while there
// is none of them, and then makes each one property by property, for good (Node 26): 4 % of the service's time with
// reads of balances. One that is kept holds on to that.
process.nextTick(() => kept.push(executionAsyncResource()));
