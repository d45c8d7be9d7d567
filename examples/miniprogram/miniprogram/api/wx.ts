import type { Answer, Transport } from "./transport.js";

const timeout = 60_000; // ms

/** The transport of a mini program. */
export const wxTransport: Transport = {
  send: (request) => new Promise<Answer>((resolve, reject) => {
    wx.request({
      url: request.url,
      method: request.method,
      header: request.header,
      ...(request.body === undefined ? {} : { data: request.body }),
      dataType: "text", // anything but "json" leaves the answer as it is
      // A language model may be asked for two minutes, before the server writes a text without it.
      timeout: /\/(generate|report)$/.test(request.url) ? 3 * timeout : timeout,
      success: (answer) => resolve({
        status: answer.statusCode, body: String(answer.data), etag: etagOf(answer.header as Record<string, string>),
      }),
      fail: (failure) => reject(new Error(failure.errMsg)),
    });
  }),
  upload: (upload) => new Promise<Answer>((resolve, reject) => {
    wx.uploadFile({
      url: upload.url,
      header: upload.header,
      filePath: upload.path,
      name: "file",
      formData: upload.fields,
      timeout: 10 * timeout,
      success: (answer) => resolve({ status: answer.statusCode, body: answer.data, etag: "" }),
      fail: (failure) => reject(new Error(failure.errMsg)),
    });
  }),
};

/** Phones write the names of headers in different ways, and proxies weaken tags. */
function etagOf(headers: Record<string, string>): string {
  const name = Object.keys(headers).find((key) => key.toLowerCase() === "etag");
  return name ? String(headers[name]).replace("W/", "") : "";
}
