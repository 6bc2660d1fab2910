import { type Html, html } from '../kernel/html.ts';

/** Input errors by field name. */
export type FieldErrors = Readonly<Record<string, string>>;

interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly type?: 'text' | 'email';
  readonly autocomplete?: string;
  readonly inputMode?: 'text' | 'numeric';
  readonly maxLength?: number;
}

/** A field with its label; its error is shown beside it and announced with it. */
export function fieldHtml(field: Field, errors: FieldErrors): Html {
  const { name, type = 'text', value = '', autocomplete = 'off', inputMode = 'text', maxLength = 500 } = field;
  return framed(
    field,
    errors,
    html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" inputmode="${inputMode}" maxlength="${maxLength}"${stateOf(field, errors)}>`,
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** A selection from a list, initially empty. */
export function selectHtml(field: Field, choices: readonly Choice[], errors: FieldErrors): Html {
  const { name, value = '', autocomplete = 'off' } = field;
  return framed(
    field,
    errors,
    html`<select id="${name}" name="${name}" autocomplete="${autocomplete}"${stateOf(field, errors)}>
<option value="">Choose</option>
${choices.map((each) => html`<option value="${each.value}"${each.value === value && html` selected`}>${each.label}</option>\n`)}</select>`,
  );
}

/** A choice of one among a few, all shown. */
export function choiceHtml({ name, label, value }: Field, choices: readonly Choice[], errors: FieldErrors): Html {
  const error = errors[name];
  return html`<fieldset id="${name}">
<legend>${label}</legend>
${choices.map((each) => html`<label class="choice"><input type="radio" name="${name}" value="${each.value}"${each.value === value && html` checked`}> ${each.label}</label>\n`)}
${error !== undefined && html`<p class="error">${error}</p>`}
</fieldset>
`;
}

/** A box to check. Unchecked, its field is not sent. */
export function checkHtml({ name, label, value, hint }: Field, isChecked: boolean, errors: FieldErrors): Html {
  const error = errors[name];
  return html`<label class="choice"><input type="checkbox" id="${name}" name="${name}" value="${value ?? ''}"${isChecked && html` checked`}${stateOf({ name, label, optional: true }, errors)}> <span>${label}${hint !== undefined && html`<br><span class="hint">${hint}</span>`}</span></label>
${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
`;
}

function framed({ name, label, hint, optional }: Field, errors: FieldErrors, input: Html): Html {
  const error = errors[name];
  return html`<div class="field">
<label for="${name}">${label}${optional && html` <span class="optional">(optional)</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${input}
${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
</div>
`;
}

function stateOf({ name, hint, optional }: Field, errors: FieldErrors): Html {
  const isWrong = errors[name] !== undefined;
  const described = [...(hint === undefined ? [] : [`${name}-hint`]), ...(isWrong ? [`${name}-error`] : [])];
  return html`${!optional && html` required`}${isWrong && html` aria-invalid="true"`}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}`;
}

export function hiddenHtml(values: Readonly<Record<string, string>>): Html {
  return html`${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}`;
}

/** The errors above the form, with links to the fields. Announced when the page opens. */
export function summaryHtml(errors: FieldErrors, message: string | null): Html | null {
  const entries = Object.entries(errors);
  if (entries.length === 0 && message === null) return null;
  return html`<div class="notice bad" role="alert">
${message !== null && html`<p>${message}</p>`}
${entries.length > 0 && html`<p>Please correct the following:</p><ul>${entries.map(([name, error]) => html`<li><a href="#${name}">${error}</a></li>`)}</ul>`}
</div>
`;
}
