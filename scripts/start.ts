import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { isDashboardStale } from './build-dashboard.ts';

// node scripts/run.js scripts/start.ts [options of serve]
// Builds the dashboard where its sources changed, and serves.

// The bundler keeps much memory, so it works in a process of its own.
if (await isDashboardStale()) {
  console.error('Tollkeeper: the dashboard is built now, which takes a few seconds.');
  const builder = spawn(process.execPath, [join(import.meta.dirname, 'build-dashboard.ts')], {
    stdio: ['ignore', 2, 2],
  });
  const [code] = await once(builder, 'exit');
  if (code !== 0) console.error('Tollkeeper: the dashboard could not be built, so only the API is served.');
}
process.argv.splice(2, 0, 'serve');
await import('../src/main.ts');
