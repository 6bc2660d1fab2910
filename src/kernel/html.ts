/** A piece of HTML in which everything that was text has been escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text is escaped, pieces stand as they are, and nothing is shown of null and false. */
export type HtmlValue = string | number | bigint | Html | readonly HtmlValue[] | null | undefined | false;

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

/** Text as HTML shows it: nothing that a customer is called becomes markup. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** HTML with values in it: html`<p>${name}</p>`. The value of an attribute stands in quotation marks. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, index) => (index === 0 ? text : render(values[index - 1]) + text)).join(''));
}
