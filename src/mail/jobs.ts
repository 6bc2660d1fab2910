import { documentPdf } from '../documents/actions.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { payloadEnvironment, payloadText, runInJob, type Task, type TaskList } from '../jobs/queue.ts';
import { type PreparedEmail, prepareEmail, recordOutcome, sendTask, type WithMail } from './actions.ts';
import { invitationTask, prepareInvitation } from './actions-invitations.ts';
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
  if (stored?.status === 'queued')
    throw new Error(`email ${id} was not sent: ${stored.lastError ?? 'its customer is erased'}`);
};

async function attempt(mail: WithMail['mail'], id: string, prepared: PreparedEmail): Promise<SendOutcome> {
  if (prepared.kind === 'suppressed') return prepared;
  if (mail === undefined) return { kind: 'refused', reason: 'The service has no mail server.', refusedRecipients: [] };
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

/** Sends the link of an invitation that is still open. A repeat has the same Message-ID. */
const sendInvitation: Task = async (context, payload) => {
  const { mail } = (context.services ?? {}) as WithMail;
  const id = payloadText(payload, 'invitationId');
  const sealed = { invitationId: id, sealedUrl: payloadText(payload, 'sealedUrl') };
  const encryption = encryptionOf(context.services);
  const prepared = await runInJob(context, payloadEnvironment(payload), (work) =>
    prepareInvitation(work, sealed, encryption),
  );
  if (prepared === null || mail === undefined) return;
  const { content, senderName, recipient } = prepared;
  const head = { id, senderName, replyTo: null, recipients: [recipient], attachments: [] };
  const outcome = await mail.smtp.send({ ...head, ...content });
  if (outcome.kind === 'refused') throw new Error(`the invitation ${id} was not sent: ${outcome.reason}`);
};

export const mailTasks: TaskList = { [sendTask]: sendEmail, [invitationTask]: sendInvitation };
