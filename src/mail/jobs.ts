import { documentPdf } from '../documents/actions.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { payloadEnvironment, payloadText, runInJob, type Task, type TaskList } from '../jobs/queue.ts';
import { type PreparedEmail, prepareEmail, recordOutcome, sendTask, type WithMail } from './actions.ts';
import type { SendOutcome } from './email.ts';

/**
 * Sends a queued email: written in one transaction, sent outside of any, and its outcome stored in another one. A
 * process that dies in between sends it again under the same Message-ID.
 */
const sendEmail: Task = async (context, payload) => {
  const environmentId = payloadEnvironment(payload);
  const id = payloadText(payload, 'emailId');
  const { mail } = (context.services ?? {}) as WithMail;
  const links = { publicUrl: mail?.publicUrl ?? '', encryption: encryptionOf(context.services) };
  const prepared = await runInJob(context, environmentId, (work) => prepareEmail(work, id, links));
  if (prepared === null) return;
  const outcome = await attempt(mail, id, prepared);
  const { recipients } = prepared;
  const subject = prepared.kind === 'ready' ? prepared.content.subject : null;
  const stored = await runInJob(context, environmentId, (work) =>
    recordOutcome(work, id, { outcome, recipients, subject }),
  );
  // The queue waits longer after each failure.
  if (stored?.status === 'queued') throw new Error(`email ${id} was not sent: ${stored.lastError}`);
};

async function attempt(mail: WithMail['mail'], id: string, prepared: PreparedEmail): Promise<SendOutcome> {
  if (prepared.kind === 'suppressed') return prepared;
  if (mail === undefined) return { kind: 'refused', reason: 'The service has no mail server.', responseCode: null };
  const { content, attachment, kind: _, ...head } = prepared;
  const attachments = attachment && [
    {
      filename: attachment.filename,
      contentType: 'application/pdf',
      content: await documentPdf(attachment.document),
    },
  ];
  return mail.smtp.send({ id, ...head, ...content, attachments: attachments ?? [] });
}

export const mailTasks: TaskList = { [sendTask]: sendEmail };
