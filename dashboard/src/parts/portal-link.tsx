import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Customer, PortalSession } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { instantText } from './format.ts';

/** Makes a link to the portal, to hand to the customer or to see what the customer sees. */
export function PortalLink({ customer }: { readonly customer: Customer }) {
  const may = useMay('portal-sessions:write');
  const [isOpen, setOpen] = useState(false);
  const [session, setSession] = useState<PortalSession | null>(null);
  const { externalId, pricingModelId, name } = customer;
  if (!may) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Portal
      </Button>
      <ChangeDialog
        title="Make a portal link"
        opened={isOpen}
        onClose={() => setOpen(false)}
        input={{ externalId, pricingModelId }}
        call={(input, options) => api.customers.createPortalSession(input, options)}
        effects={({ portalSession }) => [
          {
            text: `Whoever has the link sees and changes what ${name || externalId} may, until ${instantText(portalSession.expiresAt)}.`,
          },
          { text: 'What is done there is noted as done by the customer.' },
        ]}
        confirm="Make the link"
        done="The link is made"
        onDone={({ portalSession }) => setSession(portalSession)}
      />
      <Modal
        opened={session !== null}
        onClose={() => setSession(null)}
        title={<span className="dialog-title">Portal of {name || externalId}</span>}
      >
        {session !== null && (
          <Stack>
            <Text size="sm">Hand the link to the customer, or open it to see what the customer sees.</Text>
            <Code block className="identifier">
              {session.url}
            </Code>
            <Group justify="flex-end" gap="xs">
              <CopyButton value={session.url}>
                {({ copied, copy }) => (
                  <Button variant="default" onClick={copy}>
                    {copied ? 'Copied' : 'Copy'}
                  </Button>
                )}
              </CopyButton>
              <Button component="a" href={session.url} target="_blank" rel="noreferrer">
                View as the customer
              </Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </>
  );
}
