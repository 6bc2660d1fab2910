import assert from 'node:assert/strict';
import type { Config } from '../../src/config.ts';
import { withWorker } from '../../src/main-database.ts';
import { finishMove, type Moved, type Mover, tryMoving } from '../../src/main-mover.ts';
import { beginMove, type SlotMove } from '../../src/organizations/store-moves.ts';

/** Acts as the one who moves slots, so that the service leaves them alone. */
export async function asMover<Answer>(config: Config, act: (mover: Mover) => Promise<Answer>): Promise<Answer> {
  const auditContext = { actor: 'operator', action: 'cells move' } as const;
  return withWorker(
    config,
    async (access, server) => {
      const done = await tryMoving({ server, access }, { config, auditContext }, async (mover) => ({
        answer: await act(mover),
      }));
      assert(done, 'nobody else moves slots');
      return done.answer;
    },
    { access: 'read' },
  );
}

/** Moves these slots at once. */
export function moveTogether(config: Config, move: SlotMove): Promise<Moved> {
  return asMover(config, async (mover) => {
    await beginMove(mover.home, move);
    return finishMove(mover, move);
  });
}
