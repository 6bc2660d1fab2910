// The coordinator of Citus takes the statements of a migration one by one, and a few forms not at all.

// Quoted text and names, comments, and bodies of functions: a semicolon in them ends no statement.
const opaque = String.raw`--[^\n]*|/\*[\s\S]*?\*/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|\bbegin atomic\b[\s\S]*?\n\s*end(?=;)`;
const opaqueOrEnd = new RegExp(`${opaque}|;`, 'gi');

function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let begin = 0;
  for (const { 0: found, index } of `${text};`.matchAll(opaqueOrEnd)) {
    if (found !== ';') continue;
    statements.push(text.slice(begin, index).trim());
    begin = index + 1;
  }
  return statements.filter((statement) => statement.replaceAll(/--[^\n]*/g, '').trim() !== '');
}

// A new policy may compare a function with null only so.
const isUnset = /\(select ([a-z_]+\(\))\) is null/g;
const askedOnce = /\(select ([a-z_]+\(\))\)/g;
const newTable = /\bcreate table (?:if not exists )?([a-z_0-9]+)/;
const identity = /\b([a-z_]+) (bigint|integer)(?: not null)? generated (?:always|by default) as identity\b/g;

/** The statements of a migration as a distributed schema takes them. `takeAwayWhatCitusRefuses` does the rest afterwards. */
export function statementsOfPlaced(text: string): string[] {
  return splitStatements(text).flatMap((statement) => {
    const plain = statement.replaceAll(isUnset, '$1 is not distinct from null').replaceAll(askedOnce, '$1');
    const table = newTable.exec(plain)?.[1];
    if (table === undefined) return [plain];
    const numbered = Array.from(
      plain.matchAll(identity),
      ([, column]) => `select draw_numbers('${table}', '${column}')`,
    );
    return [plain.replaceAll(identity, '$1 $2 not null'), ...numbered];
  });
}
