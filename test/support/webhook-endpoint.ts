import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

/** A message as an endpoint received it. */
export interface Message {
  readonly path: string;
  readonly eventId: string;
  readonly objectId: string;
}

/** What an endpoint does with a message: answers, says nothing for ever, or cuts the connection. */
export type Reaction =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer }
  | 'hang'
  | 'cut';

/** A real endpoint that writes down what it receives and reacts as the test says. */
export async function startEndpoint(react: (message: Message) => Reaction | Promise<Reaction>) {
  const received: Message[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const payload = JSON.parse(Buffer.concat(chunks).toString() || '{}');
    const message = { path: request.url ?? '', eventId: payload.eventId, objectId: payload.id };
    received.push(message);
    const reaction = await react(message);
    if (reaction === 'cut') request.socket.destroy();
    else if (reaction !== 'hang') response.writeHead(reaction.status, reaction.headers).end(reaction.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    /** The objects that were told of, in order of arrival. */
    objects: () => received.map(({ objectId }) => objectId),
    eventIdsOf: (objectId: string) =>
      received.filter((message) => message.objectId === objectId).map(({ eventId }) => eventId),
  };
}
