/** A piece of HTML in which all text has been escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template: text is escaped, `Html` is inserted as it is, and null and false render nothing. */
type HtmlValue = string | number | bigint | Html | readonly HtmlValue[] | null | undefined | false;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(render).join('');
  return escapeHtml(String(value));
}

/** Escapes text for HTML, so that a customer's name never becomes markup. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Builds HTML from a template: html`<p>${name}</p>`. Attribute values must be in quotation marks. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, index) => (index === 0 ? text : render(values[index - 1]) + text)).join(''));
}

/** The policy of a page of a document. Its styles, typefaces and image are in it. It runs no script and loads nothing. */
export const documentPolicy =
  "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'";
