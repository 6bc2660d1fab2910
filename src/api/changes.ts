import { z } from 'zod';
import { beginFollowing, type FollowedCell, type WithChangeFeed } from '../audit/actions-changes.ts';
import type { Parts } from '../database/cells.ts';
import { longestSeconds } from '../http/event-stream.ts';
import { gatheredRoute } from '../http/route.ts';
import { Problem } from '../kernel/problem.ts';

const Position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** A cell of a stream that its feed begins when the transaction has ended. */
interface Begun extends FollowedCell {
  readonly feed: NonNullable<WithChangeFeed['changeFeed']>;
}

export const changeRoutes = [
  gatheredRoute({
    path: '/changes',
    needs: 'changes:read',
    summary: 'Follow changes',
    description:
      'Streams server-sent events that tell which types of records changed, within about a second of each commit. ' +
      '`changed` names them in `records`, as the audit log does. `refresh` says that any record may have changed. It comes ' +
      'each minute, for usage and other records without an audit log. The stream ends after `seconds`, and within ten ' +
      'seconds after the caller is signed out or the key is revoked. A reader that sends the last id as `Last-Event-ID` ' +
      'learns what changed meanwhile.',
    tag: 'Audit log',
    query: z.object({
      after: Position.optional().meta({
        description: 'The last id that was received. The header `Last-Event-ID` says the same.',
      }),
      seconds: z.coerce.number().int().min(0).max(longestSeconds).default(0).meta({
        description: 'The length of the stream. Without it, the stream ends after what changed since `after`.',
      }),
    }),
    returns: z.custom<Parts<Begun>>(),
    refuses: ['tooManyStreams', 'overloaded'],
    read: async (work, { query }, { database, services }) => {
      const { changeFeed } = (services ?? {}) as WithChangeFeed;
      if (changeFeed === undefined) throw new Problem('overloaded');
      const { after: lastPosition = null, seconds } = query;
      return { ...(await beginFollowing(work, { lastPosition, seconds })), database, feed: changeFeed };
    },
    join: (parts) => parts,
    resumes: true,
    // The answer is no JSON.
    text: () => '',
    file: {
      contentType: 'text/event-stream',
      render: (parts, readMore) => parts[0].feed.follow(parts, readMore),
    },
  }),
];
