import { type Icon, IconHome2 } from '@tabler/icons-react';

interface Destination {
  readonly to: string;
  readonly name: string;
  readonly icon: Icon;
}

/** The pages of the navigation, in groups. A page that is added to the router is added here too. */
export const destinations: readonly { readonly group: string; readonly pages: readonly Destination[] }[] = [
  {
    group: 'Overview',
    pages: [{ to: '/', name: 'Home', icon: IconHome2 }],
  },
];
