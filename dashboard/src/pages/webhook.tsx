import { Alert, Button, Code, Drawer, Menu, Select, Stack, Switch, Table, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type {
  EventType,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryStatus,
} from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { counted, instantText } from '../parts/format.ts';
import { isInTheWay, PageProblem, Problem } from '../parts/problem.tsx';
import { addressWith, type Column, Records, useFilters } from '../parts/records.tsx';
import { Secret } from '../parts/secret.tsx';
import { Facts, Go, Heading, Identifier, Section, Status } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const pageSize = 25;

const columns: readonly Column<WebhookDelivery>[] = [
  { title: 'Event', cell: ({ eventType, eventId }) => `${eventType}${eventId === null ? ' (sample)' : ''}` },
  { title: 'Attempts', cell: ({ attempts }) => attempts, align: 'right', from: 'md' },
  { title: 'Answer', cell: ({ lastStatusCode, lastError }) => lastError ?? lastStatusCode ?? '–', from: 'sm' },
  { title: 'Status', cell: ({ status }) => <Status of={status} /> },
  { title: 'Made', cell: ({ createdAt }) => <span className="amount">{instantText(createdAt)}</span>, from: 'lg' },
];

type Action = 'test' | 'replay' | 'rotate' | 'switch' | 'delete';

export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const { filters, setFilters } = useFilters();
  const { status, type, cursor, delivery } = filters;
  const { data, error, refetch } = useQuery(read('webhooks', 'get', { id }));
  const deliveries = read('webhooks', 'listDeliveries', {
    id,
    limit: pageSize,
    order: 'desc',
    ...(status && { status: status as WebhookDeliveryStatus }),
    ...(type && { eventType: type as EventType }),
    ...(cursor && { cursor }),
  });
  const [action, setAction] = useState<Action | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const mayChange = useMay('webhooks:admin');
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  const webhook = data?.webhook;
  return (
    <>
      <Heading
        title={webhook?.name ?? 'Webhook'}
        below={webhook && <span className="identifier">{webhook.url}</span>}
        aside={mayChange && webhook && <Actions webhook={webhook} onChoose={setAction} />}
      />
      {webhook?.disabledReason && (
        <Alert color="red" variant="light" title="The service has disabled this webhook" mb="md">
          {webhook.disabledReason}
        </Alert>
      )}
      {webhook && (
        <Section title="Settings">
          <Facts
            facts={[
              ['Status', <Status key="status" of={webhook.active ? 'active' : 'inactive'} />],
              ['Event types', webhook.filterTypes.length === 0 ? 'The usual ones' : webhook.filterTypes.join(', ')],
              ['Pricing model', <Identifier key="model" id={webhook.pricingModelId} />],
              ['Id', <Identifier key="id" id={webhook.id} />],
            ]}
          />
        </Section>
      )}
      <Section title="Deliveries">
        <FilterBar>
          <ChoiceFilter name="status" label="Status" choices={values.WebhookDeliveryStatus} />
          <ChoiceFilter name="type" label="Event type" choices={values.EventType} />
        </FilterBar>
        <Records
          query={deliveries}
          columns={columns}
          keyOf={(each) => each.id}
          to={(each) => addressWith(`/webhooks/${id}`, { ...filters, delivery: each.id })}
          caption="Deliveries"
          empty={<Empty title="No deliveries">Send a sample to try the address.</Empty>}
        />
      </Section>
      <Drawer
        opened={delivery !== undefined}
        onClose={() => setFilters({ delivery: undefined, cursor })}
        position="right"
        size="lg"
        title={<span className="dialog-title">Delivery</span>}
      >
        {delivery !== undefined && <OneDelivery id={delivery} />}
      </Drawer>
      {webhook && action !== null && (
        <ActionDialog webhook={webhook} action={action} onClose={() => setAction(null)} onSecret={setSecret} />
      )}
      <Secret title="The new signing secret" secret={secret} onClose={() => setSecret(null)} />
    </>
  );
}

