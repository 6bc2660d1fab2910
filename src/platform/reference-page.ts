import type { FastifyInstance } from 'fastify';

/** Adds `/docs`: the reference page of the document. Its script is served by us and it loads nothing from elsewhere. */
export async function registerReference(server: FastifyInstance, document: object): Promise<void> {
  // Megabytes of script, which commands that serve nothing need not load.
  const { default: reference } = await import('@scalar/fastify-api-reference');
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
