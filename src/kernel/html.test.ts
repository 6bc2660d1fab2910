import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { html } from './html.ts';

test('text stands as text, pieces stand as they are, and nothing is shown of null and false', () => {
  const name = '<b>"Ada" & \'Co\'</b>';
  assert.equal(
    html`<p title="${name}">${null}${false}${undefined}${0}${1n}</p>`.text,
    ['<p title="&lt;b&gt;&quot;Ada&quot; &amp; &#39;Co&#39;&lt;/b&gt;">01</p>'][0],
  );
  assert.equal(
    html`<ul>${['a', '<'].map((each) => html`<li>${each}</li>`)}</ul>`.text,
    '<ul><li>a</li><li>&lt;</li></ul>',
  );
});

test('no text ends the element or the attribute that it stands in', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'<>&"\'a;#=') }), (text) => {
      const inside = html`${text}`.text;
      assert.doesNotMatch(inside, /[<>"']/);
      assert.doesNotMatch(inside, /&(?!(amp|lt|gt|quot|#39);)/);
    }),
  );
});
