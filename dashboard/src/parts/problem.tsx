import { Alert, Button, List, Stack, Text } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { TollkeeperError } from '../../../client/src/generated-entry.ts';
import { destinations } from '../shell/navigation.ts';
import { isFinal, type ProblemText, problemText } from './problem-text.ts';
import { Go, Heading } from './shown.tsx';

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

/** An error in words: the field, what would be right, the next step, and the request to look up in the logs. */
export function Problem({ error, retry }: ProblemProps) {
  const known = error instanceof TollkeeperError ? error : null;
  const issues = known?.issues ?? [];
  const text = problemText(error);
  return (
    <Alert
      color="red"
      variant="light"
      title={issues.length === 0 ? text.title : 'Something is not right yet'}
      role="alert"
    >
      {issues.length > 0 && (
        <List size="sm" spacing={4} listStyleType="none">
          {issues.map(({ path, message: words }) => (
            <List.Item key={`${pathText(path)} ${words}`}>
              <code className="identifier">{pathText(path)}</code> {words}
            </List.Item>
          ))}
        </List>
      )}
      {issues.length === 0 && <NextStep text={text} />}
      <RequestNumber of={known} />
      {retry !== undefined && (
        <Button variant="light" color="red" size="xs" mt="xs" onClick={() => void retry()}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** Stands where a page would be that cannot be shown. */
export function PageProblem({ error, retry }: ProblemProps) {
  const text = problemText(error);
  return (
    <div role="alert">
      <Heading title={text.title} />
      <Stack gap="xs" align="flex-start">
        <NextStep text={text} />
        <RequestNumber of={error instanceof TollkeeperError ? error : null} />
        {text.mayPass && (
          <Button variant="default" onClick={() => (retry === undefined ? location.reload() : void retry())}>
            Try again
          </Button>
        )}
      </Stack>
    </div>
  );
}

/** Whether a page shows the error in place of its records. An answer that only comes late leaves what was read before. */
export function isInTheWay(error: unknown, data: unknown): boolean {
  return error !== null && (data === undefined || isFinal(error));
}

/** The number by which the operator finds the request in the logs, where that helps. */
function RequestNumber({ of }: { readonly of: TollkeeperError | null }) {
  if (of?.requestId == null || (of.status ?? 0) < 500) return null;
  return (
    <Text size="xs" mt={4} className="identifier">
      Request {of.requestId}
    </Text>
  );
}

function NextStep({ text: { advice, next } }: { readonly text: ProblemText }) {
  const { pathname, href } = useLocation();
  const list = destinations
    .flatMap(({ pages }) => pages)
    .find(({ to }) => to !== '/' && to !== pathname && pathname.startsWith(to));
  if (advice === null) return null;
  return (
    <Text size="sm" component="div" maw={520}>
      {advice} {next === 'sign-in' && <Go to={`/sign-in?next=${encodeURIComponent(href)}`}>Sign in</Go>}
      {next === 'people' && <Go to="/people">Look who is an owner</Go>}
      {next === 'list' && <Go to={list?.to ?? '/'}>{list === undefined ? 'Go to Home' : `Go to ${list.name}`}</Go>}
    </Text>
  );
}
