import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Config } from './config.ts';
import { ask, refusalOf, type ServiceOptions, serviceOf, unreachable } from './main-request.ts';
import { PricingChange } from './pricing/structure-copy.ts';

interface ApplyOptions extends ServiceOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const Applied = z.object({
  pricingModel: z.object({ id: z.string(), name: z.string(), livemode: z.boolean() }),
  isNew: z.boolean(),
  changes: z.array(PricingChange),
});
type Applied = z.infer<typeof Applied>;

/** Makes the pricing model of a running service what the file says, and prints the differences. */
export async function applyPricing(config: Config, file: string, { dryRun = false, ...options }: ApplyOptions) {
  const service = serviceOf(config, options);
  const body = await readStructure(file);
  const path = `/pricing-models/apply${dryRun ? '?dryRun=true' : ''}`;
  const answer = await ask(service, 'POST', path, body).catch(unreachable);
  if (answer.status !== 200) throw new Error(`${file} was refused: ${refusalOf(service, answer)}`);
  const applied = Applied.parse(answer.body);
  console.log(options.json ? JSON.stringify(applied) : textOf(applied, dryRun));
}

/** The body of a setup, or of an export, which has it under `pricingModel`. */
async function readStructure(file: string): Promise<unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Error(`There is no file ${file}.`);
    throw new Error(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  const exported = z.object({ pricingModel: z.record(z.string(), z.unknown()) }).safeParse(parsed);
  return exported.success ? exported.data.pricingModel : parsed;
}

function textOf({ pricingModel, isNew, changes }: Applied, dryRun: boolean): string {
  const { id, name, livemode } = pricingModel;
  const model = `${name}${dryRun && isNew ? '' : ` (${id})`} in ${livemode ? 'live' : 'test'} mode`;
  if (changes.length === 0) return `${model}: nothing to change.`;
  const count = `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
  return [
    ...changes.map(lineOf),
    `${model}: ${isNew ? 'new, ' : ''}${count}${dryRun ? '. Dry run: nothing was stored.' : ' applied.'}`,
  ].join('\n');
}

const signs = { create: '+', update: '~', remove: '-' } as const;
const names = {
  pricingModel: 'pricing model',
  feature: 'feature',
  product: 'product',
  price: 'price of product',
  usageMeter: 'usage meter',
  usagePrice: 'usage price',
  resource: 'resource',
  creditPool: 'credit pool',
} as const;

/** `~ price of product team: unitPrice 2900 -> 3900` */
function lineOf({ operation, record, slug, usageMeterSlug, fields, subscriptions }: PricingChange): string {
  const title = [names[record], slug, usageMeterSlug === null ? null : `of ${usageMeterSlug}`];
  const holders =
    subscriptions === 0 ? '' : ` (of ${subscriptions} ${subscriptions === 1 ? 'subscription' : 'subscriptions'})`;
  const subject = `${signs[operation]} ${title.filter((word) => word !== null).join(' ')}${holders}`;
  if (operation === 'remove') return subject;
  const shown = fields.filter(({ name }) => name !== 'slug').map((field) => fieldOf(operation, field));
  return shown.length === 0 ? subject : `${subject}: ${shown.join(', ')}`;
}

function fieldOf(operation: PricingChange['operation'], { name, before, after }: PricingChange['fields'][number]) {
  return operation === 'create'
    ? `${name} ${JSON.stringify(after)}`
    : `${name} ${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
}
