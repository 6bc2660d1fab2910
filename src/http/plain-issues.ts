import type { z } from 'zod';

/** The message of a union of which no alternative is valid, where these say nothing more. */
export const noAlternative = 'is not valid';

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const formatNames: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  uuid: 'a UUID',
  datetime: 'an ISO 8601 date-time',
  date: 'an ISO 8601 date',
  time: 'an ISO 8601 time',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  cidrv4: 'an IPv4 range',
  cidrv6: 'an IPv6 range',
  base64: 'base64',
  base64url: 'base64url',
};

/** The units in which a value is measured: 'at least 1 character'. */
function unitsOf(origin: string, size: number | bigint): string {
  const units: Readonly<Record<string, readonly [one: string, several: string]>> = {
    string: ['character', 'characters'],
    array: ['element', 'elements'],
    set: ['element', 'elements'],
    map: ['entry', 'entries'],
  };
  const unit = units[origin];
  return unit === undefined ? '' : ` ${Number(size) === 1 ? unit[0] : unit[1]}`;
}

function rangeText(origin: string, limit: number | bigint, words: { plain: string; sized: string }): string {
  const units = unitsOf(origin, limit);
  return units === ''
    ? `must be ${words.plain.replace('#', String(limit))}`
    : `must have ${words.sized} ${limit}${units}`;
}

function formatText(issue: z.core.$ZodRawIssue & { code: 'invalid_format' }): string {
  switch (issue.format) {
    case 'starts_with':
      return `must begin with ${JSON.stringify(issue.prefix)}`;
    case 'ends_with':
      return `must end with ${JSON.stringify(issue.suffix)}`;
    case 'includes':
      return `must contain ${JSON.stringify(issue.includes)}`;
    case 'regex':
      return `must match ${issue.pattern}`;
    default:
      return `must be ${formatNames[issue.format] ?? issue.format}`;
  }
}

/** Says in plain English what would be right: the message of a schema that has none of its own. */
export function plainMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = typeNames[issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is required, and must be ${expected}` : `must be ${expected}`;
    }
    case 'invalid_value': {
      const values = issue.values.map(String);
      const expected = values.length === 1 ? (values[0] ?? '') : `one of ${values.join(', ')}`;
      return issue.input === undefined ? `is required, and must be ${expected}` : `must be ${expected}`;
    }
    case 'too_big': {
      const { origin, maximum } = issue;
      if (issue.exact) return rangeText(origin, maximum, { plain: '#', sized: 'exactly' });
      const inclusive = { plain: '# or less', sized: 'at most' };
      return rangeText(origin, maximum, issue.inclusive ? inclusive : { plain: 'less than #', sized: 'fewer than' });
    }
    case 'too_small': {
      const { origin, minimum } = issue;
      if (issue.exact) return rangeText(origin, minimum, { plain: '#', sized: 'exactly' });
      const inclusive = { plain: '# or more', sized: 'at least' };
      return rangeText(origin, minimum, issue.inclusive ? inclusive : { plain: 'more than #', sized: 'more than' });
    }
    case 'invalid_format':
      return formatText(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `must not have ${issue.keys.join(', ')}`;
    case 'invalid_union': {
      const options = (issue as { options?: unknown }).options;
      return Array.isArray(options) && options.length > 0 ? `must be one of ${options.join(', ')}` : noAlternative;
    }
    case 'invalid_key':
      return 'has a key that is not valid';
    default:
      return noAlternative;
  }
}
