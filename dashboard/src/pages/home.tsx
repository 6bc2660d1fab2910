import { Empty } from '../parts/empty.tsx';
import { Heading } from '../parts/shown.tsx';

export function Page() {
  return (
    <>
      <Heading title="Home" />
      <Empty title="The figures of your business come here">
        Read <a href="/docs/">the reference of the API</a> meanwhile.
      </Empty>
    </>
  );
}
