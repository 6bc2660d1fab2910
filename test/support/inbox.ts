import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { atFileEnd } from './process-end.ts';

/** A mail server that keeps what it is sent, and refuses when it is told to. */
export class Inbox {
  readonly received: ParsedMail[] = [];
  /** The answer to the next recipients; null accepts. */
  refusal: { readonly message: string; readonly responseCode: number } | null = null;
  /** The only address that is refused then; null: each one is. */
  refused: string | null = null;
  readonly #server: SMTPServer;

  /** `whenTaken` runs before the sender hears that its email was taken. */
  constructor(whenTaken: (taken: number) => Promise<void> = async () => undefined) {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onRcptTo: ({ address }, _session, answer) => {
        const isRefused = this.refused === null || this.refused === address;
        answer(this.refusal && isRefused ? Object.assign(new Error('refused'), this.refusal) : null);
      },
      onData: (stream, _session, answer) => {
        const take = async () => whenTaken(this.received.push(await simpleParser(stream)));
        take().then(() => answer(), answer);
      },
    });
    // The connection of a sender that is gone.
    this.#server.on('error', () => undefined);
  }

  /** Answers the address as TOLLKEEPER_SMTP_URL wants it. */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    atFileEnd(() => new Promise<void>((resolve) => this.#server.close(resolve)));
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }
}
