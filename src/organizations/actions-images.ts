import { PNG } from 'pngjs';
import { imageSides } from './branding.ts';

/** Decodes a PNG, reduces it to its use, and encodes its pixels alone. Null if it is broken. Worker threads run it. */
export function encodeImage({ png, use }: { png: Uint8Array; use: keyof typeof imageSides }): Uint8Array | null {
  let decoded: PNG;
  try {
    decoded = PNG.sync.read(Buffer.from(png));
  } catch {
    return null;
  }
  const { width, height, data } = reduceToFit(decoded, imageSides[use]);
  const encoded = new PNG({ width, height });
  encoded.data = Buffer.from(data);
  return PNG.sync.write(encoded);
}

/** An image of four bytes a pixel: red, green, blue and opacity. */
interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/**
 * The image, reduced so that it fits the sides. Each new pixel is the mean of those that it covers, weighted by their
 * opacity. A smaller image stays as it is.
 */
export function reduceToFit(image: Pixels, sides: { readonly width: number; readonly height: number }): Pixels {
  const scale = Math.min(1, sides.width / image.width, sides.height / image.height);
  if (scale === 1) return image;
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const rows = [Math.floor((y * image.height) / height), Math.ceil(((y + 1) * image.height) / height)] as const;
    for (let x = 0; x < width; x++) {
      const columns = [Math.floor((x * image.width) / width), Math.ceil(((x + 1) * image.width) / width)] as const;
      data.set(meanOf(image, columns, rows), (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

type Span = readonly [from: number, to: number];

function meanOf({ width, data }: Pixels, [left, right]: Span, [top, bottom]: Span): number[] {
  const sums = [0, 0, 0];
  let opacity = 0;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const at = (y * width + x) * 4;
      const weight = data[at + 3] ?? 0;
      opacity += weight;
      for (const channel of [0, 1, 2]) sums[channel] = (sums[channel] ?? 0) + (data[at + channel] ?? 0) * weight;
    }
  }
  const count = (right - left) * (bottom - top);
  return [...sums.map((sum) => (opacity === 0 ? 0 : Math.round(sum / opacity))), Math.round(opacity / count)];
}
