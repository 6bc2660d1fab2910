import { createTransport } from 'nodemailer';

/** A message, ready to be sent. */
interface SmtpMessage {
  /** Names the message: the same at each attempt, so that a receiver can tell a repeat. */
  readonly id: string;
  /** The name beside the address of the sender. */
  readonly senderName: string;
  readonly replyTo: string | null;
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments: readonly {
    readonly filename: string;
    readonly content: Buffer;
    readonly contentType: string;
  }[];
  /** Images that the HTML names as `cid:...`. */
  readonly images: readonly { readonly cid: string; readonly png: Buffer }[];
}

/** An address to which the server sends no message: its answer to it. */
export interface RefusedRecipient {
  readonly address: string;
  readonly responseCode: number | null;
  readonly reason: string;
}

/** The result: the server took the message, or the reason why not. Some recipients of a message may be refused. */
type SmtpOutcome = { readonly refusedRecipients: readonly RefusedRecipient[] } & (
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused'; readonly reason: string }
);

/** The way to a mail server. */
export interface Smtp {
  /** Sends a message. Never throws: a failure is an outcome. */
  send(message: SmtpMessage): Promise<SmtpOutcome>;
  close(): void;
}

interface SmtpOptions {
  /** The mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. */
  readonly url: string;
  /** The address of the sender. */
  readonly from: string;
}

// A server that does not answer must not hold a job for longer than a claim of the queue.
const timeoutMs = 20_000;
const connections = 3;

/** Opens connections to the mail server as they are needed. */
export function openSmtp({ url, from }: SmtpOptions): Smtp {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: connections,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // Texts of tenants name no files and no addresses to be fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    async send({ id, senderName, replyTo, recipients, attachments, images, ...content }) {
      try {
        const sent = await transport.sendMail({
          ...content,
          messageId: `<${id}@${domain}>`,
          from: { name: senderName, address: from },
          ...(replyTo !== null && { replyTo }),
          to: [...recipients],
          attachments: [
            ...attachments,
            ...images.map(({ cid, png: image }) => ({
              ...{ cid, content: image, filename: 'logo.png' },
              ...{ contentType: 'image/png', contentDisposition: 'inline' as const },
            })),
          ],
          // Asks out-of-office programs not to answer (RFC 3834).
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return { kind: 'sent', refusedRecipients: refusedIn(sent) };
      } catch (error) {
        return { kind: 'refused', reason: (error as Error).message, refusedRecipients: refusedIn(error as object) };
      }
    },
    close: () => transport.close(),
  };
}

/** The recipients that the server refused, in the result or the error of the library. */
function refusedIn({ rejectedErrors = [] }: { rejectedErrors?: readonly unknown[] | undefined }): RefusedRecipient[] {
  return rejectedErrors.flatMap((error) => {
    const { recipient, responseCode, response, message } = error as RejectedRecipient;
    if (recipient === undefined) return [];
    return [{ address: recipient, responseCode: responseCode ?? null, reason: response ?? message }];
  });
}

/** An error of the library about one recipient. */
interface RejectedRecipient extends Error {
  readonly recipient?: string;
  readonly responseCode?: number;
  readonly response?: string;
}
