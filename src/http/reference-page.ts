import type { FastifyInstance } from 'fastify';

// The browser itself refuses whatever the page would load from, or send to, elsewhere.
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";

/** Adds `/docs`: the reference page of the document. Its script is served by us and it loads nothing from elsewhere. */
export async function registerReference(server: FastifyInstance, document: object): Promise<void> {
  // Megabytes of script, which commands that serve nothing need not load.
  const { default: reference } = await import('@scalar/fastify-api-reference');
  // In a scope of its own: other requests are not asked whether they want this page.
  await server.register((page, _options, done) => {
    page.addHook('onRequest', (_request, reply, next) => {
      reply.header('content-security-policy', contentSecurityPolicy);
      next();
    });
    void page.register(reference, {
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
    done();
  });
}
