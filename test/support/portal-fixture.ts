import type { TestApp } from './harness.ts';

/** The portal of a customer by plain HTTP: pages, their text, and forms with the token that its pages carry. */
export async function openPortalOf(app: TestApp, externalId: string, post: TestApp['post'] = app.post) {
  const link: string = (await post(`/customers/${externalId}/portal-sessions`, {})).portalSession.url;
  const cookie = await enterPortal(app, link);
  const look = (path: string) => fetch(app.url + path, { headers: { cookie }, redirect: 'manual' });
  const read = async (path: string) => (await look(path)).text();
  const formToken = /name="formToken" value="([^"]+)"/.exec(await read('/portal'))?.[1] ?? '';
  const send = (path: string, form: Record<string, string> = {}) =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { cookie, origin: app.url },
      body: new URLSearchParams({ formToken, ...form }),
      redirect: 'manual',
    });
  return { link, cookie, formToken, look, read, send };
}

/** Follows a link, and answers the cookie of the visit. */
export async function enterPortal(app: TestApp, link: string): Promise<string> {
  const answer = await fetch(link.replace(/^https?:\/\/[^/]+/, app.url), { redirect: 'manual' });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}
