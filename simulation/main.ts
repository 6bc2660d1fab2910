import process from 'node:process';
import { parseArgs } from 'node:util';
import { type Summary, simulate } from './run.ts';

// npm run simulate -- --seed N --steps M [--crashes on|off] [--minutes T] [--verbose]
// With --minutes: runs seed after seed, each in a new world, until the time is over.

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    steps: { type: 'string', default: '200' },
    crashes: { type: 'string', default: 'on' },
    minutes: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number, and is ${text}`);
  return number;
}

function told({ kills, byKind, reached, ...summary }: Summary): string {
  const numbers = {
    ...summary,
    ...Object.fromEntries(Object.entries(kills).map(([what, count]) => [`killed ${what}`, count])),
  };
  return Object.entries(numbers)
    .map(([name, count]) => `${count} ${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
    .join(', ');
}

function added(one: Summary, other: Summary): Summary {
  const sums = (a: object, b: object): object =>
    Object.fromEntries(
      [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => {
        const [left, right] = [Reflect.get(a, key) ?? 0, Reflect.get(b, key) ?? 0];
        return [key, typeof left === 'object' ? sums(left, Object(right)) : left + right];
      }),
    );
  return sums(one, other) as Summary;
}

if (!['on', 'off'].includes(values.crashes)) throw new Error(`--crashes must be on or off, and is ${values.crashes}`);
const first = wholeNumber('seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)));
const steps = wholeNumber('steps', values.steps);
const minutes = values.minutes === undefined ? null : Number(values.minutes);
const until = minutes === null ? null : Date.now() + minutes * 60_000;
const log = values.verbose ? (line: string) => console.log(line) : () => undefined;

let total: Summary | null = null;
const failed: number[] = [];
for (let seed = first; seed === first || (until !== null && Date.now() < until); seed++) {
  try {
    const summary = await simulate({
      seed,
      steps,
      crashes: values.crashes === 'on',
      log,
      ...(until === null ? {} : { until }),
    });
    total = total === null ? summary : added(total, summary);
    console.log(`seed ${seed}: ${told(summary)}`);
    log(`situations: ${JSON.stringify(summary.reached)}`);
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
    failed.push(seed);
  }
}
if (failed.length > 0) console.error(`failed: seeds ${failed.join(', ')}`);
if (total !== null && until !== null) {
  console.log(`in all: ${told(total)}`);
  console.log(`steps by kind: ${JSON.stringify(total.byKind)}`);
  console.log(`situations: ${JSON.stringify(total.reached)}`);
}
