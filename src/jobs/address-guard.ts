/**
 * Guards against server-side request forgery: user-supplied addresses must be public, or in a network that the operator
 * allows.
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { textLimits } from '../kernel/text-limits.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses whose first `prefixLength` bits are those of `address`. */
export interface Network {
  readonly address: Address;
  readonly prefixLength: number;
}

/**
 * Parses a list such as `127.0.0.0/8, ::1`: networks and single addresses, separated by commas. An empty text gives
 * none. Throws an Error that names an invalid part.
 */
export function parseNetworks(text: string): Network[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '').map(parseNetwork);
}

function parseNetwork(part: string): Network {
  const [text = '', length, ...rest] = part.split('/');
  const version = isIP(text);
  const bits = version === 4 ? 32 : 128;
  const prefixLength = length === undefined ? bits : Number(length);
  const isNetwork = version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(length ?? '0') && prefixLength <= bits;
  // IPv4-mapped addresses are checked as IPv4, so a network of them would silently allow nothing.
  const isMapped = isNetwork && isWithinAny(parseAddress(text), mapped);
  if (isNetwork && !isMapped) return { address: parseAddress(text), prefixLength };
  throw new Error(`"${part}" is not a network: use an address or a range such as 10.1.2.3, 10.0.0.0/8 or fd00::/8`);
}

/**
 * Parses `text`, which is an address. IPv6 is normalized first, because ipaddr.js reads `::1.2.3.4` as
 * `::ffff:1.2.3.4`.
 */
function parseAddress(text: string): Address {
  const [address = ''] = text.split('%');
  return ipaddr.parse(isIP(address) === 4 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1));
}

const mapped: readonly Network[] = [{ address: ipaddr.parse('::ffff:0:0'), prefixLength: 96 }];
const nat64 = parseNetworks('64:ff9b::/96');
/** Loopback addresses. */
export const loopback: readonly Network[] = parseNetworks('127.0.0.0/8, ::1/128');

// Azure's 168.63.129.16 has a public number but serves each virtual machine its own internal data.
const publicByNumberOnly = parseNetworks('168.63.129.16');
// All assigned global unicast addresses (RFC 4291, IANA). Everything else is private, local, an embedded IPv4 address,
// or unassigned.
const globalUnicast = parseNetworks('2000::/3');

function isWithinAny(address: Address, networks: readonly Network[]): boolean {
  return networks.some(
    (network) => network.address.kind() === address.kind() && address.match(network.address, network.prefixLength),
  );
}

/** Whether an address is on the public internet and has no special purpose in IANA's registries. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || isWithinAny(address, publicByNumberOnly)) return false;
  return address.kind() === 'ipv4' || isWithinAny(address, globalUnicast);
}

/** Whether an address may be sent to: it is public or in an allowed network. Text that is not an address may not. */
export function mayReach(text: string, allowed: readonly Network[]): boolean {
  if (isIP(text) === 0) return false;
  const address = parseAddress(text);
  const carried = () => mayReach(address.toByteArray().slice(-4).join('.'), allowed);
  if (isWithinAny(address, mapped)) return carried();
  // A NAT64 gateway can lead to any IPv4 address, internal ones included: allowing the gateway does not allow those.
  if (isWithinAny(address, nat64)) return isWithinAny(address, allowed) && carried();
  return isWithinAny(address, allowed) || isPublic(address);
}

const absoluteUrl = /^https?:\/\/(?<authority>[^\s\\/?#\p{Cc}]+)[^\s\\\p{Cc}]*$/iu;

/** The problem with a URL that shows without a DNS lookup, or null when it may be sent to. */
export function urlIssue(text: string, livemode: boolean, allowed: readonly Network[]): string | null {
  if (text.length > textLimits.url) return `must be at most ${textLimits.url} characters long`;
  const { authority } = absoluteUrl.exec(text)?.groups ?? {};
  if (authority === undefined || !URL.canParse(text))
    return 'must be an absolute http or https URL, such as https://example.com/webhooks';
  // Credentials in a URL would be stored in plain text, and they can make one host look like another.
  if (authority.includes('@')) return 'must not contain a user name or a password';
  const url = new URL(text);
  if (livemode && url.protocol !== 'https:') return 'must be an https URL in live mode';
  return portIssue(url.port) ?? hostIssue(url.hostname.replace(/^\[|\]$/g, ''), allowed);
}

// Ports above 1023 where a request could be taken for another protocol: the "bad ports" of browsers (Fetch), databases
// and queues.
const portsOfOthers = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  1433, 1521, 2375, 2379, 3306, 3389, 5432, 5672, 6379, 9042, 9092, 11211, 27017,
]);

function portIssue(text: string): string | null {
  const port = Number(text);
  const isWeb = text === '' || port === 80 || port === 443 || (port >= 1024 && !portsOfOthers.has(port));
  return isWeb ? null : `must use port 80, 443, or a port from 1024 up, not ${port}`;
}

// Host names that exist only within one network (RFC 6762, RFC 8375, ICANN's .internal and others in use).
const insideName = /^[^.]+$|\.(?:local|localdomain|internal|intranet|private|lan|home|corp|home\.arpa)$/;

/** `host` comes from the URL parser: lower case, and addresses in normalized form. */
function hostIssue(host: string, allowed: readonly Network[]): string | null {
  if (isIP(host) !== 0)
    return mayReach(host, allowed) ? null : `must point to a public address, and ${host} is not public`;
  if (host.endsWith('.')) return 'must not have a dot at the end of its host name';
  const isLocalhost = /(?:^|\.)localhost$/.test(host);
  const leadsToAllowed = isLocalhost
    ? loopback.some(({ address }) => mayReach(address.toString(), allowed))
    : allowed.some(({ address }) => !isWithinAny(address, loopback));
  const isInside = isLocalhost || insideName.test(host);
  return isInside && !leadsToAllowed ? `must have a public host name, and ${host} is local to one network` : null;
}
