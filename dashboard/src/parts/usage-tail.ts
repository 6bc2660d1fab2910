import { useEffect, useState } from 'react';
import type { UsageEvent } from '../../../client/src/generated-entry.ts';
import { followWhileVisible, readStream, streamSeconds } from '../live.ts';

// A few screens. Older ones are in the list.
const mostKept = 200;

interface Arrived {
  readonly usageEvents: readonly UsageEvent[];
  readonly skipped: boolean;
}

interface Tail {
  /** The newest first. */
  readonly events: readonly UsageEvent[];
  readonly state: 'opening' | 'open' | 'lost' | 'ended';
  readonly hasSkipped: boolean;
}

/** The events of a meter as they arrive, on top of those that were there before. */
export function useUsageTail(usageMeterId: string, before: readonly UsageEvent[]): Tail {
  const [events, setEvents] = useState<readonly UsageEvent[]>([]);
  const [state, setState] = useState<Tail['state']>('opening');
  const [hasSkipped, setHasSkipped] = useState(false);
  useEffect(() => {
    const path = `/api/v1/usage-events/tail?${new URLSearchParams({ usageMeterId, seconds: String(streamSeconds) })}`;
    return followWhileVisible((signal) => {
      void readStream(path, signal, {
        on({ event, data }) {
          if (event !== 'arrived') return;
          const { usageEvents, skipped } = JSON.parse(data) as Arrived;
          setEvents((kept) => newest([...usageEvents, ...kept]));
          setHasSkipped((was) => was || skipped);
        },
        onState: (isOpen) => setState(isOpen ? 'open' : 'lost'),
      }).then((refused) => {
        if (refused !== null) setState('ended');
      });
    });
  }, [usageMeterId]);
  return { events: newest([...events, ...before]), state, hasSkipped };
}

/** Each event once, the newest first. Ids are in the order of arrival. */
function newest(events: readonly UsageEvent[]): readonly UsageEvent[] {
  const byId = new Map(events.map((event) => [event.id, event]));
  return [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, mostKept);
}
