import { Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
}

/** Stands where records will be, and says how to make them. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="empty">
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text c="dimmed" size="sm" maw={460} component="div">
          {children}
        </Text>
      )}
    </div>
  );
}
