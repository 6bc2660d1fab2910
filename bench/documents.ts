import { monitorEventLoopDelay } from 'node:perf_hooks';
import { documentPdf } from '../src/documents/actions.ts';
import type { PrintedDocument } from '../src/documents/document.ts';
import { withCosts } from './costs.ts';
import type { Measured, Row } from './measured.ts';
import type { BenchService } from './running.ts';

const seconds = 10;
// As many as wait for a thread without a refusal, and so keep both busy.
const clients = 8;
const maxBlockedMs = 100;

/** An invoice of four lines, with a table of taxes and a code to pay. */
function invoiceOf(number: number): PrintedDocument {
  const line = {
    description: 'Pro, Jan 1 – Feb 1, 2030',
    quantity: '3',
    price: '$20.00',
    amount: '$60.00',
    details: [],
  };
  return {
    language: 'en',
    branding: { logo: null, primaryColor: '#1f5aa0', legalFooter: 'Acme GmbH, HRB 12345' },
    company: 'Acme GmbH',
    title: 'Invoice',
    number: `INV-${number}`,
    status: 'Open',
    facts: [{ label: 'Due date', value: 'January 15, 2030' }],
    seller: { heading: 'From', lines: ['Acme GmbH', '2 Gate Street', '10115 Berlin'] },
    buyer: { heading: 'Bill to', lines: ['Ada Lovelace', '12 St James Square', 'London'] },
    headline: '$285.60 due on January 15, 2030',
    columns: { description: 'Description', quantity: 'Quantity', price: 'Price', amount: 'Amount' },
    lines: [line, line, line, line],
    sums: [
      { label: 'Subtotal', amount: '$240.00', strong: false },
      { label: 'Amount due', amount: '$285.60', strong: true },
    ],
    taxes: {
      heading: 'Tax summary',
      columns: ['Tax', 'Net', 'Tax'],
      rows: [['VAT 19% (DE)', '$240.00', '$45.60']],
      total: null,
    },
    payment: {
      heading: 'Pay online',
      text: 'Scan the code:',
      link: `https://billing.example.com/pay/${number}`,
      action: 'Pay',
    },
    notes: [],
    annex: [],
    pageText: 'Page {page} of {pages}',
  };
}

/** PDFs that the worker threads of this process lay out, while its event loop is watched. */
async function pdfsPerSecond(service: BenchService): Promise<Measured> {
  // The first documents of a thread load its typefaces.
  await Promise.all(Array.from({ length: clients }, (_, index) => documentPdf(invoiceOf(index))));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  let made = 0;
  const before = process.cpuUsage();
  const { costs } = await withCosts(service, async () => {
    const endsAt = performance.now() + seconds * 1000;
    delay.enable();
    const client = async () => {
      while (performance.now() < endsAt) {
        await documentPdf(invoiceOf(made));
        made += 1;
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    delay.disable();
  });
  const { user, system } = process.cpuUsage(before);
  const blockedMs = delay.max / 1e6;
  return {
    value: made / seconds,
    unit: 'PDFs/s',
    limit: null,
    note:
      `invoices of four lines by ${clients} clients and two threads; ${((user + system) / 1000 / made).toFixed(1)} ms of ` +
      `processor time each; the event loop stood still for ${blockedMs.toFixed(0)} ms at most, of ${maxBlockedMs}`,
    costs,
    each: 'PDF',
    count: made,
  };
}

export const documentRows: Readonly<Record<string, Row>> = { pdfs: pdfsPerSecond };
