import { Button, Group, List, Loader, Modal, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo } from 'react';
import type { WriteOptions } from '../../../client/src/generated-entry.ts';
import { currentEnvironment, refreshAll } from '../api.ts';
import { Problem } from './problem.tsx';

/** One effect of a change, as a sentence. A loss is marked. */
export interface Effect {
  readonly text: ReactNode;
  readonly isLoss?: boolean;
}

interface ChangeDialogProps<Input, Answer> {
  readonly title: string;
  readonly opened: boolean;
  readonly onClose: () => void;
  /** The input of the change; null while the form is incomplete. */
  readonly input: Input | null;
  readonly call: (input: Input, options: WriteOptions) => Promise<Answer>;
  /** The effects, from the answer to the dry run. */
  readonly effects: (answer: Answer, input: Input) => readonly Effect[];
  readonly confirm: string;
  readonly done: string;
  readonly isDanger?: boolean;
  readonly size?: 'md' | 'lg' | 'xl';
  readonly onDone?: (answer: Answer) => void;
  /** The fields of the form. */
  readonly children?: ReactNode;
}

const typingMs = 300;

/**
 * Shows the effects of a change before it is made. The service runs the same transaction and rolls it back, so that the
 * effects are those of the confirmed change.
 */
export function ChangeDialog<Input, Answer>(props: ChangeDialogProps<Input, Answer>) {
  const { title, opened, onClose, size = 'md' } = props;
  return (
    <Modal opened={opened} onClose={onClose} title={<span className="dialog-title">{title}</span>} size={size}>
      {opened && <ChangeForm {...props} />}
    </Modal>
  );
}

function ChangeForm<Input, Answer>(props: ChangeDialogProps<Input, Answer>) {
  const { input, call, effects, confirm, done, isDanger = false, onClose, onDone, children, title } = props;
  const text = JSON.stringify(input);
  const [settled] = useDebouncedValue(text, typingMs);
  const isSettled = settled === text;
  // A click that is repeated changes nothing twice; another input is another change.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key belongs to the input
  const idempotencyKey = useMemo(() => crypto.randomUUID(), [text]);
  const preview = useQuery({
    queryKey: [currentEnvironment(), 'dry-run', title, settled],
    queryFn: ({ signal }) => call(JSON.parse(settled) as Input, { dryRun: true, signal }),
    enabled: settled !== 'null' && isSettled,
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const change = useMutation({
    mutationFn: (sent: Input) => call(sent, { idempotencyKey }),
    onSuccess: async (answer) => {
      notifications.show({ message: done, color: 'teal' });
      onClose();
      onDone?.(answer);
      await refreshAll();
    },
  });
  const isReady = input !== null && isSettled && preview.isSuccess && !preview.isFetching;
  const describedBy = useId();
  return (
    <Stack gap="md">
      {children}
      <div id={describedBy} aria-live="polite" className="effects">
        {input === null ? (
          <Text size="sm" c="dimmed">
            Fill in the form to see the effects.
          </Text>
        ) : preview.isError && isSettled ? (
          <Problem error={preview.error} />
        ) : isReady ? (
          <Effects of={effects(preview.data, input)} />
        ) : (
          <Group gap="xs">
            <Loader size="xs" />
            <Text size="sm" c="dimmed">
              Trying it out
            </Text>
          </Group>
        )}
      </div>
      {change.isError && <Problem error={change.error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Leave as it is
        </Button>
        <Button
          color={isDanger ? 'red.8' : 'toll'}
          disabled={!isReady}
          loading={change.isPending}
          aria-describedby={describedBy}
          onClick={() => input !== null && change.mutate(input)}
        >
          {confirm}
        </Button>
      </Group>
    </Stack>
  );
}

function Effects({ of }: { readonly of: readonly Effect[] }) {
  return (
    <>
      <Text size="xs" c="dimmed" mb={6}>
        Tried out just now, and rolled back
      </Text>
      <List spacing={6} size="sm" className="effect-list">
        {of.map(({ text, isLoss = false }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: effects have no name, and are replaced together
          <List.Item key={index} data-loss={isLoss}>
            {text}
          </List.Item>
        ))}
      </List>
    </>
  );
}
