import type { FastifyInstance } from 'fastify';

// The browser blocks everything that the page would load from, or send to, other origins.
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";

/**
 * Adds `/docs`, the reference page of the document. Its script is served from here and loads nothing from other
 * origins.
 */
export async function registerReference(server: FastifyInstance, document: object): Promise<void> {
  // Megabytes of script that commands without a server need not load.
  const { default: reference } = await import('@scalar/fastify-api-reference');
  // A separate scope keeps the hook off other requests.
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
