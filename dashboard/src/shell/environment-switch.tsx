import { Menu, UnstyledButton } from '@mantine/core';
import { IconCheck, IconSelector } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { chooseEnvironment, queries } from '../api.ts';
import { meQuery, type Session } from '../session.ts';

/** Chooses organization and mode. Records of the other environment are never shown beside those of this one. */
export function EnvironmentSwitch({ session }: { readonly session: Session }) {
  const navigate = useNavigate();
  const { me, membership, environment } = session;
  const choose = async (id: string) => {
    chooseEnvironment(id);
    await navigate({ to: '/' });
    // The session is computed from the answer, which has not changed: a copy makes it be computed again.
    queries.setQueryData(meQuery.queryKey, { ...me });
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' && queryKey[0] !== id });
  };
  return (
    <Menu width={248} position="bottom-start">
      <Menu.Target>
        <UnstyledButton className="environment">
          <span className="environment-name">{membership.organization.name}</span>
          <Mode isLive={environment.livemode} />
          <IconSelector size={15} aria-hidden />
          <span className="visually-hidden">Switch organization or mode</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {me.memberships.map(({ organization, environments }) => (
          <div key={organization.id}>
            <Menu.Label>{organization.name}</Menu.Label>
            {environments.map(({ id, livemode }) => (
              <Menu.Item
                key={id}
                onClick={() => void choose(id)}
                rightSection={id === environment.id ? <IconCheck size={15} aria-label="chosen" /> : null}
              >
                {livemode ? 'Live mode' : 'Test mode'}
              </Menu.Item>
            ))}
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Mode({ isLive }: { readonly isLive: boolean }) {
  return (
    <span className="mode" data-live={isLive}>
      {isLive ? 'Live' : 'Test'}
    </span>
  );
}
