import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

interface InboxOptions {
  /** The port to receive on; any free one when absent. */
  readonly port?: string;
  readonly json?: boolean;
}

// A document of many pages as an attachment, in base64.
const maxMessageBytes = 25 * 1024 * 1024;

/**
 * Receives emails on this machine and prints them until the process is stopped. Emails go to stdout, everything else to
 * stderr. Throws an Error whose message is for the user.
 */
export async function openInbox({ port: text = '0', json = false }: InboxOptions): Promise<void> {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new Error(`--port: ${text} is not a number from 0 to 65535`);
  const server = new SMTPServer({
    authOptional: true,
    // There is no certificate, and nothing leaves this machine.
    disabledCommands: ['STARTTLS', 'AUTH'],
    size: maxMessageBytes,
    onData: (stream, _session, answer) => {
      simpleParser(stream).then((mail) => {
        console.log(json ? JSON.stringify(shownOf(mail)) : letterOf(mail));
        answer();
      }, answer);
    },
  });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? new Error(`--port: ${port} is in use; omit it to use any free port`) : error,
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: actual } = server.server.address() as AddressInfo;
  console.error(
    `Receiving emails. Start the service with TOLLKEEPER_SMTP_URL=smtp://127.0.0.1:${actual}. Press Ctrl-C to stop.`,
  );
  await stopped;
  await new Promise<void>((resolve) => server.close(resolve));
}

function shownOf({ from, to, subject, text, html, attachments }: ParsedMail) {
  const addresses = [to ?? []].flat().map((address) => address.text);
  const files = attachments.map(({ filename, size }) => ({ filename, size }));
  return { from: from?.text ?? '', to: addresses, subject: subject ?? '', text: text ?? '', html, attachments: files };
}

function letterOf(mail: ParsedMail): string {
  const { from, to, subject, text, attachments } = shownOf(mail);
  const files = attachments.map(({ filename, size }) => `Attached: ${filename} (${size} bytes)\n`);
  // Foreign text, made safe for a terminal.
  return `From: ${from}\nTo: ${to.join(', ')}\nSubject: ${subject}\n${files.join('')}\n${text}`.replaceAll(
    /[^\P{Cc}\n]/gu,
    '?',
  );
}
