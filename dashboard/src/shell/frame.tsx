import './frame.css';
import {
  ActionIcon,
  Burger,
  Drawer,
  Menu,
  Skeleton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { currentEnvironment, isSignedOut } from '../api.ts';
import { useLive } from '../live.ts';
import { Empty } from '../parts/empty.tsx';
import { PageProblem } from '../parts/problem.tsx';
import { meQuery, type Session, signOut, useSession } from '../session.ts';
import { Brand } from './brand.tsx';
import { EnvironmentSwitch } from './environment-switch.tsx';
import { destinations } from './navigation.ts';
import { Search, SearchButton } from './search.tsx';

/** The frame of all pages: navigation, environment, search. A page begins to load before it is known who asks. */
export function Frame() {
  const { error, data: me, refetch } = useQuery(meQuery);
  const session = useSession();
  useLive(session?.environment.id ?? null);
  const { href } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the navigation
  useEffect(close, [pathname]);
  const isOut = isSignedOut(error);
  const navigate = useNavigate();
  // The address changes on the way, and must not be asked for again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once
  useEffect(() => {
    if (isOut) void navigate({ to: '/sign-in', search: href === '/' ? {} : { next: href }, replace: true });
  }, [isOut]);
  if (isOut) return null;
  if (error !== null && me === undefined)
    return (
      <main className="open-page">
        <PageProblem error={error} retry={refetch} />
      </main>
    );
  if (me !== undefined && session === null) return <NoOrganization />;
  const isKnown = session !== null || currentEnvironment() !== null;
  return (
    <div className="frame" data-live={session?.environment.livemode ?? true}>
      <a href="#main" className="skip">
        Skip to the content
      </a>
      <aside className="side">
        <Brand />
        <Navigation />
      </aside>
      <Drawer opened={isOpen} onClose={close} position="left" size={260} title={<Brand />}>
        <Navigation />
      </Drawer>
      <div className="top">
        <Burger opened={isOpen} onClick={toggle} size="sm" className="burger" aria-label="Navigation" />
        {session === null ? <Skeleton width={180} height={28} /> : <EnvironmentSwitch session={session} />}
        <div className="top-right">
          <SearchButton />
          <ColorScheme />
          {session !== null && <Person session={session} />}
        </div>
      </div>
      <main id="main" className="content" key={session?.environment.id ?? 'unknown'}>
        {isKnown ? <Outlet /> : <Skeleton height={200} />}
      </main>
      <Search />
    </div>
  );
}

function Navigation() {
  return (
    <nav aria-label="Pages" className="navigation">
      {destinations.map(({ group, pages }) => (
        <div key={group}>
          <div className="navigation-group">{group}</div>
          {pages.map(({ to, name, icon: Shown }) => (
            <Link
              key={to}
              to={to}
              className="navigation-link"
              activeOptions={{ exact: to === '/', includeSearch: false }}
              activeProps={{ 'aria-current': 'page' }}
            >
              <Shown size={17} stroke={1.7} aria-hidden />
              {name}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}

function ColorScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={isDark ? 'Light colours' : 'Dark colours'}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      {isDark ? <IconSun size={18} stroke={1.7} /> : <IconMoon size={18} stroke={1.7} />}
    </ActionIcon>
  );
}

function Person({ session: { me, membership } }: { readonly session: Session }) {
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Signed in as ${me.user.name}`}>
          <IconUserCircle size={19} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me.user.name}
          <br />
          {me.user.email}, {membership.role}
        </Menu.Label>
        <Menu.Item component={Link} to="/account" leftSection={<IconUserCircle size={16} />}>
          Your account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function NoOrganization() {
  return (
    <main className="open-page">
      <Empty title="You are not a member of an organization">
        Ask an owner for an invitation, and open its link while you are signed in.
      </Empty>
    </main>
  );
}
