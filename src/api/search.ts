import { z } from 'zod';
import { inOrder, mostOfType, SearchResult, SearchText } from '../analytics/record-search.ts';
import { searchRecords } from '../analytics/store-search.ts';
import { gatheredRoute } from '../http/route.ts';

export const searchRoutes = [
  gatheredRoute({
    path: '/search',
    needs: 'search:read',
    summary: 'Search records',
    description:
      `Finds up to ${mostOfType} records of each type, the newest first. Customers are found by a part of their name, e-mail ` +
      'address or external id, and their subscriptions with them. Products and prices are found by a part of their name or ' +
      'slug, invoices by the beginning of their number. Any of these, payments and credit notes are found by their id.',
    tag: 'Search',
    query: z.object({ q: SearchText }),
    returns: z.object({ results: z.array(SearchResult) }),
    refuses: [],
    read: (work, { query }) => searchRecords(work, query.q),
    join: (parts) => ({ results: inOrder(parts.flat()) }),
  }),
];
