/** Writes an image as PNG: the few coloured dots of a scene, which a saved picture carries in itself. */

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
/** 8 bits a channel, red, green, blue and opacity; deflate, filters of each row, no interlacing. */
const KIND = [8, 6, 0, 0, 0];

/** The file of `columns` × `rows` dots, four bytes each: red, green, blue, opacity. */
export async function pngOf(
  columns: number,
  rows: number,
  pixels: Uint8ClampedArray,
): Promise<Uint8Array<ArrayBuffer>> {
  const lines = new Uint8Array(rows * (columns * 4 + 1));
  for (let row = 0; row < rows; row++) {
    // The byte before each row names its filter: 0 = none.
    lines.set(pixels.subarray(row * columns * 4, (row + 1) * columns * 4), row * (columns * 4 + 1) + 1);
  }
  const head = new Uint8Array(13);
  const sizes = new DataView(head.buffer);
  sizes.setUint32(0, columns);
  sizes.setUint32(4, rows);
  head.set(KIND, 8);
  const parts = [
    new Uint8Array(SIGNATURE),
    chunk("IHDR", head),
    chunk("IDAT", await deflated(lines)),
    chunk("IEND", new Uint8Array()),
  ];
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** What `deflate` calls the format of zlib, which PNG uses. */
async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function chunk(kind: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const found = new Uint8Array(data.length + 12);
  const view = new DataView(found.buffer);
  view.setUint32(0, data.length);
  for (let place = 0; place < 4; place++) found[4 + place] = kind.charCodeAt(place);
  found.set(data, 8);
  view.setUint32(8 + data.length, checksum(found.subarray(4, 8 + data.length)));
  return found;
}

/** CRC-32 as PNG asks for it. */
function checksum(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}
