import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { loopback, mayReach, parseNetworks, urlIssue } from '../../src/jobs/address-guard.ts';

/** The special-purpose IPv4 ranges, as the registry of IANA lists them: first and last address. */
const forbiddenRanges = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
] as const;

const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const octetsOf = (number: number) => [number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255];
const dotted = (number: number) => octetsOf(number).join('.');
const bounds = forbiddenRanges.map(([first, last]) => [numberOf(first), numberOf(last)] as const);
const isForbidden = (number: number) => bounds.some(([first, last]) => first <= number && number <= last);

/** The same address in every spelling of a host that means it. */
function spellings(number: number): string[] {
  const octets = octetsOf(number);
  const [a, b, c, d] = octets;
  const hex = number.toString(16).padStart(8, '0');
  return [
    dotted(number),
    `${dotted(number)}.`,
    String(number),
    `0x${hex}`,
    `0X${hex.toUpperCase()}`,
    `0${number.toString(8)}`,
    octets.map((octet) => `0x${octet.toString(16)}`).join('.'),
    octets.map((octet) => `0${octet.toString(8)}`).join('.'),
    `${a}.${number & 0xffffff}`,
    `${a}.${b}.${number & 0xffff}`,
    `${a}.0x${b?.toString(16)}.0${c?.toString(8)}.${d}`,
    encodeURIComponent(dotted(number)).replace(/\d/g, (digit) => `%3${digit}`),
    `[::ffff:${dotted(number)}]`,
    `[::ffff:${hex.slice(0, 4)}:${hex.slice(4)}]`,
    `[0:0:0:0:0:FFFF:${hex.slice(0, 4)}:${hex.slice(4)}]`,
  ];
}

const anyIpv4 = fc.integer({ min: 0, max: 0xffffffff });
const forbiddenIpv4 = fc.constantFrom(...bounds).chain(([min, max]) => fc.integer({ min, max }));

describe('an IPv4 address', () => {
  test('an IPv4 address of a special range is refused in each spelling', () => {
    fc.assert(
      fc.property(forbiddenIpv4, (number) => {
        assert.equal(mayReach(dotted(number), []), false);
        for (const host of spellings(number)) assert.match(urlIssue(`http://${host}/`, false, []) ?? '', /not public/);
      }),
      { numRuns: 300 },
    );
  });

  test('an IPv4 address may be reached exactly when no special range has it, in whatever spelling', () => {
    fc.assert(
      fc.property(anyIpv4, (number) => {
        const issues = spellings(number).map((host) => urlIssue(`https://${host}/`, true, []) === null);
        assert.deepEqual([...new Set([mayReach(dotted(number), []), ...issues])], [!isForbidden(number)]);
      }),
      { numRuns: 500 },
    );
  });

  test('an IPv4 address at either end of a special range is refused, and the ones beside it are not', () => {
    for (const [first, last] of bounds) {
      assert.deepEqual(
        [first, last].map((number) => mayReach(dotted(number), [])),
        [false, false],
      );
      for (const beside of [first - 1, last + 1].filter((number) => number >= 0 && number <= 0xffffffff))
        assert.equal(mayReach(dotted(beside), []), !isForbidden(beside), dotted(beside));
    }
  });
});

describe('an IPv6 address', () => {
  const table: Readonly<Record<string, boolean>> = {
    '2606:4700:4700::1111': true,
    '2a00:1450:4001:80b::200e': true,
    '2400:cb00::1': true,
    '::': false,
    '::1': false,
    // IPv4-compatible and IPv4-translated.
    '::8.8.8.8': false,
    '::ffff:0:8.8.8.8': false,
    // IPv4-mapped: what counts is the IPv4 address, which is what is connected to.
    '::ffff:8.8.8.8': true,
    '::ffff:127.0.0.1': false,
    '::ffff:a9fe:a9fe': false,
    // NAT64, 6to4, Teredo.
    '64:ff9b::8.8.8.8': false,
    '64:ff9b::10.0.0.1': false,
    '64:ff9b:1::8.8.8.8': false,
    '2002:808:808::1': false,
    '2001:0:808:808::1': false,
    '100::1': false,
    '2001:2::1': false,
    '2001:20::1': false,
    '2001:db8::1': false,
    '3fff::1': false,
    '2620:4f:8000::1': false,
    '4000::1': false,
    '5f00::1': false,
    'fc00::1': false,
    'fd00:ec2::254': false,
    'fe80::1': false,
    'fe80::1%eth0': false,
    'fec0::1': false,
    'ff02::1': false,
  };
  for (const [address, expected] of Object.entries(table))
    test(`${address} ${expected ? 'is public' : 'is refused'}`, () => assert.equal(mayReach(address, []), expected));

  test('outside of 2000::/3 is refused', () => {
    const part = fc.integer({ min: 0, max: 0xffff });
    const outside = fc.integer({ min: 0, max: 0xffff }).filter((first) => first >> 13 !== 1);
    fc.assert(
      fc.property(outside, fc.array(part, { minLength: 7, maxLength: 7 }), (first, rest) => {
        const address = [first, ...rest].map((each) => each.toString(16)).join(':');
        fc.pre(!address.startsWith('0:0:0:0:0:ffff:'));
        assert.equal(mayReach(address, []), false);
      }),
    );
  });
});

