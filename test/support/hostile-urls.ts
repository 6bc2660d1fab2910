/** Addresses that would lead to what is not public. Where it matters, `port` is that of a server on this machine. */

export interface HostileUrl {
  readonly url: string;
  /** When it shows: as soon as the address is registered, or when its name is looked up for a connection. */
  readonly refusedAt: 'registration' | 'connection';
}

/** 127.0.0.1 in the spellings that the URL parser, and every program behind it, understands. */
const loopbackHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7F.0x0.0x0.0x1',
  '0177.0.0.1',
  '017700000001',
  '0177.0x0.0.1',
  '00000177.00.00.01',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0000:0000:0000:0000:0000:FFFF:7F00:0001]',
  '0.0.0.0',
  '0',
  '0x0',
  '[::]',
  'localhost',
  'LOCALHOST',
  'ＬＯＣＡＬＨＯＳＴ',
  'any.localhost',
];

const privateHosts = [
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '0xc0a80101',
  '169.254.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd12:3456::1]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[3fff::1]',
];

/** What a cloud tells its machines, and only them. */
const metadataHosts = [
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '169.254.170.2',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  'metadata.google.internal',
  'instance-data',
];

/** IPv6 addresses that carry an IPv4 address, and lead to it where there is a gateway. */
const carryingHosts = [
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:7f00:1::]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::ffff:10.0.0.1]',
];

/** Names of one network only, and names that are none. */
const insideHosts = ['intranet', 'router.local', 'vault.internal', 'printer.lan', 'hooks.example.com.', 'localhost.'];

/** Names whose address is not public, as `hostileZone` has them. */
const resolvingHosts = [
  '127.0.0.1.names.example.test',
  '127.0.0.2.names.example.test',
  '10.1.2.3.names.example.test',
  '169.254.169.254.names.example.test',
  '0.0.0.0.names.example.test',
  'six.example.test',
  'six-mapped.example.test',
  'six-unspecified.example.test',
  'mixed.example.test',
  'mixed-across-versions.example.test',
];

const resolved: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1'],
  'six.example.test': ['::1'],
  'six-mapped.example.test': ['::ffff:127.0.0.1'],
  'six-unspecified.example.test': ['::'],
  // One good address does not make up for a bad one, in whatever order they come.
  'mixed.example.test': ['192.0.32.8', '127.0.0.1', '192.0.32.8'],
  'mixed-across-versions.example.test': ['192.0.32.8', '::1'],
};

/** The zone of these names: `10.1.2.3.names.example.test` is 10.1.2.3. */
export function hostileZone(name: string): readonly string[] {
  const [, address] = /^([\d.]+)\.names\.example\.test$/.exec(name) ?? [];
  return address === undefined ? (resolved[name] ?? []) : [address];
}

/** All of them, for test mode: with `http`, which live mode refuses anyway. */
export function hostileUrls(port: number): HostileUrl[] {
  const shown = [...loopbackHosts, ...privateHosts, ...metadataHosts, ...carryingHosts, ...insideHosts];
  return [
    ...shown.map((host) => ({ url: `http://${host}:${port}/hook`, refusedAt: 'registration' }) as const),
    ...resolvingHosts.map((host) => ({ url: `http://${host}:${port}/hook`, refusedAt: 'connection' }) as const),
    ...hostileForms(port).map((url) => ({ url, refusedAt: 'registration' }) as const),
  ];
}

/** Addresses that are hostile by their form, wherever they lead. */
function hostileForms(port: number): string[] {
  const receiver = `127.0.0.1:${port}`;
  return [
    `http://user:password@${receiver}/`,
    `http://hooks.example.com@${receiver}/`,
    `http://@${receiver}/`,
    `http://hooks.example.com:80@${receiver}/`,
    `http://hooks.example.com\\@${receiver}/`,
    `http://hooks.example.com%00@${receiver}/`,
    `http:${receiver}/`,
    `http:/${receiver}/`,
    `http:///${receiver}/`,
    `//${receiver}/`,
    `/${receiver}/`,
    `\thttp://${receiver}/`,
    `http://127.0.0.1\n:${port}/`,
    'http://hooks.example.com/\r\nhost: inside',
    `ftp://${receiver}/`,
    'file:///etc/passwd',
    `gopher://${receiver}/_x`,
    'data:text/plain,hello',
    'javascript:alert(1)',
    `ws://${receiver}/`,
    'http://hooks.example.com:0/',
    'http://hooks.example.com:22/',
    'http://hooks.example.com:25/',
    'http://hooks.example.com:6379/',
    'http://hooks.example.com:65536/',
    'http://[::1/',
    'http://[fe80::1%25eth0]/',
    'http://256.256.256.256/',
    'http://',
    'http://?',
    `http://hooks.example.com/${'a'.repeat(2048)}`,
    '',
  ];
}
