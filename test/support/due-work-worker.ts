import '../../src/http/json-bigint.ts';
import process from 'node:process';
import { doDueWork } from '../../src/billing/do-due-work.ts';
import { billingTasks as tasks } from '../../src/billing/jobs.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { testSchema } from './databases.ts';

// A process that works until nothing is due, for a test that kills it: `node due-work-worker.ts <database> <environment>`.

// Small portions, so that there is something to fight over and a kill meets work in every state.
const portion = 20;

const [, , url = '', environmentId = ''] = process.argv;
const pool = createPool({ schema: testSchema, url, size: 10, as: 'service' });
const context = { database: createDatabase(pool), tasks };
process.send?.('begun');
for (let idle = 0; idle < 3; ) {
  const { done } = await doDueWork(context, Number(environmentId), { forMs: 60_000, portion });
  idle = done.renew === 0 ? idle + 1 : 0;
}
await pool.end();
process.disconnect?.();
