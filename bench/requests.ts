import { randomUUID } from 'node:crypto';

/** Subscriptions and prices, from which each event draws at random. */
export interface EventSources {
  readonly subscriptionIds: readonly string[];
  readonly priceSlugs: readonly string[];
  /** A meter to name in place of a price, with one of these models as a property of each event. */
  readonly byModel?: { readonly usageMeterSlug: string; readonly models: readonly string[] };
  /** The share of events that are dated an hour back: they are counted in another hour than the present one. */
  readonly shareOfLateEvents?: number;
}

/** The requests of a load, as sent to the load process, which builds them while it runs. */
export type Requests =
  | { readonly kind: 'get'; readonly paths: readonly string[] }
  | { readonly kind: 'post'; readonly path: string; readonly bodies: readonly string[] }
  | { readonly kind: 'event'; readonly path: string; readonly sources: EventSources }
  | { readonly kind: 'events'; readonly size: number; readonly asLines: boolean; readonly sources: EventSources };

/** Makes the next request of a load, as it goes over the wire. Everything that can be is made before. */
export function requestMaker(requests: Requests, key: string): () => string {
  const headers = `HTTP/1.1\r\nhost: tollkeeper.bench\r\nauthorization: ${key}\r\n`;
  const post = (path: string, type: string) => {
    const head = `POST /api/v1${path} ${headers}content-type: ${type}\r\ncontent-length: `;
    return (body: string) => `${head}${body.length}\r\n\r\n${body}`;
  };
  switch (requests.kind) {
    case 'get':
      return inTurn(requests.paths.map((path) => `GET /api/v1${path} ${headers}\r\n`));
    case 'post':
      return inTurn(requests.bodies.map(post(requests.path, 'application/json')));
    case 'event': {
      const whole = post(requests.path, 'application/json');
      const event = eventMaker(requests.sources);
      return () => whole(`{"usageEvent":${event()}}`);
    }
    case 'events': {
      const { size, asLines, sources } = requests;
      const event = eventMaker(sources);
      const whole = post('/usage-events/bulk', asLines ? 'application/x-ndjson' : 'application/json');
      return asLines
        ? () => whole(joined(event, size, '\n'))
        : () => whole(`{"usageEvents":[${joined(event, size, ',')}]}`);
    }
    default:
      return requests satisfies never;
  }
}

function inTurn(texts: readonly string[]): () => string {
  let turn = 0;
  return () => texts[turn++ % texts.length] ?? '';
}

// JSON.stringify of each event would take several times as long as putting a few texts together.
const hourMs = 3_600_000;

function eventMaker({ subscriptionIds, priceSlugs, byModel, shareOfLateEvents = 0 }: EventSources): () => string {
  const { usageMeterSlug, models = [] } = byModel ?? {};
  const uses =
    usageMeterSlug === undefined
      ? priceSlugs.map((priceSlug) => `"priceSlug":"${priceSlug}"`)
      : models.map((model) => `"usageMeterSlug":"${usageMeterSlug}","properties":{"model":"${model}"}`);
  const starts = subscriptionIds.flatMap((subscriptionId) =>
    uses.map((use) => `{"subscriptionId":"${subscriptionId}",${use},"transactionId":"`),
  );
  return () => {
    const start = starts[Math.floor(Math.random() * starts.length)];
    const isLate = shareOfLateEvents > 0 && Math.random() < shareOfLateEvents;
    const date = isLate ? `,"usageDate":${Date.now() - hourMs}` : '';
    return `${start}${randomUUID()}","amount":${1 + Math.floor(Math.random() * 7)}${date}}`;
  };
}

function joined(event: () => string, size: number, separator: string): string {
  let text = event();
  for (let made = 1; made < size; made++) text += separator + event();
  return text;
}
