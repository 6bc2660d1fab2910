import { z } from 'zod';
import { route } from '../http/route.ts';
import { requirePerson } from '../people/actions.ts';
import { getProvider, removeProvider, setProvider } from '../people/actions-providers.ts';
import { DomainRecord, NewSignInProvider, ProviderAddresses, SignInProvider } from '../people/provider.ts';
import { webhookServicesOf } from '../webhooks/actions.ts';

const tag = 'Sign-in provider';

const returns = z.object({
  signInProvider: SignInProvider.nullable(),
  domainRecord: DomainRecord.nullable(),
  addresses: ProviderAddresses,
});

export const signInProviderRoutes = [
  route({
    method: 'GET',
    path: '/sign-in-provider',
    cell: 'home',
    needs: 'sign-in-provider:read',
    summary: 'Get the sign-in provider',
    description:
      'Returns the provider that signs in members of the organization, or null, and the addresses to tell it.',
    tag,
    returns,
    refuses: ['personNeeded'],
    async handle(work, _input, { services }) {
      requirePerson(work);
      return getProvider(work, webhookServicesOf(services));
    },
  }),
  route({
    method: 'PUT',
    path: '/sign-in-provider',
    cell: 'home',
    needs: 'sign-in-provider:admin',
    summary: 'Set the sign-in provider',
    description:
      'Registers a provider for OpenID Connect or SAML, in place of the one before. A change ends the sessions of people ' +
      'whom the provider has signed in.',
    tag,
    body: z.object({ signInProvider: NewSignInProvider }),
    returns,
    refuses: ['personNeeded'],
    async handle(work, { body }, { services }) {
      requirePerson(work);
      return setProvider(work, body.signInProvider, webhookServicesOf(services), Date.now());
    },
  }),
  route({
    method: 'DELETE',
    path: '/sign-in-provider',
    cell: 'home',
    needs: 'sign-in-provider:admin',
    summary: 'Remove the sign-in provider',
    description: 'Ends the sessions of people whom the provider has signed in.',
    tag,
    returns,
    refuses: ['personNeeded'],
    async handle(work, _input, { services }) {
      requirePerson(work);
      return removeProvider(work, webhookServicesOf(services));
    },
  }),
];
