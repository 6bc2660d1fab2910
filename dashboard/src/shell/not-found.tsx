import { Empty } from '../parts/empty.tsx';
import { Go } from '../parts/shown.tsx';

export function NotFound() {
  return (
    <main className="open-page">
      <Empty title="There is no such page">
        The address may be incomplete. <Go to="/">Go to the first page</Go>
      </Empty>
    </main>
  );
}
