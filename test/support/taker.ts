import { createPool, queueSchemaOf } from '../../src/database/database.ts';
import { startWorker, type Worker } from '../../src/jobs/worker.ts';
import { testSchema } from './databases.ts';
import type { TestApp } from './harness.ts';

/** Starts to take jobs from the queue, as a process of its own does. */
export async function startTaker(app: TestApp): Promise<Worker> {
  const ownerPool = createPool({ schema: testSchema, url: app.databaseUrl, size: 5, as: 'owner' });
  const context = { database: app.database, tasks: app.tasks, services: app.services };
  const worker = await startWorker({
    queueSchema: queueSchemaOf(testSchema),
    queuePool: ownerPool,
    context,
    crontab: '',
    log: () => undefined,
  });
  return {
    async stop() {
      await worker.stop();
      await ownerPool.end();
    },
  };
}
