/** A sample of the service under load. Latencies in milliseconds, memory in bytes. */
export interface Sample {
  readonly second: number;
  readonly rss: number;
  readonly heap: number;
  readonly connections: Readonly<Record<string, number>>;
  readonly queued: number;
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly refused: number;
  /** The duration of a fixed amount of work, unrelated to the service. */
  readonly machineMs: number;
}

/** The counts at the end of the load. */
export interface Ending {
  readonly refused: number;
  readonly refusal: string | null;
  readonly eventsAnswered: number;
  readonly eventsStored: number;
  readonly invariants: string;
  readonly invariantsHold: boolean;
  /** Database connections by state, when no requests are left. */
  readonly connections: Readonly<Record<string, number>>;
  readonly messagesReceived: number;
  readonly deliveriesOpen: number;
}

/** A claim of the soak test, its result, and the figures. */
export interface Verdict {
  readonly claim: string;
  /** Null if the run was too short. */
  readonly holds: boolean | null;
  readonly figures: string;
}

// Until then code is compiled, pools fill and caches grow.
const settlingSeconds = 300;
const shortestSeconds = 600;
// Garbage collection alone changes the resident memory by a few percent.
const allowedGrowth = 0.1;
const allowedSlowdown = 1.5;
const slackMs = 5;

const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

/** Judges the samples and the final counts of a run. */
export function judge(samples: readonly Sample[], ending: Ending): Verdict[] {
  const meanOf = (measure: (sample: Sample) => number, from: number, to: number) => {
    const part = samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to));
    return sum(part.map(measure)) / part.length;
  };
  const secondAndLast = (measure: (sample: Sample) => number) =>
    [meanOf(measure, 0.25, 0.5), meanOf(measure, 0.75, 1)] as const;
  const [second, last] = secondAndLast(({ p95 }) => p95);
  const [machineThen, machineLast] = secondAndLast(({ machineMs }) => machineMs);
  const most = Math.max(...samples.map(({ connections }) => sum(Object.values(connections))));
  const left = sum(Object.values(ending.connections));
  const transactions = sum(
    Object.entries(ending.connections).map(([state, count]) =>
      state.includes('transaction') || state === 'active' ? count : 0,
    ),
  );
  return [
    flat('resident memory is flat', samples, ({ rss }) => rss),
    flat('heap is flat', samples, ({ heap }) => heap),
    {
      claim: 'latency is flat',
      holds: samples.length < 4 ? null : last <= second * allowedSlowdown + slackMs,
      // A slower machine explains a rising latency, but the claim still fails.
      figures:
        `p95 ${second.toFixed(1)} ms in the second quarter, ${last.toFixed(1)} ms in the last; the same work of the machine ` +
        `${machineThen.toFixed(2)} and ${machineLast.toFixed(2)} ms`,
    },
    {
      claim: 'no connection leaks',
      holds: left <= most && transactions === 0,
      figures: `${most} at the most under load, ${left} afterwards, ${transactions} of them in a transaction`,
    },
    {
      claim: 'every answer is 200',
      holds: ending.refused === 0,
      figures: ending.refusal === null ? 'none refused' : `${ending.refused} refused, the first: ${ending.refusal}`,
    },
    {
      claim: 'every event is stored once',
      holds: ending.eventsStored === ending.eventsAnswered,
      figures: `${ending.eventsAnswered} answered, ${ending.eventsStored} stored`,
    },
    {
      claim: 'webhooks keep up',
      holds: ending.messagesReceived > 0 && ending.deliveriesOpen === 0,
      figures: `${ending.messagesReceived} received, ${ending.deliveriesOpen} open at the end`,
    },
    { claim: 'the invariants hold', holds: ending.invariantsHold, figures: ending.invariants },
  ];
}

/**
 * Compares the lowest value of the last third with that of the first, after settling. Requests in flight use varying
 * amounts of memory.
 */
function flat(claim: string, samples: readonly Sample[], measure: (sample: Sample) => number): Verdict {
  const lasted = samples.at(-1)?.second ?? 0;
  const settled = samples.filter(({ second }) => second >= (lasted < shortestSeconds ? lasted / 3 : settlingSeconds));
  const third = Math.ceil(settled.length / 3);
  const [first, last] = [settled.slice(0, third), settled.slice(-third)].map((part) => Math.min(...part.map(measure)));
  const mean = sum(settled.map(measure)) / settled.length;
  return {
    claim,
    holds:
      lasted < shortestSeconds || first === undefined || last === undefined
        ? null
        : last <= first * (1 + allowedGrowth),
    figures: `at the lowest ${megabytes(first ?? 0)} in the first third and ${megabytes(last ?? 0)} in the last, ${megabytes(mean)} in the mean`,
  };
}
