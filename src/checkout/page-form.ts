import { type Html, html } from '../kernel/html.ts';
import type { Wording } from '../wording/wording.ts';

/** Input errors by field name. */
export type FieldErrors = Readonly<Record<string, string>>;

/** The state of a form: its errors, and the words of its page. */
export interface FormState {
  readonly errors: FieldErrors;
  readonly wording: Wording;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly type?: 'text' | 'email';
  readonly autocomplete?: string;
  readonly inputMode?: 'text' | 'numeric' | 'decimal';
  /** The text of the empty choice of a list; absent: it asks to choose. */
  readonly empty?: string;
  readonly maxLength?: number;
}

/** A field of several lines. */
export function textAreaHtml(field: Field, state: FormState): Html {
  const { name, value = '', maxLength = 500 } = field;
  // A browser drops the first line break.
  return framed(
    field,
    state,
    html`<textarea id="${name}" name="${name}" dir="auto" rows="3" maxlength="${maxLength}"${stateOf(field, state)}>\n${value}</textarea>`,
  );
}

/** A field with its label; its error is shown beside it and announced with it. */
export function fieldHtml(field: Field, state: FormState): Html {
  const { name, type = 'text', value = '', autocomplete = 'off', inputMode = 'text', maxLength = 500 } = field;
  return framed(
    field,
    state,
    html`<input id="${name}" name="${name}" type="${type}" dir="auto" value="${value}" autocomplete="${autocomplete}" inputmode="${inputMode}" maxlength="${maxLength}"${stateOf(field, state)}>`,
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  /** A picture before the label, which says the same. */
  readonly sign?: Html;
}

/** A selection from a list, initially empty. */
export function selectHtml(field: Field, choices: readonly Choice[], state: FormState): Html {
  const { name, value = '', autocomplete = 'off' } = field;
  return framed(
    field,
    state,
    html`<select id="${name}" name="${name}" autocomplete="${autocomplete}"${stateOf(field, state)}>
<option value="">${field.empty ?? state.wording.words.common.choose}
${choices.map((each) => html`<option value="${each.value}"${each.value === value && html` selected`}>${each.label}\n`)}</select>`,
  );
}

/** A choice of one among a few, all shown. */
export function choiceHtml({ name, label, value }: Field, choices: readonly Choice[], { errors }: FormState): Html {
  const error = errors[name];
  return html`<fieldset id="${name}">
<legend>${label}</legend>
${choices.map((each) => html`<label class="choice"><input type="radio" name="${name}" value="${each.value}"${each.value === value && html` checked`}>${each.sign} <span>${each.label}</span></label>\n`)}
${error !== undefined && html`<p class="error">${error}</p>`}
</fieldset>
`;
}

/** A box to check. Unchecked, its field is not sent. */
export function checkHtml({ name, label, value, hint }: Field, isChecked: boolean, state: FormState): Html {
  const error = state.errors[name];
  return html`<label class="choice"><input type="checkbox" id="${name}" name="${name}" value="${value ?? ''}"${isChecked && html` checked`}${stateOf({ name, label, optional: true }, state)}> <span><bdi>${label}</bdi>${hint !== undefined && html`<br><span class="hint">${hint}</span>`}</span></label>
${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
`;
}

function framed({ name, label, hint, optional, empty }: Field, { errors, wording }: FormState, input: Html): Html {
  const error = errors[name];
  return html`<div class="field">
<label for="${name}"><bdi>${label}</bdi>${optional && empty === undefined && html` <span class="optional">${wording.words.common.optional}</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${input}
${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
</div>
`;
}

function stateOf({ name, hint, optional }: Field, { errors }: FormState): Html {
  const isWrong = errors[name] !== undefined;
  const described = [...(hint === undefined ? [] : [`${name}-hint`]), ...(isWrong ? [`${name}-error`] : [])];
  return html`${!optional && html` required`}${isWrong && html` aria-invalid="true"`}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}`;
}

export function hiddenHtml(values: Readonly<Record<string, string>>): Html {
  return html`${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}`;
}

/** A part of a form that is folded away, unless it has a value or an error. */
export function foldedHtml(summary: string, content: Html, isOpen: boolean): Html {
  return html`<details${isOpen && html` open`}>
<summary>${summary}</summary>
${content}
</details>
`;
}

/** The errors above the form, with links to the fields. Announced when the page opens. */
export function summaryHtml({ errors, wording }: FormState, message: string | null): Html | null {
  const entries = Object.entries(errors);
  if (entries.length === 0 && message === null) return null;
  return html`<div class="notice bad" role="alert">
${message !== null && html`<p>${message}</p>`}
${entries.length > 0 && html`<p>${wording.words.common.correct}</p><ul>${entries.map(([name, error]) => html`<li><a href="#${name}">${error}</a></li>`)}</ul>`}
</div>
`;
}
