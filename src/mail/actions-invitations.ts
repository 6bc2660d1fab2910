import type { Work } from '../database/work.ts';
import { type Encryption, encryptionOf } from '../jobs/encryption.ts';
import { enqueue } from '../jobs/queue.ts';
import { readBranding, readSellerName } from '../organizations/store-settings.ts';
import type { Invitation } from '../people/person.ts';
import { listInvitations } from '../people/store.ts';
import type { WithMail } from './actions.ts';
import { type EmailContent, writeInvitation } from './email-content.ts';

export const invitationTask = 'send_invitation';

// A link that comes after a day is one that nobody waits for any more: about a day of attempts.
const mostAttempts = 11;

/** The context under which a link is sealed: the link is enough to join, so no payload of a job shows it. */
function sealedFor(invitationId: string): string {
  return `invitation ${invitationId}`;
}

/** Queues the email with the link, in the commit of the invitation. Answers false without a mail server. */
export async function mailInvitation(
  work: Work,
  services: object | undefined,
  { invitation, url }: { readonly invitation: Invitation; readonly url: string },
): Promise<boolean> {
  if (((services ?? {}) as WithMail).mail === undefined) return false;
  const sealedUrl = encryptionOf(services).seal(url, sealedFor(invitation.id));
  await enqueue(
    work,
    invitationTask,
    { invitationId: invitation.id, sealedUrl },
    { key: `invitation:${invitation.id}`, maxAttempts: mostAttempts },
  );
  return true;
}

/** The email of an invitation and its recipient; null if it was used, withdrawn or replaced, or has expired. */
export async function prepareInvitation(
  work: Work,
  { invitationId, sealedUrl }: { readonly invitationId: string; readonly sealedUrl: string },
  encryption: Encryption,
): Promise<{ readonly content: EmailContent; readonly senderName: string; readonly recipient: string } | null> {
  const invitation = (await listInvitations(work, Date.now())).find(({ id }) => id === invitationId);
  if (invitation === undefined) return null;
  const organization = await readSellerName(work);
  const url = encryption.open(sealedUrl, sealedFor(invitationId));
  const content = writeInvitation(
    { organization, role: invitation.role, url, expiresAt: invitation.expiresAt },
    await readBranding(work),
  );
  return { content, senderName: organization, recipient: invitation.email };
}
