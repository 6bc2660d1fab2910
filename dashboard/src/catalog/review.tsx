import { Alert, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { PricingModelsApplyToAnswer, PricingModelsApplyToInput } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { ChangeDialog, type Effect } from '../parts/change-dialog.tsx';
import { counted } from '../parts/format.ts';
import { type Difference, differenceOf } from './differences.ts';
import type { DraftState } from './editing.ts';

interface ReviewProps {
  readonly modelId: string;
  readonly draft: DraftState;
  readonly currency: string;
}

const mostShown = 100;

/** A draft that is not applied yet: how much it changes, and whether it still fits. */
export function DraftBar({ modelId, draft, currency }: ReviewProps) {
  const [opened, { open, close }] = useDisclosure(false);
  if (draft.changes === 0) return null;
  const others = draft.changedByOthers;
  return (
    <>
      <Alert color={others.length > 0 ? 'orange' : 'toll'} variant="light" className="draft-bar" role="status">
        <Group justify="space-between" gap="sm">
          <div>
            <Text fw={600}>{counted(draft.changes, 'change')} in your draft</Text>
            <Text size="sm">
              {others.length === 0
                ? 'Only this browser has them. Nobody is affected until they are applied.'
                : `Somebody has changed ${others.join(', ')} since. Build the draft on that before you apply it.`}
            </Text>
          </div>
          <Group gap="xs">
            <Button variant="default" onClick={draft.discard}>
              Discard
            </Button>
            {others.length > 0 ? (
              <Button onClick={draft.redraw}>Build on the present state</Button>
            ) : (
              <Button onClick={open}>Review and apply</Button>
            )}
          </Group>
        </Group>
      </Alert>
      <ApplyDialog opened={opened} onClose={close} modelId={modelId} draft={draft} currency={currency} />
    </>
  );
}

interface ApplyDialogProps extends ReviewProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** The differences as the service answers them to a dry run, and then the same in earnest. */
function ApplyDialog({ opened, onClose, modelId, draft, currency }: ApplyDialogProps) {
  const effects = ({ changes }: PricingModelsApplyToAnswer): Effect[] => {
    const catalogs = { before: draft.base, after: draft.shown, currency };
    const shown = changes.slice(0, mostShown).map((change) => differenceOf(change, catalogs));
    const rest = changes.length - shown.length;
    return [
      ...shown.map((difference) => ({
        text: <DifferenceText of={difference} />,
        isLoss: difference.operation === 'remove',
      })),
      ...(rest > 0 ? [{ text: `And ${counted(rest, 'more change')}.` }] : []),
      ...(changes.length === 0 ? [{ text: 'The catalog is already like this.' }] : []),
    ];
  };
  // An export is the body of an apply. Its type says so of each field but one, which is never there.
  const input = { id: modelId, pricingModel: draft.shown, base: draft.base } as PricingModelsApplyToInput;
  return (
    <ChangeDialog
      title={`Apply ${counted(draft.changes, 'change')}`}
      size="lg"
      opened={opened}
      onClose={onClose}
      input={input}
      call={(given, options) => api.pricingModels.applyTo(given, options)}
      effects={effects}
      confirm={draft.changes === 1 ? 'Apply it' : 'Apply all of them'}
      done="The catalog is changed."
      onDone={draft.discard}
    />
  );
}

function DifferenceText({ of: { subject, operation, values, reach } }: { readonly of: Difference }) {
  return (
    <div className="difference">
      <div>
        <strong>{subject}</strong>
        {operation === 'remove' && ' is removed'}
        {values.map(({ name, before, after }) => (
          <div key={name ?? ''}>
            {name !== null && <span className="quiet">{name}: </span>}
            {before !== null && <del>{before}</del>}
            {before !== null && after !== null && <span aria-hidden> → </span>}
            {after !== null && <ins>{after}</ins>}
          </div>
        ))}
      </div>
      {reach !== null && <div className="quiet">{reach}</div>}
    </div>
  );
}
