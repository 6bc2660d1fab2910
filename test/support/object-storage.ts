import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A storage of objects on this machine, which knows what archives need of the protocol of S3 and checks each signature. */
export interface ObjectStand {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** The number of parts in which each object was stored. */
  readonly parts: Map<string, number>;
  readonly close: () => Promise<void>;
}

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Whether a request is signed with a secret: Signature Version 4, with the digest of its body. */
function isSigned(request: IncomingMessage, url: URL, body: Buffer, secret: string): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/;
  const [, day = '', region = '', names = '', signature = ''] = pattern.exec(request.headers.authorization ?? '') ?? [];
  const digest = String(request.headers['x-amz-content-sha256']);
  if (signature === '' || !names.split(';').includes('host') || digest !== sha256(body)) return false;
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&');
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [request.method, url.pathname, query, headers.join(''), names, digest].join('\n');
  const toSign = `AWS4-HMAC-SHA256\n${request.headers['x-amz-date']}\n${day}/${region}/s3/aws4_request\n${sha256(canonical)}`;
  const key = [region, 's3', 'aws4_request'].reduce((derived, part) => hmac(derived, part), hmac(`AWS4${secret}`, day));
  return timingSafeEqual(hmac(key, toSign), Buffer.from(signature, 'hex'));
}

/** Starts the storage. It knows one secret, and any bucket. */
export async function startObjectStand(secret: string): Promise<ObjectStand> {
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, number>();
  const uploads = new Map<string, Buffer[]>();
  const answer = (url: URL, method: string, body: Buffer, response: ServerResponse) => {
    const { pathname: path, searchParams: query } = url;
    const upload = query.get('uploadId');
    if (method === 'POST' && query.has('uploads')) {
      uploads.set(String(uploads.size + 1), []);
      return response.end(
        `<InitiateMultipartUploadResult><UploadId>${uploads.size}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    if (method === 'PUT' && upload !== null) {
      const given = uploads.get(upload);
      if (given !== undefined) given[Number(query.get('partNumber')) - 1] = body;
      return response.writeHead(200, { etag: `"${sha256(body)}"` }).end();
    }
    if (method === 'POST' && upload !== null) {
      const given = uploads.get(upload) ?? [];
      objects.set(path, Buffer.concat(given));
      parts.set(path, given.length);
      return response.end('<CompleteMultipartUploadResult><ETag>"all"</ETag></CompleteMultipartUploadResult>');
    }
    if (method === 'PUT') {
      objects.set(path, body);
      parts.set(path, 1);
      return response.writeHead(200, { etag: '"one"' }).end();
    }
    if (method === 'DELETE') {
      if (upload === null) objects.delete(path);
      return response.writeHead(204).end();
    }
    const found = objects.get(path);
    if (found === undefined) return response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    return response.writeHead(200, { 'content-length': found.length }).end(found);
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? '/', 'http://storage');
    if (isSigned(request, url, body, secret)) answer(url, request.method ?? '', body, response);
    else response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    parts,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
