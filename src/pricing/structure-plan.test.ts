import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyInMemory, assertSound, countingIds } from '../../test/support/pricing-contents.ts';
import { offered, type StructureBody, structureBodies } from '../../test/support/pricing-structures.ts';
import { Problem } from '../kernel/problem.ts';
import { SetupInput, type Structure } from './structure.ts';
import { completeStructure, prepareUpdate } from './structure-check.ts';
import { countChanges, describeContents, noContents, type PricingModelContents } from './structure-contents.ts';
import { planStructure } from './structure-plan.ts';

function parse(body: StructureBody): Structure {
  return SetupInput.parse({ name: 'Acme', ...body }).structure;
}

function contextOf(newId: ReturnType<typeof countingIds>) {
  return { pricingModelId: 'model', currency: 'USD', now: 1000, newId } as const;
}

function setUp(body: StructureBody, newId = countingIds()): PricingModelContents {
  const plan = planStructure(noContents, completeStructure(parse(body), []), contextOf(newId));
  return applyInMemory(noContents, plan, 1000);
}

/** The contents after an update with the body; usage meters that it leaves out are put into it, for they must not go. */
function update(contents: PricingModelContents, body: StructureBody, newId: ReturnType<typeof countingIds>) {
  const structure = parse(body);
  const stored = describeContents(contents, 1000).usageMeters.map(({ usageMeter }) => ({ usageMeter, prices: [] }));
  const given = structure.usageMeters;
  const missing = stored.filter((each) => given.every(({ usageMeter }) => usageMeter.slug !== each.usageMeter.slug));
  const wanted = prepareUpdate(contents, { ...structure, usageMeters: [...given, ...missing] }, [], { now: 1000 });
  const plan = planStructure(contents, wanted, contextOf(newId));
  return { wanted, contents: applyInMemory(contents, plan, 1000) };
}

test('what is set up is sound, and is described as what was asked for and what was added', () => {
  fc.assert(
    fc.property(structureBodies, (body) => {
      const contents = setUp(body);
      assertSound(contents);
      const wanted = completeStructure(parse(body), []);
      assert.deepEqual(offered(describeContents(contents, 1000)), offered(wanted));
    }),
    { numRuns: 300 },
  );
});

test('setting up what a description says gives contents of the same description', () => {
  fc.assert(
    fc.property(structureBodies, (body) => {
      const structure = describeContents(setUp(body), 1000);
      const again = planStructure(noContents, completeStructure(structure, []), contextOf(countingIds()));
      assert.deepEqual(describeContents(applyInMemory(noContents, again, 1000), 1000), structure);
    }),
    { numRuns: 300 },
  );
});

test('after any updates the contents are sound and offer what was wanted, and their description changes nothing', () => {
  let updates = 0;
  fc.assert(
    fc.property(structureBodies, fc.array(structureBodies, { minLength: 1, maxLength: 4 }), (first, further) => {
      const newId = countingIds();
      let contents = setUp(first, newId);
      for (const body of further) {
        try {
          const updated = update(contents, body, newId);
          assertSound(updated.contents);
          assert.deepEqual(offered(describeContents(updated.contents, 1000)), offered(updated.wanted));
          contents = updated.contents;
          updates += 1;
        } catch (error) {
          // A feature of another type, or a second default product.
          if (!(error instanceof Problem)) throw error;
        }
        const same = prepareUpdate(contents, describeContents(contents, 1000), [], { now: 1000 });
        assert.equal(countChanges(planStructure(contents, same, contextOf(newId))), 0);
      }
    }),
    { numRuns: 500 },
  );
  assert(updates > 500, `${updates} updates were not refused`);
});
