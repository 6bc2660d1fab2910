import type { PageDocument, Refusal } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';

/** The style of every page: one column, large touch targets, readable at 360 pixels and at 400 % zoom. */
const pageStyle = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #4d5866; --line: #d5dbe1; --edge: #6b7684; --page: #f4f6f8; --paper: #fff;
  --action: #1a4fb4; --on-action: #fff; --bad: #a3141e; --note: #b26b00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebef; --soft: #a9b3bf; --line: #38414c; --edge: #8a95a3; --page: #12161b; --paper: #1c2229;
    --action: #8ab4ff; --on-action: #0b1b36; --bad: #ff9a9a; --note: #f5b84a; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); overflow-wrap: anywhere; }
header, main { max-width: 36rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; font-weight: 600; color: var(--soft); }
main { padding-bottom: 3rem; }
h1 { font-size: 1.625rem; line-height: 1.25; margin: .25rem 0 1rem; text-wrap: balance; }
h2 { font-size: 1.125rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .25rem 0; }
a { color: var(--action); }
section, .panel { background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; margin: 1rem 0; }
section > h2:not(:first-child) { margin-top: 1.25rem; }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
* + fieldset { margin-top: 1.5rem; }
legend { font-size: 1.125rem; font-weight: 700; padding: 0; margin-bottom: .5rem; }
dl { display: grid; grid-template-columns: 1fr auto; gap: .5rem 0; margin: .75rem 0 0; }
dt, dd { margin: 0; }
dd { text-align: right; padding-left: 1rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
.sum { font-weight: 700; border-top: 1px solid var(--line); padding-top: .5rem; }
.soft { color: var(--soft); }
* + .soft, form + p { margin-top: 1rem; }
p + .soft { margin-top: .25rem; }
.other-card { margin-top: 1.25rem; }
.field { margin: .75rem 0 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0 1rem; align-items: end; }
label { display: block; font-weight: 600; }
.optional, .hint { font-weight: 400; color: var(--soft); font-size: .875rem; }
input, select { display: block; width: 100%; font: inherit; color: inherit; background: var(--paper); padding: .6rem .7rem;
  border: 1px solid var(--edge); border-radius: .5rem; min-height: 2.75rem; }
.choice { display: flex; align-items: center; gap: .75rem; font-weight: 400; padding: .5rem .75rem; min-height: 3rem;
  border: 1px solid var(--line); border-radius: .5rem; margin-top: .5rem; cursor: pointer; }
.choice:has(:checked) { border-color: var(--action); box-shadow: inset 0 0 0 1px var(--action); }
.choice input { width: 1.25rem; height: 1.25rem; min-height: 0; flex: none; margin: 0; accent-color: var(--action); }
form:has(.choice input:checked:not([value=new])) .other-card { display: none; }
[aria-invalid=true] { border: 2px solid var(--bad); }
.error { color: var(--bad); font-weight: 600; }
:focus-visible { outline: 3px solid #f5a800; outline-offset: 2px; }
button, .button { display: inline-block; font: inherit; font-weight: 600; min-height: 2.75rem; padding: .6rem 1rem; cursor: pointer;
  border: 1px solid var(--action); border-radius: .5rem; background: var(--action); color: var(--on-action); text-decoration: none; text-align: center; }
button:disabled { opacity: .6; cursor: default; }
button.plain, .button.plain { background: var(--paper); color: var(--action); }
.wide { width: 100%; }
.notice { border: 1px solid var(--line); border-left: .375rem solid var(--action); border-radius: .5rem; background: var(--paper); padding: .75rem 1rem; margin: 1rem 0; }
.notice.bad { border-left-color: var(--bad); }
.notice.test { border-left-color: var(--note); }
.notice ul { margin: .25rem 0 0; padding-left: 1.25rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1rem; align-items: center; }
.rows { list-style: none; margin: 0; padding: 0; }
.rows > li { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .25rem 1rem; padding: .75rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { border-top: 0; }
.tag { border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; font-size: .875rem; font-weight: 400; white-space: nowrap; }
`;

interface Layout {
  /** The purpose of the page: its heading and, with the seller, its title. */
  readonly heading: string;
  readonly seller: string;
  readonly livemode: boolean;
  readonly content: Html;
  /** Whether the input has errors: the title begins with that, because it is announced first. */
  readonly isWrong?: boolean;
  readonly more?: Pick<PageDocument, 'scripts' | 'sources' | 'goOnTo'>;
}

/** Wraps content in the page layout. */
export function layout({ heading, seller, livemode, content, isWrong = false, more = {} }: Layout): PageDocument {
  return {
    ...more,
    title: `${isWrong ? 'Error: ' : ''}${heading} - ${seller}`,
    style: pageStyle,
    body: html`<header>${seller}</header>
<main>
<h1>${heading}</h1>
${!livemode && html`<p class="notice test">Test mode: no real money is charged.</p>`}
${content}
</main>
`,
  };
}

/** The page for a refusal or an error. */
export function showRefusal({ status, problem, requestId }: Refusal): PageDocument {
  const heading = status >= 500 ? 'Something went wrong' : 'This page cannot be shown';
  const message = problem === null ? 'This is an error on our side. Please try again shortly.' : problem.message;
  return {
    title: heading,
    style: pageStyle,
    body: html`<main>
<h1>${heading}</h1>
<p class="notice bad">${message}</p>
<p class="soft">Request ${requestId}</p>
</main>
`,
  };
}
