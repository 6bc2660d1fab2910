import type { Body } from './harness.ts';

/** A part of openapi.json: itself, or the component that it names. */
export function resolved(document: Body, part: Body): Body {
  if (typeof part?.$ref !== 'string') return part;
  const keys: string[] = part.$ref.slice(2).split('/');
  return resolved(
    document,
    keys.reduce((at, key) => at[key], document),
  );
}

/** Where openapi.json has the schema of an answer, or null when it documents no such answer. */
export function answerPointer(
  document: Body,
  { method, path, status }: { method: string; path: string; status: number },
  mediaType = 'application/json',
): string | null {
  const given = document.paths[path]?.[method.toLowerCase()]?.responses[status];
  if (resolved(document, given)?.content?.[mediaType] === undefined) return null;
  const place =
    given.$ref ?? `#/${['paths', path, method.toLowerCase(), 'responses', String(status)].map(key).join('/')}`;
  return `openapi.json${place}/content/${key(mediaType)}/schema`;
}

/** A key as a JSON pointer in an address has it. */
function key(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
