import type { Answer, Transport } from "../miniprogram/api/transport.js";

/** The transport of a browser. Files are Blobs. */
export const fetchTransport: Transport<Blob> = {
  send: async (request) => answer(await fetch(request.url, {
    method: request.method,
    headers: request.header,
    body: request.body ?? null,
  })),
  upload: async (upload) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(upload.fields)) form.append(name, value);
    form.append("file", upload.file);
    return answer(await fetch(upload.url, { method: "POST", headers: upload.header, body: form }));
  },
};

async function answer(response: Response): Promise<Answer> {
  return { status: response.status, body: await response.text(), etag: response.headers.get("ETag") ?? "" };
}
