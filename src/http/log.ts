import process from 'node:process';
import { type Logger, pino } from 'pino';

/** The log of a process: one line for each message, with details. */
export interface Log extends Logger<never> {}

/** A log, and the lines that are written at any level: the start, and the keys of the first one. */
export interface ServiceLog {
  readonly log: Log;
  /** Writes a line whatever the level is. */
  readonly notice: (message: string, details?: object) => void;
}

/** The target of log lines. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A log in JSON, one object a line; in readable text where the output is a terminal. */
export function createLog(level: string, output: Output = process.stdout): ServiceLog {
  const write = (line: string) => void output.write(output.isTTY === true ? readableLine(line) : line);
  const at = (wanted: string) =>
    pino(
      {
        level: wanted,
        base: { pid: process.pid },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        serializers: { err: pino.stdSerializers.err },
      },
      { write },
    );
  const notices = at('info');
  return { log: at(level), notice: (message, details = {}) => notices.info(details, message) };
}

/**
 * A line of JSON as text for a terminal: time, level, message and details. The stack of an error and details of several
 * lines follow.
 */
function readableLine(line: string): string {
  const { level, time, pid: _pid, msg = '', err, ...details } = JSON.parse(line);
  const entries = Object.entries(details).map(([key, value]) => [key, textOf(value)] as const);
  const short = entries.filter(([, text]) => !text.includes('\n')).map(([key, text]) => ` ${key}=${text}`);
  const long = entries.filter(([, text]) => text.includes('\n')).map(([, text]) => `\n${text}`);
  const stack = err === undefined ? '' : `\n${err.stack ?? err.message}`;
  return `${String(time).slice(11, 19)} ${String(level).toUpperCase().padEnd(5)} ${msg}${short.join('')}${long.join('')}${stack}\n`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
