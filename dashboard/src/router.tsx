import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { PageProblem } from './parts/problem.tsx';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';

type Search = Readonly<Record<string, string>>;
type PageModule = Promise<{ Page: ComponentType }>;

/** Filters are texts, so that the address reads as it was written. */
function textsOf(search: Record<string, unknown>): Search {
  // A filter that is taken away is there as undefined before the address is written.
  const given = Object.entries(search).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });
const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame });

/** A page inside of the frame, for people who are signed in. Its module exports `Page` and is loaded when it is opened. */
function page(path: string, load: () => PageModule) {
  return createRoute({
    getParentRoute: () => frame,
    path,
    validateSearch: textsOf,
    component: lazyRouteComponent(load, 'Page'),
  });
}

/** A page of its own, for people who are not signed in. */
function openPage(path: string, load: () => PageModule) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: textsOf,
    component: lazyRouteComponent(load, 'Page'),
  });
}

const pages = [
  page('/', () => import('./pages/home.tsx')),
  page('/customers', () => import('./pages/customers.tsx')),
  page('/customers/$id', () => import('./pages/customer.tsx')),
  page('/subscriptions', () => import('./pages/subscriptions.tsx')),
  page('/subscriptions/$id', () => import('./pages/subscription.tsx')),
  page('/invoices', () => import('./pages/invoices.tsx')),
  page('/invoices/$id', () => import('./pages/invoice.tsx')),
  page('/drafts', () => import('./pages/drafts.tsx')),
  page('/payments', () => import('./pages/payments.tsx')),
  page('/payments/$id', () => import('./pages/payment.tsx')),
  page('/credit-notes', () => import('./pages/credit-notes.tsx')),
  page('/credit-notes/$id', () => import('./pages/credit-note.tsx')),
  page('/purchases', () => import('./pages/purchases.tsx')),
  page('/dunning', () => import('./pages/dunning.tsx')),
  page('/service-health', () => import('./pages/health.tsx')),
  page('/catalog', () => import('./pages/catalog.tsx')),
  page('/usage', () => import('./pages/usage.tsx')),
  page('/emails', () => import('./pages/emails.tsx')),
  page('/events', () => import('./pages/events.tsx')),
  page('/webhooks', () => import('./pages/webhooks.tsx')),
  page('/webhooks/$id', () => import('./pages/webhook.tsx')),
  page('/api-keys', () => import('./pages/api-keys.tsx')),
  page('/audit-log', () => import('./pages/audit-log.tsx')),
  page('/time-machine', () => import('./pages/time-machine.tsx')),
  page('/people', () => import('./pages/people.tsx')),
  page('/settings', () => import('./pages/settings.tsx')),
  page('/account', () => import('./pages/account.tsx')),
];

const openPages = [
  openPage('/sign-in', () => import('./pages/sign-in.tsx')),
  openPage('/reset-password', () => import('./pages/reset-password.tsx')),
  openPage('/join/$token', () => import('./pages/join.tsx')),
];

export const router = createRouter({
  routeTree: root.addChildren([frame.addChildren(pages), ...openPages]),
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error }) => <PageProblem error={error} />,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return text === '' ? '' : `?${text}`;
  },
});