function Actions({ webhook, onChoose }: { readonly webhook: Webhook; readonly onChoose: (action: Action) => void }) {
  return (
    <>
      <Button variant="default" onClick={() => onChoose('test')}>
        Send a sample
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => onChoose('replay')}>Replay events</Menu.Item>
          <Menu.Item onClick={() => onChoose('rotate')}>Rotate the secret</Menu.Item>
          <Menu.Item onClick={() => onChoose('switch')}>{webhook.active ? 'Switch off' : 'Switch on'}</Menu.Item>
          <Menu.Item color="red" onClick={() => onChoose('delete')}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

interface ActionDialogProps {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

function ActionDialog({
  action,
  onSecret,
  ...props
}: ActionDialogProps & { readonly action: Action; readonly onSecret: (secret: string) => void }) {
  const { webhook, onClose } = props;
  const { id, name, active } = webhook;
  const navigate = useNavigate();
  const common = { opened: true, onClose };
  switch (action) {
    case 'test':
      return <SampleDialog {...props} />;
    case 'replay':
      return <ReplayDialog {...props} />;
    case 'rotate':
      return (
        <ChangeDialog
          {...common}
          title="Rotate the secret"
          input={{ id }}
          call={(given, options) => api.webhooks.rotateSecret(given, options)}
          effects={() => [
            { text: 'For 24 hours, messages carry a signature of the old and of the new secret.' },
            { text: 'Then the old secret ends.', isLoss: true },
          ]}
          confirm="Rotate the secret"
          done="The secret is rotated."
          onDone={({ secret }) => onSecret(secret)}
        />
      );
    case 'switch':
      return (
        <ChangeDialog
          {...common}
          title={active ? 'Switch off' : 'Switch on'}
          input={{ id, webhook: { active: !active } }}
          call={(given, options) => api.webhooks.update(given, options)}
          effects={() =>
            active
              ? [{ text: 'Further events are not sent to it, until they are replayed.', isLoss: true }]
              : [{ text: 'Events are sent from now on. Those that it missed are not: replay them.' }]
          }
          confirm={active ? 'Switch it off' : 'Switch it on'}
          done={active ? 'The webhook is off.' : 'The webhook is on.'}
          isDanger={active}
        />
      );
    case 'delete':
      return (
        <ChangeDialog
          {...common}
          title={`Delete ${name}`}
          input={{ id }}
          call={(given, options) => api.webhooks.delete(given, options)}
          effects={() => [
            { text: 'Messages that are waiting are not sent.', isLoss: true },
            { text: 'The list of its deliveries goes with it.', isLoss: true },
          ]}
          confirm="Delete the webhook"
          done="The webhook is deleted."
          isDanger
          onDone={() => void navigate({ to: '/webhooks' })}
        />
      );
    default:
      return action satisfies never;
  }
}

function SampleDialog({ webhook: { id, url }, onClose }: ActionDialogProps) {
  const [type, setType] = useState<EventType>('customer.created');
  return (
    <ChangeDialog
      title="Send a sample"
      opened
      onClose={onClose}
      input={{ id, test: { type } }}
      call={(given, options) => api.webhooks.test(given, options)}
      effects={() => [{ text: `One message to ${url}. Its ids end in “sample” and name no records.` }]}
      confirm="Send it"
      done="The sample is on its way."
    >
      <Select
        label="Event type"
        data={[...values.EventType]}
        value={type}
        onChange={(value) => value !== null && setType(value as EventType)}
        allowDeselect={false}
        searchable
      />
    </ChangeDialog>
  );
}

function ReplayDialog({ webhook: { id }, onClose }: ActionDialogProps) {
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [onlyFailed, setOnlyFailed] = useState(true);
  const [from, to] = [Date.parse(`${since}Z`), Date.parse(`${until}Z`)];
  const range = { since: from, ...(Number.isNaN(to) ? {} : { until: to }) };
  return (
    <ChangeDialog
      title="Replay events"
      opened
      onClose={onClose}
      input={Number.isNaN(from) ? null : { id, replay: { ...range, onlyFailed } }}
      call={(given, options) => api.webhooks.replay(given, options)}
      effects={({ replay }) => [
        { text: `${counted(replay.deliveries, 'event is', 'events are')} sent again, in order.` },
      ]}
      confirm="Replay them"
      done="The events are on their way."
    >
      <TextInput
        type="datetime-local"
        label="From, in UTC"
        value={since}
        onChange={(event) => setSince(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label="Until, in UTC"
        description="Without it, until now"
        value={until}
        onChange={(event) => setUntil(event.currentTarget.value)}
      />
      <Switch
        label="Only those whose delivery has failed for good"
        checked={onlyFailed}
        onChange={(event) => setOnlyFailed(event.currentTarget.checked)}
      />
    </ChangeDialog>
  );
}

function OneDelivery({ id }: { readonly id: string }) {
  const { data, error, refetch } = useQuery(read('deliveries', 'get', { id }));
  const [isRetrying, setIsRetrying] = useState(false);
  const mayRetry = useMay('deliveries:write');
  if (isInTheWay(error, data)) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return null;
  const { delivery, attempts } = data;
  return (
    <Stack>
      <Facts
        facts={[
          ['Event type', delivery.eventType],
          [
            'Event',
            delivery.eventId === null ? (
              'A sample'
            ) : (
              <Go key="event" to={`/events?event=${delivery.eventId}`}>
                Show it
              </Go>
            ),
          ],
          ['Status', <Status key="status" of={delivery.status} />],
          ['Next attempt', instantText(delivery.nextAttemptAt)],
          ['Id', <Identifier key="id" id={delivery.id} />],
        ]}
      />
      {mayRetry && (
        <Button variant="default" onClick={() => setIsRetrying(true)}>
          Send it again now
        </Button>
      )}
      <div>
        <h2>Attempts</h2>
        {attempts.length === 0 && <Empty title="Not sent yet" />}
        {attempts.map(({ number, startedAt, durationMs, statusCode, error: failure, answer }) => (
          <div key={number} className="section">
            <Table className="records" withRowBorders={false}>
              <Table.Tbody>
                <Table.Tr>
                  <Table.Td>{number}</Table.Td>
                  <Table.Td className="amount">{instantText(startedAt)}</Table.Td>
                  <Table.Td className="amount">{durationMs} ms</Table.Td>
                  <Table.Td>{failure ?? statusCode ?? '–'}</Table.Td>
                </Table.Tr>
              </Table.Tbody>
            </Table>
            {answer !== null && answer !== '' && <Code block>{answer}</Code>}
          </div>
        ))}
      </div>
      {isRetrying && (
        <ChangeDialog
          title="Send it again"
          opened
          onClose={() => setIsRetrying(false)}
          input={{ id }}
          call={(given, options) => api.deliveries.retry(given, options)}
          effects={() => [{ text: 'The message is sent now, with the same id, even if it arrived before.' }]}
          confirm="Send it"
          done="The message is on its way."
        />
      )}
    </Stack>
  );
}
