import { z } from 'zod';
import type { Work } from '../database/work.ts';
import { documentHtml, documentPdf } from '../documents/actions.ts';
import type { PrintedDocument } from '../documents/document.ts';
import { type Route, route } from '../http/route.ts';
import { type Encryption, encryptionOf } from '../jobs/encryption.ts';
import type { GroupPermission } from '../kernel/permission.ts';
import type { ProblemName } from '../kernel/problem.ts';

const printed = z.custom<PrintedDocument>();

interface PrintedRecord {
  /** `/invoices`. */
  readonly path: `/${string}`;
  /** The document of the record, where that is not its own: `/receipt`. */
  readonly part?: `/${string}`;
  readonly needs: GroupPermission;
  readonly tag: string;
  /** With its article: `an invoice`. */
  readonly named: string;
  /** `the invoice`. */
  readonly whole: string;
  readonly id: z.ZodType<string>;
  readonly refuses: readonly ProblemName[];
  readonly print: (
    work: Work,
    id: string,
    services: { readonly encryption: Encryption; readonly publicUrl: string },
  ) => Promise<PrintedDocument>;
}

const forms = [
  {
    ending: 'html',
    summary: 'as a page',
    description: 'as a page of HTML for printing',
    file: { contentType: 'text/html; charset=utf-8', render: documentHtml },
  },
  {
    ending: 'pdf',
    summary: 'as PDF',
    description: 'as a PDF document',
    file: { contentType: 'application/pdf', render: documentPdf },
  },
] as const;

/** The page and the PDF of a record. */
export function documentRoutes(record: PrintedRecord): Route[] {
  const { path, part = '', needs, tag, named, whole, id, refuses, print } = record;
  return forms.map(({ ending, summary, description, file }) =>
    route({
      method: 'GET',
      path: `${path}/{id}${part}/${ending}`,
      cell: 'id',
      needs,
      summary: `Get ${named} ${summary}`,
      description: `Returns ${whole} ${description}.`,
      tag,
      params: z.object({ id }),
      returns: printed,
      refuses,
      handle: (work, { params }, { services }) =>
        print(work, params.id, { encryption: encryptionOf(services), publicUrl: work.publicUrl }),
      file,
    }),
  );
}
