import { Alert, Button, List, Text } from '@mantine/core';
import { TollkeeperError } from '../../../client/src/generated-entry.ts';

/** `['subscription', 'items', 0, 'quantity']` -> subscription.items[0].quantity */
function pathText(path: readonly (string | number)[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${part}`))
    .join('');
}

interface ProblemProps {
  readonly error: unknown;
  readonly retry?: () => unknown;
}

/** An error in words: the field, what would be right, and the request to look up in the logs. */
export function Problem({ error, retry }: ProblemProps) {
  const known = error instanceof TollkeeperError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const issues = known?.issues ?? [];
  return (
    <Alert color="red" variant="light" title={issues.length === 0 ? message : 'This was refused'} role="alert">
      {issues.length > 0 && (
        <List size="sm" spacing={4} listStyleType="none">
          {issues.map(({ path, message: words }) => (
            <List.Item key={`${pathText(path)} ${words}`}>
              <code className="identifier">{pathText(path)}</code> {words}
            </List.Item>
          ))}
        </List>
      )}
      {known?.requestId != null && (
        <Text size="xs" mt={4}>
          Request {known.requestId}
        </Text>
      )}
      {retry !== undefined && (
        <Button variant="light" color="red" size="xs" mt="xs" onClick={() => void retry()}>
          Try again
        </Button>
      )}
    </Alert>
  );
}
