import type { FastifyInstance } from 'fastify';

// The browser itself refuses whatever the page would load from, or send to, elsewhere.
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";

/** Adds `/docs`: the reference page of the document. Its script is served by us and it loads nothing from elsewhere. */
export async function registerReference(server: FastifyInstance, document: object): Promise<void> {
  // Megabytes of script, which commands that serve nothing need not load.
  const { default: reference } = await import('@scalar/fastify-api-reference');
  server.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith('/docs')) reply.header('content-security-policy', contentSecurityPolicy);
  });
  await server.register(reference, {
    routePrefix: '/docs',
    configuration: {
      content: document as Record<string, unknown>,
      pageTitle: 'Tollkeeper API',
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      defaultOpenAllTags: false,
    },
  });
}
