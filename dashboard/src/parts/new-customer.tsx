import { Button, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog } from './change-dialog.tsx';

const blank = { name: '', email: '', externalId: '' };

/** A form for a customer, who starts on the default plan. Applications make most customers over the API. */
export function NewCustomer({ isFirst = false }: { readonly isFirst?: boolean }) {
  const [opened, { open, close }] = useDisclosure(false);
  const [form, setForm] = useState(blank);
  const navigate = useNavigate();
  if (!useMay('customers:write')) return null;
  const { name, email, externalId } = form;
  const isComplete = [name, email, externalId].every((text) => text.trim() !== '');
  return (
    <>
      <Button variant={isFirst ? 'filled' : 'default'} onClick={open}>
        {isFirst ? 'Add the first customer' : 'Add a customer'}
      </Button>
      <ChangeDialog
        title="Add a customer"
        opened={opened}
        onClose={close}
        input={isComplete ? { customer: form } : null}
        call={(input, options) => api.customers.create(input, options)}
        effects={({ data: { subscription } }) => [
          { text: `${name} is added.` },
          {
            text:
              subscription === undefined ? 'No plan starts.' : `${subscription.name ?? 'The default plan'} starts now.`,
          },
        ]}
        confirm="Add the customer"
        done="The customer is there."
        onDone={({ data: { customer } }) => {
          setForm(blank);
          void navigate({ to: `/customers/${customer.id}` });
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setForm({ ...form, name: event.currentTarget.value })}
            data-autofocus
          />
          <TextInput
            label="E-mail address"
            type="email"
            value={email}
            onChange={(event) => setForm({ ...form, email: event.currentTarget.value })}
          />
          <TextInput
            label="Your id"
            description="The id of the customer in your own application."
            value={externalId}
            onChange={(event) => setForm({ ...form, externalId: event.currentTarget.value })}
            classNames={{ input: 'identifier' }}
          />
        </Stack>
      </ChangeDialog>
    </>
  );
}
