import type { Caller, CallOptions, Input, Operation, WriteOptions } from './transport.ts';

/** The maximum of the service, for the fewest requests. */
const pageSize = 100;

/** The methods of a group: one per operation of its table, plus one that iterates over the pages of each list. */
export function methodsOf<Methods>(caller: Caller, table: Readonly<Record<string, Operation>>): Methods {
  const methods: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries(table)) {
    methods[name] = (input?: Input, options?: WriteOptions) => caller.call(operation, input, options);
    if (operation.pages) methods[name.replace(/^list/, 'listAll')] = walkOf(caller, operation);
  }
  // The interface and the table are generated from the same document.
  return methods as Methods;
}

interface Page {
  readonly data: readonly unknown[];
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

function walkOf(caller: Caller, operation: Operation) {
  return async function* walk(input: Input = {}, options: CallOptions = {}): AsyncGenerator<unknown, void, undefined> {
    let cursor: string | undefined;
    do {
      const asked = cursor === undefined ? input : { ...input, cursor };
      const page = (await caller.call(operation, { limit: pageSize, ...asked }, options)) as Page;
      yield* page.data;
      cursor = page.hasMore ? page.nextCursor : undefined;
    } while (cursor !== undefined);
  };
}
