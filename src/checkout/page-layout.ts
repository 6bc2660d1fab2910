import { fontFiles } from '../documents/document-page.ts';
import type { PageDocument, Refusal } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { type Branding, contrastWithWhite } from '../organizations/branding.ts';
import { type Wording, wordingOf } from '../wording/wording.ts';
import { buyerText } from './buyer-text.ts';
import type { PageLook } from './checkout-view.ts';

/** A part of the address of a typeface. Browsers keep the file, so it changes with it. */
export const fontVersion = '5.3.0';
export const fontPath = '/checkout-assets/fonts';

const fontFaces = ([400, 600] as const)
  .map(
    (weight) =>
      `@font-face { font-family: Inter; font-weight: ${weight}; font-display: swap; src: url(${fontPath}/${fontVersion}/${fontFiles[weight]}) format('woff2'); }`,
  )
  .join('\n');

/** The style of every page: readable at 360 pixels and at 400 % zoom, with two columns from 720 pixels on. */
const pageStyle = `${fontFaces}
:root { color-scheme: light dark; --ink: #101828; --soft: #475467; --line: #e4e7ec; --edge: #7d899b; --tint: #f7f8fa; --paper: #fff;
  --good: #067647; --bad: #b42318; --note: #b54708; --wallet: #000; --on-wallet: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f2f4f7; --soft: #a4aebc; --line: #2b333e; --edge: #77839a; --tint: #0e1217; --paper: #171d25;
    --good: #4ade9b; --bad: #ff9a91; --note: #f5b84a; --wallet: #fff; --on-wallet: #000; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 400 15px/1.55 Inter, system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Hiragino Sans', 'Noto Sans CJK JP', sans-serif;
  font-variant-numeric: tabular-nums; color: var(--ink); background: var(--tint); overflow-wrap: anywhere; -webkit-text-size-adjust: 100%; }
.split { display: grid; grid-template-columns: minmax(0, 1fr); }
.side, .pay { padding: 1.5rem 1rem 2rem; }
.pay { background: var(--paper); border-top: 1px solid var(--line); }
.inner { max-width: 27rem; margin: 0 auto; }
@media (min-width: 45rem) {
  .split { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); min-height: 100vh; }
  .side, .pay { padding: 3rem clamp(1.25rem, 4vw, 4.5rem); }
  .pay { border-top: 0; border-inline-start: 1px solid var(--line); }
  .side > .inner { margin-inline: auto 0; position: sticky; top: 3rem; }
  .pay > .inner { margin-inline: 0 auto; }
}
.page { max-width: 34rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
.page.wide { max-width: 68rem; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1.25rem; }
@media (min-width: 56rem) { .columns { grid-template-columns: minmax(0, 1.6fr) minmax(0, 1fr); align-items: start; } .page { padding-top: 2.5rem; } }
.brand { display: flex; flex-wrap: wrap; align-items: center; gap: .625rem 1rem; font-weight: 600; margin-bottom: 1.75rem; min-height: 2rem; }
.brand img { max-height: 2.25rem; max-width: 11rem; display: block; }
.brand img.icon { width: 2rem; height: 2rem; border-radius: .375rem; }
.brand .test, .brand .tools { margin-inline-start: auto; }
.brand .test + .tools { margin-inline-start: 0; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; font-weight: 400; font-size: .875rem; }
h1 { font-size: 1.5rem; font-weight: 600; line-height: 1.25; letter-spacing: -.018em; margin: 0 0 1rem; text-wrap: balance; }
.side h1 { font-size: 1.0625rem; letter-spacing: -.005em; color: var(--soft); margin: 0 0 .25rem; }
h2 { font-size: 1.0625rem; font-weight: 600; letter-spacing: -.01em; margin: 0 0 .5rem; }
h2.apart { margin-top: 1.75rem; }
h3 { font-size: .875rem; font-weight: 600; margin: 1.25rem 0 .25rem; }
p { margin: .25rem 0; }
a { color: var(--action); text-underline-offset: .15em; }
.terms { font-size: 1.75rem; font-weight: 600; line-height: 1.2; letter-spacing: -.022em; margin: 0 0 .75rem; text-wrap: balance; }
.terms.long { font-size: 1.0625rem; letter-spacing: -.005em; line-height: 1.45; }
.page .columns .terms:not(.long), .plans .terms:not(.long) { font-size: 1.375rem; margin: .25rem 0 .375rem; }
.plans .terms.long { font-size: .9375rem; margin: 0; }
.mark { display: block; width: 3rem; height: 3rem; margin-bottom: .75rem; fill: none; stroke: var(--soft); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.mark.good { stroke: var(--good); }
.mark.bad { stroke: var(--bad); }
.page section, .panel { background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; margin: 0 0 1.25rem; }
.page section section { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: 1rem 0 0; margin: 1rem 0 0; }
.page > p, .page p + form, .side section + p { margin-top: 1rem; }
.pay section + section, .pay form + section { margin-top: 1.75rem; }
fieldset { border: 0; margin: 0 0 1.5rem; padding: 0; min-width: 0; }
legend { font-size: 1.0625rem; font-weight: 600; letter-spacing: -.01em; padding: 0; margin-bottom: .25rem; }
dl { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .5rem 1rem; margin: 1rem 0 0; }
dt, dd { margin: 0; }
dd { text-align: end; white-space: nowrap; }
.sum { font-weight: 600; border-top: 1px solid var(--line); padding-top: .625rem; margin-top: .125rem; }
dl .sum + dd.sum { margin-inline-start: -1rem; }
.fold, .fold-label { display: none; }
@media (max-width: 44.99rem) {
  .side .fold { display: block; }
  .side .fold-label { display: block; width: fit-content; color: var(--action); padding: .375rem 0; margin: 0; cursor: pointer; }
  .fold-label::before { content: '▸'; display: inline-block; width: 1.1em; }
  .fold:checked + .fold-label::before { content: '▾'; }
  .fold:focus-visible + .fold-label { outline: 3px solid var(--action); outline-offset: 2px; }
  .side .fold:not(:checked) ~ .foldable, .side .fold:not(:checked) ~ dl > .line { display: none; }
}
.soft { color: var(--soft); font-size: .875rem; }
.pay .soft, dl + .soft { margin-top: 1rem; }
.plain-list, .included { list-style: none; margin: .25rem 0 .5rem; padding: 0; }
.included li { position: relative; padding-inline-start: 1.5rem; margin: .25rem 0; }
.included li::before { content: ''; position: absolute; inset-inline-start: .35rem; top: .3em; width: .3em; height: .65em; border: solid var(--good); border-width: 0 2px 2px 0; transform: rotate(42deg); }
.field { margin: .875rem 0 0; }
fieldset > .field:first-child, legend.unseen + details { margin-top: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 0 .75rem; align-items: end; }
.with-button { display: flex; align-items: end; gap: .5rem; }
.with-button .field { flex: 1; }
label { display: block; font-weight: 600; font-size: .875rem; margin-bottom: .25rem; }
.optional, .hint { font-weight: 400; color: var(--soft); font-size: .8125rem; margin: 0 0 .25rem; }
input, select, textarea { display: block; width: 100%; font: inherit; font-size: 1rem; color: inherit; background: var(--paper); padding: .55rem .75rem;
  border: 1px solid var(--edge); border-radius: .5rem; min-height: 2.75rem; }
.choice { display: flex; align-items: center; gap: .75rem; font-weight: 400; font-size: .9375rem; padding: .625rem .875rem; min-height: 3rem;
  border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0 0; cursor: pointer; background: var(--paper); }
.choice:has(:checked) { border-color: var(--action); box-shadow: inset 0 0 0 1px var(--action); }
.choice input { width: 1.125rem; height: 1.125rem; min-height: 0; flex: none; margin: 0; accent-color: var(--action); }
.wallets { display: grid; grid-template-columns: 1fr 1fr; gap: .625rem; margin-bottom: .375rem; }
.wallet { background: var(--wallet); border-color: var(--wallet); color: var(--on-wallet); min-height: 3rem; }
.wallet span { display: inline-flex; align-items: center; gap: .375rem; font-size: 1.0625rem; }
.sign { width: 2.125rem; height: 1.375rem; flex: none; vertical-align: middle; }
.signs { float: inline-end; display: inline-flex; gap: .25rem; }
legend:has(.signs) { width: 100%; }
.or { display: flex; align-items: center; gap: .75rem; color: var(--soft); font-size: .8125rem; margin: 1rem 0; }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); }
.choice + .of-card, .choice + .of-debit { margin: .75rem 0 1rem; }
form:has(input[name=methodKind][value=card]:not(:checked)) .of-card, form:has(input[name=methodKind][value=card]:checked) .of-debit { display: none; }
.other-card { margin-top: 1.25rem; }
form:has(.choice input[name=paymentMethodId]:checked:not([value=new])) .other-card { display: none; }
details { margin: .875rem 0; }
summary { cursor: pointer; font-weight: 600; font-size: .875rem; color: var(--action); padding: .25rem 0; width: fit-content; }
[aria-invalid=true] { border: 2px solid var(--bad); }
.error { color: var(--bad); font-weight: 600; font-size: .875rem; }
:focus-visible { outline: 3px solid var(--action); outline-offset: 2px; }
button, .button { display: inline-block; font: inherit; font-weight: 600; min-height: 2.75rem; padding: .55rem 1.125rem; cursor: pointer;
  border: 1px solid var(--action); border-radius: .5rem; background: var(--action); color: var(--on-action); text-decoration: none; text-align: center; }
button:hover, .button:hover { filter: brightness(1.12); }
button:disabled { opacity: .6; cursor: default; }
button.plain, .button.plain { background: var(--paper); border-color: var(--line); color: var(--ink); }
button.plain:hover, .button.plain:hover { border-color: var(--edge); filter: none; }
button.danger { background: var(--bad); border-color: var(--bad); color: var(--paper); }
button.small, .button.small { min-height: 2.25rem; padding: .3rem .75rem; font-size: .875rem; }
.unseen { position: absolute; width: 1px; height: 1px; min-height: 0; padding: 0; border: 0; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.wide-button { width: 100%; }
.pay .wide-button:not(.plain) { min-height: 3rem; font-size: 1.0625rem; }
.notice { border: 1px solid var(--line); border-inline-start: 4px solid var(--action); border-radius: .5rem; background: var(--paper); padding: .75rem 1rem; margin: 0 0 1.25rem; }
.notice.bad { border-inline-start-color: var(--bad); }
.notice.owed { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: center; justify-content: space-between; border-inline-start-color: var(--bad); }
.notice.owed strong { font-size: 1.0625rem; }
.notice ul { margin: .25rem 0 0; padding-inline-start: 1.25rem; }
.test { font-size: .75rem; font-weight: 600; color: var(--note); border: 1px solid; border-radius: 1rem; padding: .1rem .6rem; margin: 0; }
.actions { display: flex; flex-wrap: wrap; gap: .625rem; margin-top: 1.25rem; align-items: center; }
.rows { list-style: none; margin: 0; padding: 0; }
.rows > li { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .375rem 1rem; padding: .75rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { border-top: 0; padding-top: .25rem; }
.rows > li:last-child { padding-bottom: .25rem; }
.rows > li > :first-child { flex: 1 1 10rem; }
.bill > li { flex-wrap: nowrap; align-items: flex-start; }
.bill > li > :first-child { min-width: 0; }
.bill .soft { margin: 0; }
.bill > li > :last-child { white-space: nowrap; }
.tag { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .625rem; font-size: .75rem; line-height: 1.35rem; font-weight: 600; color: var(--soft); white-space: nowrap; vertical-align: .1em; }
.tag.good { color: var(--good); }
.tag.bad { color: var(--bad); }
.bar { display: block; width: 100%; height: .5rem; border-radius: .25rem; margin: .375rem 0 .75rem; }
.chart { display: flex; gap: 1px; height: 7rem; list-style: none; margin: 0; padding: 0; border-block: 1px solid var(--line); }
.chart li { flex: 1; min-width: 0; }
.chart svg { display: block; width: 80%; height: 100%; margin: 0 auto; }
.chart li:not(:hover, :focus-visible) > span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.chart li > span { position: absolute; top: 0; inset-inline-start: 0; font-size: .75rem; font-weight: 600; background: var(--paper); }
.chart li:is(:hover, :focus-visible) { background: var(--tint); }
.plot { position: relative; padding-top: 1.25rem; margin-top: .5rem; }
.headed { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; align-items: center; }
.headed .switch { margin: 0; }
.headed .switch a { padding: .15rem .625rem; font-size: .8125rem; }
.plot > span { position: absolute; top: 0; inset-inline-end: 0; font-size: .75rem; }
.axis { display: flex; justify-content: space-between; font-size: .75rem; margin-top: .25rem; }
.graph + .graph { border-top: 1px solid var(--line); margin-top: 1rem; padding-top: .25rem; }
.graph details { margin: .5rem 0 0; }
.bar rect, .chart rect { fill: var(--action); }
.bar rect:first-child, .chart .none rect { fill: var(--line); }
.bar .faint { opacity: .35; }
.bar.full rect:last-child { fill: var(--bad); }
.bar + .soft { margin-top: -.375rem; }
.meter { display: flex; justify-content: space-between; gap: 1rem; margin-top: .75rem; }
.meter > :last-child { text-align: end; }
.limit + .limit { border-top: 1px solid var(--line); margin-top: 1rem; padding-top: .25rem; }
.limit .actions { margin-top: .625rem; }
.switch { display: inline-flex; border: 1px solid var(--line); border-radius: .625rem; padding: .2rem; gap: .2rem; margin-bottom: 1rem; background: var(--tint); flex-wrap: wrap; }
.switch a { padding: .35rem 1rem; border-radius: .45rem; text-decoration: none; color: var(--soft); font-weight: 600; font-size: .875rem; }
.switch a[aria-current] { background: var(--paper); color: var(--ink); box-shadow: 0 0 0 1px var(--line); }
.invoices > li > a { font-size: .875rem; }
.invoices .paper { white-space: nowrap; }
@media (min-width: 40rem) {
  .invoices > li { display: grid; grid-template-columns: minmax(8.5rem, 1fr) minmax(0, 1.2fr) auto auto; }
  .invoices .sum-paid { min-width: 6rem; text-align: end; }
  .invoices form { grid-column: 1 / -1; }
}
.plans { list-style: none; margin: .75rem 0 1.25rem; padding: 0; display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
.plans > li { border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; display: flex; flex-direction: column; gap: .25rem; background: var(--paper); }
.plans > li.own { border-color: var(--action); box-shadow: inset 0 0 0 1px var(--action); }
.plans .included { margin-top: 0; }
.plans > li > .soft { margin: .25rem 0; }
.plans form, .plans .own-tag { margin-top: auto; padding-top: .75rem; }
.plans button { width: 100%; }
footer { color: var(--soft); font-size: .75rem; margin-top: 2rem; white-space: pre-line; }
`;

