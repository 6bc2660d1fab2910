import { readFile } from 'node:fs/promises';
import '../src/http/json-bigint.ts';
import { requests } from '../examples/requests.ts';
import { routes } from '../src/api/routes.ts';
import { messages } from '../src/app.ts';
import { createOpenApi } from '../src/http/openapi.ts';
import { version } from '../src/http/version.ts';
import { tags } from './openapi-tags.ts';

/** The OpenAPI document of the API, as openapi.json has it. */
export async function makeOpenApi() {
  const page = await readFile(new URL('../docs/api.md', import.meta.url), 'utf8');
  const introduction = page.replace(/^# .*/, '# Introduction');
  return createOpenApi({ routes, messages, version, introduction, tags, examples: requests });
}
