import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ExportsGetInput } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';

interface SaveFileProps {
  readonly name: string;
  readonly type: 'application/pdf' | 'text/csv';
  readonly read: () => Promise<Uint8Array | string>;
  readonly children: ReactNode;
}

/** Saves a document. It is asked for like everything else, because a plain link would not say the environment. */
export function SaveFile({ name, type, read, children }: SaveFileProps) {
  const saving = useMutation({
    mutationFn: async () => {
      const content = await read();
      const part = typeof content === 'string' ? content : new Uint8Array(content);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([part], { type }));
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
    },
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
  });
  return (
    <Button variant="default" onClick={() => saving.mutate()} loading={saving.isPending}>
      {children}
    </Button>
  );
}

// The service sends a list page by page, so that a long one takes minutes.
const longestMs = 3_600_000;

/** Saves all records of a kind, for a spreadsheet. */
export function SaveList({ file }: Pick<ExportsGetInput, 'file'>) {
  if (!useMay('exports:read')) return null;
  return (
    <SaveFile name={file} type="text/csv" read={() => api.exports.get({ file }, { timeoutMs: longestMs })}>
      Save as CSV
    </SaveFile>
  );
}
