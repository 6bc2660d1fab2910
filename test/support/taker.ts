import { createPool, queueSchemaOf } from '../../src/database/database.ts';
import { startWorker, type Worker } from '../../src/jobs/worker.ts';
import type { TestCell } from './databases.ts';
import type { TestApp } from './harness.ts';

/** Starts to take jobs from the queue of each cell, as a process of its own does. */
export async function startTaker(app: TestApp): Promise<Worker> {
  const workers = await Promise.all(app.cells.map((cell) => startTakerIn(app, cell)));
  return {
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

async function startTakerIn(app: TestApp, { name: schema, database }: TestCell): Promise<Worker> {
  const ownerPool = createPool({ schema, url: app.databaseUrl, size: 5, as: 'owner' });
  const context = { database, tasks: app.tasks, services: app.services };
  const worker = await startWorker({
    queueSchema: queueSchemaOf(schema),
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
