import { cellsRows } from './cells.ts';
import { citusRows } from './citus.ts';
import { dashboardRows } from './dashboard.ts';
import { documentRows } from './documents.ts';
import { ingestRows } from './ingest.ts';
import type { Measured, Row } from './measured.ts';
import { pageRows } from './pages.ts';
import { readRows } from './reads.ts';
import { renewalRows } from './renewals.ts';
import { startService } from './running.ts';
import { twoProcessesRows } from './two-processes.ts';
import { webhookRows } from './webhooks.ts';

// npm run bench -- [row ...] [--json]: measures each row and its limit in the same run on the same machine.

const rows: Readonly<Record<string, Row>> = {
  ...readRows,
  ...pageRows,
  ...dashboardRows,
  ...documentRows,
  ...ingestRows,
  ...renewalRows,
  ...webhookRows,
  ...twoProcessesRows,
  ...cellsRows,
  ...citusRows,
};

// Thousands need no decimals; for milliseconds the first one matters.
function rounded(value: number): number {
  return value < 100 ? Math.round(value * 10) / 10 : Math.round(value);
}

function asJson(row: string, { value, unit, limit, note, costs, count }: Measured): string {
  return JSON.stringify({
    row,
    value: rounded(value),
    unit,
    limit: limit === null ? null : rounded(limit),
    ratio: limit === null ? null : Number((value / limit).toFixed(3)),
    note,
    cpu: Object.fromEntries(Object.entries(costs.cpu).map(([who, taken]) => [who, taken && rounded(taken)])),
    walBytesPer: Math.round(costs.walBytes / count),
  });
}

function asText(row: string, { value, unit, limit, note, costs, each, count }: Measured): string {
  const amount = (number: number) => rounded(number).toLocaleString('en-US');
  const beside = limit === null ? '' : `${(value / limit).toFixed(2)} of ${amount(limit)}  `;
  const cpu = Object.entries(costs.cpu).flatMap(([who, taken]) =>
    taken === null ? [] : `${who} ${taken.toFixed(1)} s`,
  );
  return `${row.padEnd(20)} ${amount(value).padStart(10)} ${unit.padEnd(11)} ${beside}(${note})
${''.padEnd(20)} processor time: ${cpu.join(', ')}; WAL: ${amount(costs.walBytes / count)} bytes per ${each}`;
}

const requested = process.argv.slice(2).filter((word) => word !== '--json');
const tell = process.argv.includes('--json') ? asJson : asText;
const unknown = requested.filter((row) => !(row in rows));
if (unknown.length > 0) throw new Error(`No row ${unknown.join(', ')}; there are ${Object.keys(rows).join(', ')}.`);

for (const [row, measure] of Object.entries(rows).filter(
  ([name]) => requested.length === 0 || requested.includes(name),
)) {
  const service = await startService();
  try {
    console.log(tell(row, await measure(service)));
  } finally {
    await service.stop();
  }
}
