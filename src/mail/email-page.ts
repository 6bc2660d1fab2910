import { colorOf } from '../documents/document.ts';
import { Html, html } from '../kernel/html.ts';
import type { Language } from '../kernel/language.ts';
import { type Branding, pngOf, sidesOf } from '../organizations/branding.ts';

/** The parts of an email, formatted. */
export interface EmailParts {
  readonly heading: string;
  readonly paragraphs: readonly string[];
  readonly link: { readonly address: string; readonly label: string } | null;
  readonly closing: string;
  readonly seller: string;
}

/** An image that an email shows. Its content id is its name in the HTML. */
export interface EmailImage {
  readonly cid: string;
  readonly png: Buffer;
}

/** The look of an email. */
export interface EmailLook {
  readonly language: Language;
  readonly branding: Branding;
  /** `attached`: images are parts of the message. `inline`: they are data URIs, which a browser shows. */
  readonly images: 'attached' | 'inline';
}

// Many mail programs show no data URIs, and ask before they load an address. An attached image is shown at once.
const contentId = 'brand@tollkeeper';

/** The image at the head of an email, if the seller has one. */
export function attachedImages({ branding, images }: EmailLook): EmailImage[] {
  const image = branding.logo ?? branding.icon;
  return image === null || images === 'inline' ? [] : [{ cid: contentId, png: pngOf(image) }];
}

// Mail programs know few styles, and most of them only in attributes.
const font = "font-family:Inter,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
// Programs that know dark colours know classes too. A logo keeps its white paper.
const darkStyle = `@media (prefers-color-scheme: dark) {
  .back { background: #0f1319 !important; }
  .card { background: #1a202a !important; }
  .ink { color: #f2f4f7 !important; }
  .soft { color: #98a2b3 !important; }
  .paper { background: #ffffff !important; padding: 8px 12px !important; border-radius: 6px !important; }
}`;
const logoSides = { width: 220, height: 56 };
const iconSides = { width: 32, height: 32 };

/** The message as HTML for mail programs. */
export function emailPage(title: string, parts: EmailParts, look: EmailLook): Html {
  const { heading, paragraphs, link, closing, seller } = parts;
  const { language, branding } = look;
  const color = colorOf(look);
  const button =
    link &&
    html`<p style="margin:28px 0"><a href="${link.address}" style="background:${color};border-radius:6px;color:#ffffff;display:inline-block;font-weight:600;padding:12px 20px;text-decoration:none">${link.label}</a></p>`;
  return html`${new Html('<!doctype html>')}
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${title}</title><style>${new Html(darkStyle)}</style></head>
<body class="back" style="margin:0;padding:24px 12px;background:#f2f4f7;${font};font-size:16px;line-height:1.5;color:#101828">
<div style="display:none;max-height:0;overflow:hidden">${paragraphs.slice(1).join(' ')}</div>
<table role="presentation" class="back" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f4f7"><tr><td align="center">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border-radius:10px;border-top:6px solid ${color};overflow-wrap:anywhere"><tr><td style="padding:28px 32px 32px">
${head(seller, look)}
<h1 class="ink" style="margin:0 0 16px;font-size:22px;line-height:1.3;color:#101828"><bdi>${heading}</bdi></h1>
${paragraphs.map((paragraph) => html`<p class="ink" style="margin:0 0 16px;color:#101828">${linesOf(paragraph)}</p>`)}
${button}
<p class="soft" style="margin:24px 0 0;color:#667085;font-size:14px">${closing}</p>
</td></tr></table>
<p class="soft" style="max-width:560px;margin:20px auto 0;color:#667085;font-size:12px;text-align:center">${linesOf(branding.legalFooter ?? seller)}</p>
</td></tr></table>
</body>
</html>
`;
}

/** The logo; without one the icon, if any, with the name of the seller. */
function head(seller: string, { branding, images }: EmailLook): Html {
  const { logo, icon } = branding;
  const name = html`<span class="soft" style="font-weight:600;color:#667085;vertical-align:middle"><bdi>${seller}</bdi></span>`;
  const image = (png: string, most: typeof logoSides, alt: string) => {
    const sides = shownSides(sidesOf(pngOf(png)), most);
    const source = images === 'inline' ? png : `cid:${contentId}`;
    return html`<img src="${source}" alt="${alt}" width="${sides.width}" height="${sides.height}" style="border:0;vertical-align:middle">`;
  };
  // A program that shows no images shows the name in place of the logo.
  const sign =
    logo !== null
      ? html`<span class="paper" style="display:inline-block;font-weight:600">${image(logo, logoSides, seller)}</span>`
      : html`${icon !== null && html`${image(icon, iconSides, '')}&nbsp; `}${name}`;
  return html`<p style="margin:0 0 24px">${sign}</p>`;
}

/** The sides of an image that fits into others. */
function shownSides(image: typeof logoSides, most: typeof logoSides): { width: number; height: number } {
  const scale = Math.min(1, most.width / image.width, most.height / image.height);
  return { width: Math.max(1, Math.round(image.width * scale)), height: Math.max(1, Math.round(image.height * scale)) };
}

function linesOf(text: string): Html[] {
  return text.split(/\r?\n/).map((line, index) => (index === 0 ? html`${line}` : html`<br>${line}`));
}
