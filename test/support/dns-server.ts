import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { after } from 'node:test';
import type { OutboundPolicy } from '../../src/jobs/outbound.ts';

/** The addresses of a name, of both versions, each time it is asked for. */
export type Zone = (name: string, type: 'A' | 'AAAA') => readonly string[];

const typeNumbers = { A: 1, AAAA: 28 } as const;
const headerBytes = 12;

/** A real name server on this machine, which answers as the test says: NXDOMAIN where the zone knows no address. */
export async function startDnsServer(zone: Zone) {
  const requested: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, typeNumber, end } = questionOf(query);
    const type = typeNumber === typeNumbers.AAAA ? 'AAAA' : 'A';
    requested.push(`${type} ${name}`);
    const found = zone(name, type).filter((each) => isIP(each) === (type === 'A' ? 4 : 6));
    socket.send(answerTo(query.subarray(0, end), typeNumber, found), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  after(() => new Promise<void>((resolve) => socket.close(resolve)));
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  const lookup: NonNullable<OutboundPolicy['lookup']> = async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
    const addresses = [four, six].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return { requested, lookup };
}

/** The name and the type that a query asks for, and where the question ends. */
function questionOf(query: Buffer) {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), typeNumber: query.readUInt16BE(at + 1), end: at + 5 };
}

/** RFC 1035, 4.1: the question again, and a record for each address. `question` is the query up to its question's end. */
function answerTo(question: Buffer, typeNumber: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question);
  const nameError = addresses.length === 0 ? 3 : 0;
  head.writeUInt16BE(0x8180 | nameError, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const bytes = bytesOf(address);
    const record = Buffer.alloc(headerBytes);
    record.writeUInt16BE(0xc000 | headerBytes, 0);
    record.writeUInt16BE(typeNumber, 2);
    record.writeUInt16BE(1, 4);
    // Bytes 6 to 9 stay 0: nobody may keep the answer.
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, ...records]);
}

function bytesOf(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [left = '', right = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const zeros = Array<string>(8 - groups(left).length - groups(right).length).fill('0');
  const all = [...groups(left), ...zeros, ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
