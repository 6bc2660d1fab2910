import '../../src/http/json-bigint.ts';
import process from 'node:process';
import type pg from 'pg';
import { doDueWork } from '../../src/billing/do-due-work.ts';
import { billingTasks as tasks } from '../../src/billing/jobs.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';

// A process that works until nothing is due, for a test that kills it: `node due-work-worker.ts <database> <environment> <cell>...`.

// Small portions, so that there is something to fight over and a kill meets work in every state.
const portion = 20;

const [, , url = '', environmentId = '', ...cells] = process.argv;
const pools = cells.map((schema) => createPool({ schema, url, size: 10, as: 'service' }));
process.send?.('begun');
for (let idle = 0; idle < 3; ) {
  const work = (pool: pg.Pool) =>
    doDueWork({ database: createDatabase(pool), tasks }, Number(environmentId), { forMs: 60_000, portion });
  const done = await Promise.all(pools.map(work));
  idle = done.every((each) => each.done.renew === 0) ? idle + 1 : 0;
}
await Promise.all(pools.map((pool) => pool.end()));
process.disconnect?.();
