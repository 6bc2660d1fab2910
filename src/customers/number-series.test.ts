import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import type { NumberSeries } from '../organizations/setting.ts';
import { documentNumber, refuseSharedSeries, seriesStem } from './number-series.ts';

const usual: NumberSeries = { per: 'customer', prefix: null, yearly: false };

/** The first number of the series of an invoice and of a credit note of the customer 9F3A0C1. */
function numbersOf(series: Partial<NumberSeries>, date = instant('2026-12-31T23:30'), timeZone = 'UTC') {
  const each = { ...usual, ...series };
  const settings = { numbering: { invoices: each, creditNotes: each }, timeZone };
  return (['invoice', 'creditNote'] as const).map((document) => {
    const { before, namesCustomer, after } = seriesStem(settings, document, date);
    return documentNumber(`${before}${namesCustomer ? '9F3A0C1' : ''}${after}`, 1);
  });
}

test('each customer has a series for invoices and another for credit notes', () => {
  assert.deepEqual(numbersOf({}), ['9F3A0C1-00001', '9F3A0C1-CN-00001']);
  assert.deepEqual(numbersOf({ yearly: true }), ['9F3A0C1-2026-00001', '9F3A0C1-CN-2026-00001']);
  assert.equal(numbersOf({ prefix: 'ACME' })[0], 'ACME-9F3A0C1-00001');
});

test('an environment may have one series for all customers, with a prefix and a year', () => {
  assert.deepEqual(numbersOf({ per: 'environment' }), ['INV-00001', 'CN-00001']);
  assert.equal(numbersOf({ per: 'environment', prefix: 'R/A', yearly: true })[0], 'R/A-2026-00001');
});

test('half an hour before midnight in UTC it is next year in Vienna, and this year in New York', () => {
  const year = (timeZone: string) => numbersOf({ per: 'environment', yearly: true }, undefined, timeZone)[0];
  assert.equal(year('Europe/Vienna'), 'INV-2027-00001');
  assert.equal(year('America/New_York'), 'INV-2026-00001');
});

test('a number grows beyond five digits', () => {
  assert.equal(documentNumber('INV-', 123_456), 'INV-123456');
});

test('invoices and credit notes of an environment may not share a prefix, and a prefix may not spell the usual one', () => {
  const refuses = (invoices: Partial<NumberSeries>, creditNotes: Partial<NumberSeries>) => {
    const check = () =>
      refuseSharedSeries({ invoices: { ...usual, ...invoices }, creditNotes: { ...usual, ...creditNotes } });
    assert.throws(check, (error) => error instanceof Problem && /must differ/.test(error.message));
  };
  refuses({ per: 'environment', prefix: 'A' }, { per: 'environment', prefix: 'A' });
  refuses({ per: 'environment', prefix: 'CN' }, { per: 'environment' });
  refuses({ prefix: 'A' }, { prefix: 'A' });
  refuseSharedSeries({ invoices: usual, creditNotes: usual });
});
