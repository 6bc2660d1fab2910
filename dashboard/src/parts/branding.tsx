import { Button, Fieldset, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { Branding, SettingsBrandingPreviewInput } from '../../../client/src/generated-entry.ts';
import { api, currentEnvironment } from '../api.ts';

type Change = SettingsBrandingPreviewInput['settings']['branding'];

// Photographs of telephones are smaller. The service keeps the sides only.
const maxFileBytes = 10 * 1024 * 1024;
const sides = { logo: { width: 480, height: 160 }, icon: { width: 128, height: 128 } } as const;
// The colour of documents whose seller has chosen none.
const plainColor = '#1f2937';
const isColor = (text: string | null): text is string => /^#[0-9a-f]{6}$/i.test(text ?? '');
const typingMs = 400;

interface BrandingFormProps {
  readonly branding: Branding;
  readonly change: Change;
  readonly onChange: (change: Change) => void;
}

/** The fields of the branding beside an invoice and an email that show them. */
export function BrandingForm({ branding, change, onChange }: BrandingFormProps) {
  const known = { ...branding, ...change };
  const set = (part: Change) => onChange({ ...change, ...part });
  return (
    <div className="branding-form">
      <Stack gap="sm">
        <Picture use="logo" title="Logo" value={known.logo} onChange={(logo) => set({ logo })} />
        <Picture use="icon" title="Icon" value={known.icon} onChange={(icon) => set({ icon })} />
        <TextInput
          label="Colour"
          description="Of headings, lines and buttons. White text must be readable on it"
          placeholder="Dark grey"
          leftSection={
            <input
              type="color"
              className="swatch"
              aria-label="Choose the colour"
              value={isColor(known.primaryColor) ? known.primaryColor : plainColor}
              onChange={(event) => set({ primaryColor: event.currentTarget.value })}
            />
          }
          value={known.primaryColor ?? ''}
          onChange={(event) => set({ primaryColor: event.currentTarget.value || null })}
        />
        <Textarea
          label="Legal text"
          description="At the end of each document and email, such as the register number and the bank account"
          autosize
          minRows={2}
          maxRows={6}
          value={known.legalFooter ?? ''}
          onChange={(event) => set({ legalFooter: event.currentTarget.value || null })}
        />
      </Stack>
      <Preview change={change} />
    </div>
  );
}

interface PictureProps {
  readonly use: keyof typeof sides;
  readonly title: string;
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
}

/** A picture of any format, which is reduced here to its use. */
function Picture({ use, title, value, onChange }: PictureProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const { width, height } = sides[use];
  const choose = async (file: File | null) => {
    if (file === null) return;
    try {
      onChange(await readPicture(file, sides[use]));
      setProblem(null);
    } catch {
      setProblem(`${file.name} is no picture, or is larger than 10 MB.`);
    }
  };
  return (
    <Fieldset variant="unstyled" legend={title}>
      <Text size="xs" c="dimmed" mb={6}>
        {`Reduced to ${width} × ${height} pixels`}
      </Text>
      {value !== null && (
        <div className="branding-pictures">
          <img src={value} alt={`The chosen ${use}`} />
        </div>
      )}
      <Group gap="xs">
        <Button component="label" variant="default" size="xs" className="file-button">
          {value === null ? `Choose ${use === 'icon' ? 'an icon' : 'a logo'}` : `Replace the ${use}`}
          <input
            type="file"
            className="visually-hidden"
            accept="image/png,image/jpeg,image/webp,image/svg+xml"
            onChange={(event) => choose(event.currentTarget.files?.[0] ?? null)}
          />
        </Button>
        {value !== null && (
          <Button variant="subtle" size="xs" onClick={() => onChange(null)}>
            {`Remove the ${use}`}
          </Button>
        )}
      </Group>
      {problem !== null && (
        <Text size="xs" c="red.8" role="alert" mt={4}>
          {problem}
        </Text>
      )}
    </Fieldset>
  );
}

/** The picture as a data URI of a PNG that fits the sides. Throws for a file that no browser can read. */
async function readPicture(file: File, most: { readonly width: number; readonly height: number }): Promise<string> {
  if (file.size > maxFileBytes) throw new Error('too large');
  const image = await createImageBitmap(file);
  const scale = Math.min(1, most.width / image.width, most.height / image.height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const pen = canvas.getContext('2d');
  if (pen === null) throw new Error('no canvas');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png');
}

/** An invoice and an email of an example with the change. While it is refused, those before it stay. */
function Preview({ change }: { readonly change: Change }) {
  const [shown, setShown] = useState<'document' | 'email'>('document');
  const [settled] = useDebouncedValue(JSON.stringify(change), typingMs);
  const { data } = useQuery({
    queryKey: [currentEnvironment(), 'branding-preview', settled],
    queryFn: ({ signal }) => api.settings.brandingPreview({ settings: { branding: JSON.parse(settled) } }, { signal }),
    retry: false,
    gcTime: 0,
  });
  const [last, setLast] = useState(data);
  if (data !== undefined && data !== last) setLast(data);
  return (
    <Stack gap="xs" role="region" aria-label="Preview">
      <Button.Group>
        {(['document', 'email'] as const).map((name) => (
          <Button
            key={name}
            size="xs"
            variant={shown === name ? 'light' : 'default'}
            aria-pressed={shown === name}
            onClick={() => setShown(name)}
          >
            {name === 'document' ? 'Invoice' : 'Email'}
          </Button>
        ))}
      </Button.Group>
      <div className="branding-preview">
        {last && (
          <Sheet
            title={shown === 'document' ? 'The invoice with this branding' : 'The email with this branding'}
            html={shown === 'document' ? last.preview.documentHtml : last.preview.emailHtml}
          />
        )}
      </div>
    </Stack>
  );
}

/** A page of the service in a frame. It runs nothing, and the policy of this page allows its styles only by script. */
function Sheet({ title, html }: { readonly title: string; readonly html: string }) {
  const fill = useCallback(
    (frame: HTMLIFrameElement | null) => {
      const within = frame?.contentDocument;
      const view = frame?.contentWindow as (Window & typeof globalThis) | null | undefined;
      if (!within || !view) return;
      const sheet = new view.CSSStyleSheet();
      sheet.replaceSync([...html.matchAll(/<style>(.*?)<\/style>/gs)].map(([, text]) => text).join(''));
      // A quotation mark in a text is escaped, so these are attributes.
      const unstyled = html.replaceAll(/<style>.*?<\/style>/gs, '').replaceAll(' style="', ' data-style="');
      const parsed = new DOMParser().parseFromString(unstyled, 'text/html');
      within.documentElement.replaceChild(within.adoptNode(parsed.body), within.body);
      within.documentElement.lang = parsed.documentElement.lang;
      for (const element of within.querySelectorAll<HTMLElement>('[data-style]'))
        element.style.cssText = element.dataset.style ?? '';
      within.adoptedStyleSheets = [sheet];
    },
    [html],
  );
  return <iframe ref={fill} title={title} sandbox="allow-same-origin" tabIndex={-1} />;
}