const plainColor = '#1f2937';
const leastContrast = 5;
// The relative luminance of the darkest paper on which the colour stands as text.
const darkPaper = 0.0115;

// A grey is one whose channels are about equal. A button in a lighter grey would look switched off.
const greySpread = 32;
const lightInk = '#f2f4f7';

/** The colour for a dark page: mixed with white until text in it can be read there. A dark grey becomes the colour of text. */
export function lightened(color: string): string {
  const channels = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  const isGrey = Math.max(...channels) - Math.min(...channels) <= greySpread;
  for (let share = 0; share < 1; share += 0.05) {
    if (isGrey && share > 0) return lightInk;
    const mixed = channels.map((channel) => Math.round(channel + (255 - channel) * share));
    const text = `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
    if (1.05 / contrastWithWhite(text) / (darkPaper + 0.05) >= leastContrast) return text;
  }
  return '#ffffff';
}

/** The colours of a seller. Its colour is dark enough for white text, so a dark page takes a lighter one. */
function themeOf({ primaryColor }: Pick<Branding, 'primaryColor'>): string {
  const color = primaryColor ?? plainColor;
  return `:root { --action: ${color}; --on-action: #fff; }
@media (prefers-color-scheme: dark) { :root { --action: ${lightened(color)}; --on-action: #0b1018; } }
`;
}

interface Layout {
  readonly look: PageLook;
  /** The purpose of the page: its heading and, with the seller, its title. */
  readonly heading: string;
  readonly content: Html;
  /** The order beside the content; absent: there is one column. */
  readonly side?: Html | null;
  /** The ways out of the page, beside the seller's name. */
  readonly tools?: Html | null;
  /** Whether the only column is a wide one. */
  readonly isWide?: boolean;
  /** Whether the input has errors: the title begins with that, because it is announced first. */
  readonly isWrong?: boolean;
  readonly more?: Pick<PageDocument, 'scripts' | 'sources' | 'goOnTo'>;
}

/** Wraps content in the page layout. */
export function layout(parts: Layout): PageDocument {
  const { look, heading, content, side = null, tools = null, isWide = false, isWrong = false, more = {} } = parts;
  const { seller, branding, wording } = look;
  const title = `${heading} - ${seller}`;
  const footer = branding.legalFooter !== null && html`<footer><bdi>${branding.legalFooter}</bdi></footer>`;
  const head = html`${brandHtml(look, tools)}\n`;
  const body =
    side === null
      ? html`<main class="page${isWide && ' wide'}">
${head}<h1><bdi>${heading}</bdi></h1>
${content}
${footer}
</main>
`
      : html`<main class="split">
<div class="side"><div class="inner">
${head}<h1><bdi>${heading}</bdi></h1>
${side}
</div></div>
<div class="pay"><div class="inner">
${content}
${footer}
</div></div>
</main>
`;
  const images = [more.sources?.['img-src'], 'data:'].filter(Boolean).join(' ');
  return {
    ...more,
    language: wording.language,
    title: isWrong ? `${wording.words.common.error}${wording.words.common.colon}${title}` : title,
    style: themeOf(branding) + pageStyle,
    icon: branding.icon,
    sources: { ...more.sources, 'img-src': images, 'font-src': "'self'" },
    body,
  };
}

function brandHtml({ seller, branding: { logo, icon }, livemode, wording }: PageLook, tools: Html | null): Html {
  const sign =
    logo === null
      ? html`${icon !== null && html`<img class="icon" src="${icon}" alt="">`}<bdi>${seller}</bdi>`
      : html`<img src="${logo}" alt="${seller}">`;
  return html`<div class="brand">${sign}${!livemode && html`<p class="test">${wording.words.common.testMode}</p>`}${tools}</div>`;
}

const noBranding = { logo: null, icon: null, primaryColor: null, legalFooter: null };

/** The page for a refusal or an error. */
export function showRefusal({ status, problem, requestId, language }: Refusal): PageDocument {
  const wording = wordingOf(language);
  const { somethingWrong, notShown, ourError, request } = wording.words.common;
  const heading = status >= 500 ? somethingWrong : notShown;
  return {
    language,
    title: heading,
    style: themeOf(noBranding) + pageStyle,
    sources: { 'font-src': "'self'" },
    body: html`<main class="page">
<h1>${heading}</h1>
<p class="notice bad">${problem === null ? ourError : buyerText(problem, wording)}</p>
<p class="soft">${wording.say(request, { id: requestId })}</p>
</main>
`,
  };
}

/** The page after a visit has ended. It knows its language alone. */
export function plainPage(wording: Wording, heading: string, text: string): PageDocument {
  const look = { seller: wording.words.portal.billing, branding: noBranding, livemode: true, wording };
  return layout({ look, heading, content: html`<section><p>${text}</p></section>` });
}
