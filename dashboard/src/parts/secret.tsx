import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';

interface SecretProps {
  readonly title: string;
  /** The secret; null while there is none to show. */
  readonly secret: string | null;
  readonly onClose: () => void;
  readonly advice?: string;
}

const usualAdvice = 'It is shown only now. Store it where your system reads its secrets.';

/** Shows a secret once: the service keeps only what it needs to recognize it. */
export function Secret({ title, secret, onClose, advice = usualAdvice }: SecretProps) {
  return (
    <Modal
      opened={secret !== null}
      onClose={onClose}
      title={<span className="dialog-title">{title}</span>}
      closeOnClickOutside={false}
    >
      <Stack>
        <Text size="sm">{advice}</Text>
        <Code block className="identifier">
          {secret}
        </Code>
        <Group justify="flex-end" gap="xs">
          <CopyButton value={secret ?? ''}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
