import { z } from 'zod';
import { route } from '../http/route.ts';
import { Language } from '../kernel/language.ts';
import { previewEmail } from '../mail/actions.ts';
import { EmailTemplateName } from '../organizations/mail-setting.ts';

const EmailPreview = z
  .object({ subject: z.string(), text: z.string(), html: z.string() })
  .meta({ id: 'EmailPreview', description: 'An email as it is written now, with values of an example.' });

export const emailTemplateRoutes = [
  route({
    method: 'GET',
    path: '/email-templates/{name}/preview',
    cell: 'home',
    needs: 'emails:read',
    summary: 'Preview an email',
    description: 'Returns an email as customers would get it now, with values of an example.',
    tag: 'Emails',
    params: z.object({ name: EmailTemplateName }),
    query: z.object({ language: Language.optional() }),
    returns: z.object({ preview: EmailPreview }),
    refuses: [],
    handle: async (work, { params: { name }, query: { language = 'en' } }) => ({
      preview: await previewEmail(work, name, { language }),
    }),
  }),
];
