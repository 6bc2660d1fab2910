import { Button, Code, CopyButton, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { read } from '../api.ts';
import { Empty } from './empty.tsx';
import { Go } from './shown.tsx';

/** The request that records a first event of a meter, to be copied. It names a customer who is there. */
export function FirstEvent({ meterSlug }: { readonly meterSlug: string }) {
  const { data } = useQuery(read('customers', 'list', { limit: 1, archived: false }));
  const customerExternalId = data?.data[0]?.externalId ?? 'your-id-of-a-customer';
  const usageEvent = { customerExternalId, usageMeterSlug: meterSlug, amount: 1, transactionId: 'first-event' };
  const command = [
    `curl ${location.origin}/api/v1/usage-events \\`,
    '  -H "Authorization: Bearer $TOLLKEEPER_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify({ usageEvent })}'`,
  ].join('\n');
  return (
    <Empty title="No events of this meter yet">
      Your application sends them. Try one, with a key of <Go to="/api-keys">the API keys</Go>. Sent again, it counts
      once.
      <Code block my="sm" className="command">
        {command}
      </Code>
      <Group>
        <CopyButton value={command}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy the command'}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Empty>
  );
}
