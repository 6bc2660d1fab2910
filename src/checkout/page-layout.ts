import type { PageDocument, Refusal } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { pageStyle } from './page-style.ts';

export interface Layout {
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
