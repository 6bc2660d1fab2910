import { Button, Drawer, Group, Stack, Text } from '@mantine/core';
import { type ComponentType, useState } from 'react';
import { find, isSame, type List, putRecord, type RecordOf, removeRecord, slugOf } from './draft.ts';
import { type DraftState, useEditing } from './editing.ts';
import { FeatureForm, featureIssue, newFeature, newResource, ResourceForm, resourceIssue } from './feature-form.tsx';
import { MeterForm, meterIssue, newMeter } from './meter-form.tsx';
import { newPool, PoolForm, poolIssue } from './pool-form.tsx';
import { type FormProps, newProduct, ProductForm, productIssue } from './product-form.tsx';

interface Kind<L extends List> {
  readonly name: string;
  readonly make: RecordOf<L>;
  readonly Form: ComponentType<FormProps<RecordOf<L>>>;
  readonly issue: (record: RecordOf<L>) => string | null;
}

const kinds: { readonly [L in List]: Kind<L> } = {
  products: { name: 'product', make: newProduct, Form: ProductForm, issue: productIssue },
  features: { name: 'feature', make: newFeature, Form: FeatureForm, issue: featureIssue },
  usageMeters: { name: 'usage meter', make: newMeter, Form: MeterForm, issue: meterIssue },
  creditPools: { name: 'credit pool', make: newPool, Form: PoolForm, issue: poolIssue },
  resources: { name: 'resource', make: newResource, Form: ResourceForm, issue: resourceIssue },
};

interface EditorProps {
  readonly draft: DraftState;
  readonly currency: string;
}

/** The form of one record. Its changes go into the draft. */
export function Editor({ draft, currency }: EditorProps) {
  const { list, slug, close } = useEditing();
  const record = list === null || slug === null ? undefined : find(draft.shown, list, slug);
  const isOpen = list !== null && (slug === null || record !== undefined);
  const title = list === null ? '' : slug === null ? `New ${kinds[list].name}` : `Change the ${kinds[list].name}`;
  return (
    <Drawer opened={isOpen} onClose={close} size="xl" title={<span className="dialog-title">{title}</span>}>
      {isOpen && (
        <RecordForm key={`${list} ${slug}`} list={list} slug={slug} draft={draft} currency={currency} close={close} />
      )}
    </Drawer>
  );
}

interface RecordFormProps<L extends List> extends EditorProps {
  readonly list: L;
  readonly slug: string | null;
  readonly close: () => void;
}

function RecordForm<L extends List>({ list, slug, draft, currency, close }: RecordFormProps<L>) {
  const { make, Form, issue, name } = kinds[list] as unknown as Kind<L>;
  const stored = slug === null ? make : (find(draft.shown, list, slug) ?? make);
  const [value, setValue] = useState(stored);
  const isNew = slug === null || find(draft.base, list, slug) === undefined;
  const isTaken = slugOf(list, value) !== slug && find(draft.shown, list, slugOf(list, value)) !== undefined;
  const problem = isTaken ? `Another ${name} has this slug.` : issue(value);
  const keep = () => {
    draft.save(putRecord(draft.shown, list, value, slug));
    close();
  };
  const drop = () => {
    draft.save(removeRecord(draft.shown, list, slug ?? ''));
    close();
  };
  return (
    <Stack gap="lg">
      <Form value={value} onChange={setValue} catalog={draft.shown} currency={currency} isNew={isNew} />
      <Group justify="flex-end" gap="xs" className="editor-actions">
        {problem !== null && (
          <Text size="sm" c="dimmed" role="status" flex={1}>
            {problem}
          </Text>
        )}
        {slug !== null && isNew && (
          <Button variant="default" onClick={drop}>
            Take it out of the draft
          </Button>
        )}
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button disabled={problem !== null || (slug !== null && isSame(value, stored))} onClick={keep}>
          Keep in the draft
        </Button>
      </Group>
    </Stack>
  );
}
