import { z } from 'zod';
import { freeText } from '../kernel/json.ts';

// A photograph of this size as PNG. A request may hold both images.
const maxImageCharacters = 480_000;
// Larger images are no logos, and would take long to decode.
const maxImageSide = 2000;
const imagePrefix = 'data:image/png;base64,';
// A PNG begins with eight bytes of signature and the header chunk, whose length stands before its name.
const pngHead = 'iVBORw0KGgoAAAANSUhEUg';
const headerBytes = 24;

/** The contrast of text that the Web Content Accessibility Guidelines ask for. */
const leastContrast = 4.5;

const image = z.string().nullable();

/** The look of documents, emails and pages that buyers see. */
export const Branding = z
  .object({
    logo: image.meta({
      description:
        'The logo as a data URI of a PNG, at most 480 by 160 pixels. null: the name of the seller stands there.',
    }),
    icon: image.meta({ description: 'A square mark as a data URI of a PNG, at most 128 by 128 pixels.' }),
    primaryColor: z.string().nullable().meta({
      description: 'The colour of headings, lines and buttons, such as #1f3a5f. null: a dark grey.',
    }),
    legalFooter: z.string().nullable().meta({
      description:
        'The text at the end of each document, such as the register number, the directors and the bank account.',
    }),
  })
  .meta({ id: 'Branding', description: 'The look of documents, emails and pages that buyers see.' });
export type Branding = Readonly<z.infer<typeof Branding>>;

/** The kinds of images, with the sides that they are reduced to. */
export const imageSides = {
  logo: { width: 480, height: 160 },
  icon: { width: 128, height: 128 },
} as const;

const ImageInput = z
  .string()
  .max(maxImageCharacters)
  .refine(
    (text) => /^[A-Za-z0-9+/]+={0,2}$/.test(text.slice(imagePrefix.length)) && text.startsWith(imagePrefix + pngHead),
    `must be a PNG as a data URI, which begins with ${imagePrefix}`,
  )
  .refine((text) => {
    const { width, height } = sidesOf(pngOf(text));
    return width > 0 && height > 0 && width <= maxImageSide && height <= maxImageSide;
  }, `must be at most ${maxImageSide} by ${maxImageSide} pixels`)
  .meta({
    description: `A PNG as a data URI, at most ${maxImageSide} by ${maxImageSide} pixels. It is stored anew, reduced to the size of its use.`,
  });

const ColorInput = z
  .string()
  .max('#000000'.length)
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1f3a5f')
  .toLowerCase()
  .superRefine((color, context) => {
    // White text stands on it, and it stands on white paper.
    const contrast = /^#[0-9a-f]{6}$/.test(color) ? contrastWithWhite(color) : leastContrast;
    if (contrast >= leastContrast) return;
    const message = `must be darker: its contrast with white is ${contrast.toFixed(2)}, and text needs ${leastContrast}`;
    context.addIssue({ code: 'custom', message });
  });

/** A change of the branding. Absent fields keep their value; `null` removes one. */
export const BrandingChange = z.object({
  logo: ImageInput.nullish(),
  icon: ImageInput.nullish(),
  primaryColor: ColorInput.nullish(),
  legalFooter: freeText('description').trim().min(1).nullish(),
});
export type BrandingChange = z.output<typeof BrandingChange>;

/** The branding after a change. */
export function decideBranding(current: Branding, change: BrandingChange = {}): Branding {
  const chosen = (field: keyof Branding) => (change[field] === undefined ? current[field] : change[field]);
  return {
    logo: chosen('logo'),
    icon: chosen('icon'),
    primaryColor: chosen('primaryColor'),
    legalFooter: chosen('legalFooter'),
  };
}

/** The bytes of a PNG in a data URI. */
export function pngOf(text: string): Buffer {
  return Buffer.from(text.slice(imagePrefix.length), 'base64');
}

/** The data URI of a PNG. */
export function dataUri(png: Uint8Array): string {
  return imagePrefix + Buffer.from(png).toString('base64');
}

/** The sides of a PNG in pixels, as its header says. */
export function sidesOf(png: Uint8Array): { readonly width: number; readonly height: number } {
  if (png.length < headerBytes) return { width: 0, height: 0 };
  const header = new DataView(png.buffer, png.byteOffset, headerBytes);
  return { width: header.getUint32(16), height: header.getUint32(20) };
}

/** The contrast of a colour with white by WCAG 2: 21 for black, 1 for white. */
export function contrastWithWhite(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => linear(Number.parseInt(color.slice(at, at + 2), 16)));
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

/** The light of a channel from 0 to 255, as a share of all. */
function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
