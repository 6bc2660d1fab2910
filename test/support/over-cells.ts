import assert from 'node:assert/strict';
import type pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { addCell } from '../../src/main-cells.ts';
import { startCellsServer } from './cells-fixture.ts';
import type { Answer, Body, RequestOptions } from './harness.ts';
import { type OwnPostgres, PressedService } from './pressed.ts';
import { printed } from './printed.ts';

const key = 'sk_test_of_the_home_cell';

/**
 * A service with customers in a home cell, in `cell_a` of its database and in `cell_b` of another one. Its slots are given before it
 * starts, so that nobody waits for processes to know them.
 */
export class OverCells {
  readonly #server: Awaited<ReturnType<typeof startCellsServer>>;
  readonly #environmentId: number;
  #service: PressedService;
  #names = 0;

  private constructor(
    server: Awaited<ReturnType<typeof startCellsServer>>,
    environmentId: number,
    service: PressedService,
  ) {
    this.#server = server;
    this.#environmentId = environmentId;
    this.#service = service;
  }

  static async start(...binaries: Parameters<typeof OwnPostgres.start>): Promise<OverCells> {
    const server = await startCellsServer(key, ...binaries);
    const { admin, elsewhere, addressElsewhere: url, settings } = server;
    const config = readConfig(settings);
    await printed(() =>
      Promise.all([addCell(config, 'cell_a', { json: true }), addCell(config, 'cell_b', { url, json: true })]),
    );
    const cells = [
      { client: admin, cell: 'cell_a' },
      { client: elsewhere, cell: 'cell_b' },
    ];
    for (const { client, cell } of cells) {
      await admin.query('select home.give_slots($1, 1280)', [cell]);
      const { rows } = await admin.query(
        'select c.number, array(select code from home.slots where cell = c.name) as codes from home.cells c where name = $1',
        [cell],
      );
      await client.query(`select ${cell}.number_cell($1)`, [rows[0].number]);
      await client.query(`insert into ${cell}.slots_here (code) select unnest($1::text[])`, [rows[0].codes]);
    }
    const found = await admin.query('select id from home.environments where not livemode');
    const service = await PressedService.start(settings);
    return new OverCells(server, Number(found.rows[0]?.id), service);
  }

  get service(): PressedService {
    return this.#service;
  }

  get settings(): Readonly<Record<string, string>> {
    return this.#server.settings;
  }

  /** The owner of the cells in the database of the home cell. */
  get admin(): pg.Client {
    return this.#server.admin;
  }

  /** The owner of `cell_b`. */
  get elsewhere(): pg.Client {
    return this.#server.elsewhere;
  }

  /** kill -9 of the service, and a new one. */
  async startAgain(more: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#service.remove();
    this.#service = await PressedService.start({ ...this.settings, ...more });
  }

  async stop(): Promise<void> {
    await this.#service.remove();
    await this.#server.stop();
  }

  ask(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.#service.request(method, path, body, { key, ...options });
  }

  async ok(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Body> {
    const answer = await this.ask(method, path, body, options);
    assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** A new name whose customer lives in this cell, or in this slot of it; null is home. */
  async newName(cell: string | null, wanted?: string): Promise<string> {
    const { rows } = await this.admin.query('select code, cell from home.slots');
    const cells = new Map(rows.map((row) => [row.code, row.cell]));
    for (;;) {
      this.#names += 1;
      const name = `${cell ?? 'home'}-${this.#names}`;
      const slot = slotOfCustomer(this.#environmentId, name);
      if ((cells.get(slot) ?? null) === cell && slot === (wanted ?? slot)) return name;
    }
  }

  /** A new customer in this cell, by its external id. */
  async newCustomer(cell: string | null, slot?: string): Promise<string> {
    const externalId = await this.newName(cell, slot);
    await this.ok('POST', '/customers', {
      customer: { externalId, name: externalId, email: `${externalId}@acme.test` },
    });
    return externalId;
  }

  /** Sends the processes to another address for `cell_b`; null is the real one. */
  async moveAway(address: string | null): Promise<void> {
    await this.admin.query(
      `with moved as (update home.cells set address = $1 where name = 'cell_b')
       update home.cell set slots_version = slots_version + 1`,
      [address ?? this.#server.addressElsewhere],
    );
  }
}
