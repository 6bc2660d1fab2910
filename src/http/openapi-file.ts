import { readFile } from 'node:fs/promises';

/** The committed document. `npm test` proves that it is the document of the routes. */
const file = new URL('../../openapi.json', import.meta.url);

let bytes: Promise<Buffer> | undefined;

/** The OpenAPI document as it is served: read once, without the blanks of the file. */
export function openApiBytes(): Promise<Buffer> {
  bytes ??= readFile(file, 'utf8').then((text) => Buffer.from(JSON.stringify(JSON.parse(text))));
  return bytes;
}

/** The text of the committed document. */
export function openApiText(): Promise<string> {
  return readFile(file, 'utf8');
}
