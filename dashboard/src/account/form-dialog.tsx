import { Button, Group, Modal, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { Problem } from '../parts/problem.tsx';
import { refreshAccount } from './account.ts';

interface FormDialogProps<Answer> {
  readonly title: string;
  readonly onClose: () => void;
  /** Sends the form. Its fields are texts, by their names. */
  readonly submit: (fields: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly confirm: string;
  readonly done?: string;
  readonly isDanger?: boolean;
  /** The dialog closes when absent. */
  readonly onDone?: (answer: Answer) => void;
  readonly children: ReactNode;
}

/** A form about how somebody signs in. The library that stores it has no dry run, so the form says what will be. */
export function FormDialog<Answer>(props: FormDialogProps<Answer>) {
  const { title, onClose, submit, confirm, done, isDanger = false, onDone = onClose, children } = props;
  const sending = useMutation({
    mutationFn: submit,
    onSuccess: async (answer) => {
      if (done !== undefined) notifications.show({ message: done, color: 'teal' });
      onDone(answer);
      await refreshAccount();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)] as const);
    sending.mutate(Object.fromEntries(fields));
  };
  return (
    <Modal opened onClose={onClose} title={<span className="dialog-title">{title}</span>}>
      <form onSubmit={send}>
        <Stack gap="md">
          {children}
          {sending.isError && <Problem error={sending.error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Leave as it is
            </Button>
            <Button type="submit" color={isDanger ? 'red.8' : 'toll'} loading={sending.isPending}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
