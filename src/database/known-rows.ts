import type pg from 'pg';

/** What pg makes of the database's description of the rows of a result. Its types do not name it. */
export interface KnownRows {
  readonly fields: unknown;
  readonly _parsers: unknown;
  readonly _prebuiltEmptyResultObject: unknown;
}

/** How the rows of a prepared statement look: as long as its connection lives they look the same. */
export function knownRows(result: pg.QueryResult): KnownRows {
  const { fields, _parsers, _prebuiltEmptyResultObject } = result as unknown as KnownRows;
  return { fields, _parsers, _prebuiltEmptyResultObject };
}

/**
 * Has a query that its connection has prepared not ask how its rows look, as it is known: to describe them takes the
 * database and this process longer than a few rows do.
 */
export function expectRows(query: pg.Query, rows: KnownRows): void {
  const described = query as unknown as { readonly _result: object; _accumulateRows: boolean };
  Object.assign(described._result, rows);
  described._accumulateRows = true;
  const { submit } = query;
  query.submit = (connection) => {
    const { describe } = connection;
    connection.describe = () => undefined;
    try {
      return submit.call(query, connection);
    } finally {
      connection.describe = describe;
    }
  };
}
