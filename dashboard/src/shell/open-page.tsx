import './frame.css';
import type { ReactNode } from 'react';
import { Brand } from './brand.tsx';

interface OpenPageProps {
  readonly title: string;
  readonly children: ReactNode;
}

/** A page without the frame, for people who are not signed in. */
export function OpenPage({ title, children }: OpenPageProps) {
  return (
    <main className="open-page">
      <div className="card">
        <Brand />
        <h1 className="card-title">{title}</h1>
        {children}
      </div>
    </main>
  );
}