test('what is no address is refused', () => {
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', '08.8.8.8', '134744072', '8.8.8.8/32', '::g'])
    assert.equal(mayReach(text, []), false, text);
});

describe('a network that is allowed', () => {
  test('a network that is allowed is reached, and nothing beside it', () => {
    const allowed = parseNetworks('10.1.0.0/16, fd00:1::/32, 192.168.7.7');
    for (const address of ['10.1.0.0', '10.1.255.255', 'fd00:1::5', '192.168.7.7', '::ffff:10.1.2.3'])
      assert.equal(mayReach(address, allowed), true, address);
    for (const address of ['10.2.0.0', '10.0.255.255', 'fd00:2::5', '192.168.7.8', '::ffff:10.2.0.1', '::10.1.2.3'])
      assert.equal(mayReach(address, allowed), false, address);
  });

  test('that is a gateway does not lead on to what is not allowed itself', () => {
    const allowed = parseNetworks('64:ff9b::/96');
    assert.equal(mayReach('64:ff9b::8.8.8.8', allowed), true);
    assert.equal(mayReach('64:ff9b::10.0.0.1', allowed), false);
    assert.equal(mayReach('64:ff9b::10.0.0.1', [...allowed, ...parseNetworks('10.0.0.0/8')]), true);
  });

  test('a network of loopback that is allowed brings localhost, and one of another kind the names of inside', () => {
    const issues = (allowed: string) =>
      ['localhost', 'a.localhost', 'vault.internal', 'receiver'].map(
        (host) => urlIssue(`http://${host}/`, false, parseNetworks(allowed)) === null,
      );
    assert.deepEqual(issues(''), [false, false, false, false]);
    assert.deepEqual(issues('127.0.0.0/8'), [true, true, false, false]);
    assert.deepEqual(issues('::1'), [true, true, false, false]);
    assert.deepEqual(issues('10.0.0.0/8'), [false, false, true, true]);
  });
});

describe('a list of networks', () => {
  test('a list of networks is ranges and addresses, of both versions', () => {
    const list = parseNetworks(' 127.0.0.0/8 , ::1,10.1.2.3,0.0.0.0/0 ');
    assert.deepEqual(
      list.map(({ address, prefixLength }) => `${address}/${prefixLength}`),
      ['127.0.0.0/8', '::1/128', '10.1.2.3/32', '0.0.0.0/0'],
    );
    assert.deepEqual(parseNetworks(''), []);
    assert.equal(loopback.length, 2);
  });

  for (const bad of [
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '/8',
    '::ffff:10.0.0.0/104',
  ])
    test(`a list of networks names its part ${bad} when it refuses it`, () => {
      assert.throws(
        () => parseNetworks(`127.0.0.0/8, ${bad}`),
        ({ message }: Error) => message.startsWith(`"${bad}" is not a network: use`),
      );
    });
});

describe('a URL', () => {
  const good = [
    'https://hooks.example.com',
    'https://hooks.example.com/a/b?c=d&e=@#f',
    'https://hooks.example.com:443/',
    'https://hooks.example.com:8443/',
    'https://hooks.example.com:80/',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]:8443/hook',
    'HTTPS://HOOKS.EXAMPLE.COM/',
    `https://hooks.example.com/${'a'.repeat(2022)}`,
  ];
  for (const url of good)
    test(`${url.slice(0, 60)} may be sent to in both modes`, () => {
      assert.deepEqual([urlIssue(url, true, []), urlIssue(url, false, [])], [null, null]);
    });

  test('a URL that is refused says what would be right', () => {
    const table: readonly (readonly [url: string, livemode: boolean, issue: string])[] = [
      ['http://hooks.example.com/', true, 'must be an https URL in live mode'],
      ['hooks.example.com', true, 'must be an absolute http or https URL, such as https://example.com/webhooks'],
      ['https://me:secret@example.com/', true, 'must not contain a user name or a password'],
      ['https://example.com:22/', true, 'must use port 80, 443, or a port from 1024 up, not 22'],
      ['https://example.com:5432/', true, 'must use port 80, 443, or a port from 1024 up, not 5432'],
      ['https://0x7f.1/', true, 'must point to a public address, and 127.0.0.1 is not public'],
      ['http://[::ffff:10.0.0.1]/', false, 'must point to a public address, and ::ffff:a00:1 is not public'],
      ['http://localhost/', false, 'must have a public host name, and localhost is local to one network'],
      ['https://example.com./', true, 'must not have a dot at the end of its host name'],
      [`https://example.com/${'a'.repeat(2029)}`, true, 'must be at most 2048 characters long'],
    ];
    for (const [url, livemode, issue] of table) assert.equal(urlIssue(url, livemode, []), issue);
  });

  test('a URL is judged without an error, whatever it is', () => {
    const parts = fc.constantFrom(
      'http',
      'https',
      '://',
      ':',
      '/',
      '@',
      '[',
      ']',
      '%',
      '\\',
      '.',
      '127',
      '::1',
      '\0',
      '\ud800',
      'a',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(parts).map((all) => all.join('')),
      fc.webUrl(),
    );
    fc.assert(fc.property(text, fc.boolean(), (url, livemode) => void urlIssue(url, livemode, loopback)));
  });
});
