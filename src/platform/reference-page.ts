import reference from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';

/** Adds `/docs`: the reference page of the document. Its script is served by us and it loads nothing from elsewhere. */
export async function registerReference(server: FastifyInstance, document: object): Promise<void> {
  await server.register(reference, {
    routePrefix: '/docs',
    configuration: {
      content: document as Record<string, unknown>,
      pageTitle: 'Tollkeeper API',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      defaultOpenAllTags: false,
    },
  });
}
