import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../kernel/problem.ts';
import type { ConnectionLimits } from './connections.ts';
import { isForOperator } from './operator.ts';
import { networkOf } from './rate-limit.ts';
import { Repeats } from './trouble-log.ts';

/** A number of connections, of which one network may take a part. */
class Room {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #networks = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  get isFull(): boolean {
    return this.#taken >= this.#most;
  }

  get isHalfFull(): boolean {
    return this.#taken > this.#most / 2;
  }

  /** Takes a place, until the connection is closed. Returns false if there is none. */
  take(network: string, socket: Socket): boolean {
    const own = this.#networks.get(network) ?? 0;
    if (this.isFull || own >= this.#mostOfOne) return false;
    this.#taken += 1;
    this.#networks.set(network, own + 1);
    socket.once('close', () => this.#giveBack(network));
    return true;
  }

  #giveBack(network: string): void {
    const left = (this.#networks.get(network) ?? 0) - 1;
    this.#taken -= 1;
    if (left > 0) this.#networks.set(network, left);
    else this.#networks.delete(network);
  }
}

/**
 * Limits the connections of each network, so that one cannot take those of all. The last connections are a reserve, in
 * which only the operator's paths are answered: one request each, within a short time.
 */
export function guardConnections(server: FastifyInstance, limits: ConnectionLimits): void {
  const room = new Room(limits.connections - limits.reserved, limits.perAddress || Number.POSITIVE_INFINITY);
  const reserve = new Room(limits.reserved, limits.reservedPerAddress);
  const untilHeaders = new WeakMap<Socket, NodeJS.Timeout>();
  const refusals = new Repeats();
  const adaptKeepAlive = () => {
    server.server.keepAliveTimeout = room.isHalfFull ? limits.crowdedKeepAliveMs : limits.keepAliveMs;
  };

  server.server.maxConnections = limits.connections;
  server.server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    if (room.take(network, socket)) {
      adaptKeepAlive();
      socket.once('close', adaptKeepAlive);
      return;
    }
    noteRefusal(network);
    if (!reserve.take(network, socket)) return void socket.destroy();
    const endAfter = (ms: number) => {
      const end = setTimeout(() => socket.destroy(), ms);
      socket.once('close', () => clearTimeout(end));
      return end;
    };
    endAfter(limits.requestMs);
    untilHeaders.set(socket, endAfter(limits.reservedMs));
  });

  server.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if (!untilHeaders.has(socket)) return done();
    reply.header('connection', 'close');
    if (!isForOperator(request)) return done(new Problem('overloaded'));
    clearTimeout(untilHeaders.get(socket));
    done();
  });

  function noteRefusal(network: string): void {
    const reason = room.isFull
      ? 'all connections are taken'
      : `${network} has ${limits.perAddress}, the limit of TOLLKEEPER_CONNECTIONS_PER_ADDRESS`;
    const refused = refusals.count(room.isFull ? 'all' : 'address');
    if (refused !== null) server.log.warn({ refused }, `connections are refused: ${reason}`);
  }
}
