/** Generates TypeScript from JSON Schema, as far as openapi.json uses it. */
import type { Schema } from './client-names.ts';

/** The type name of a schema. `Error` would shadow the built-in one. */
export function typeName(name: string): string {
  return name === 'Error' ? 'ErrorBody' : name;
}

/** A declaration with its comment above it. */
export function documented(description: string | undefined, indent: string, declared: string): string {
  if (description === undefined || description === '') return declared;
  return `${indent}/** ${description.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n${declared}`;
}

/** The type of a schema's values. Refuses unsupported schemas. */
export function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return typeName(schema.$ref.slice('#/components/schemas/'.length));
  if ('const' in schema) return literal(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map(literal));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return union(choices.map((each) => typeOf(each, indent)));
  const { type } = schema;
  if (typeof type === 'object') return union(type.map((each) => typeOf({ ...schema, type: each }, indent)));
  switch (type) {
    case undefined:
      return 'unknown';
    case 'null':
    case 'boolean':
    case 'string':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return arrayOf(schema, indent);
    case 'object':
      return objectOf(schema, indent);
    default:
      throw new Error(`no type for ${JSON.stringify(schema)}`);
  }
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ');
}

function arrayOf({ items }: Schema, indent: string): string {
  return `Array<${items === undefined ? 'unknown' : typeOf(items, indent)}>`;
}

function objectOf({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`;
    return documented(
      schema.description,
      inner,
      `${inner}${key}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};\n`,
    );
  });
  return members.length === 0 ? 'Record<string, never>' : `{\n${members.join('')}${indent}}`;
}

/** The schema of a query parameter in the client: text on the wire that represents other types too. */
export function parameterSchema(schema: Schema): Schema {
  const { description } = schema;
  const words = description === undefined ? {} : { description };
  // Instants are the texts of at most 64 characters: ISO 8601, or epoch milliseconds.
  return schema.maxLength === 64 ? { type: ['string', 'number'], ...words } : schema;
}
