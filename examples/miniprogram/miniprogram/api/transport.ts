/** A request with a JSON body, or without a body. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  header: Record<string, string>;
  body?: string;
}

/** A form with a file in the part "file" and text in the other parts. */
export interface Upload {
  url: string;
  header: Record<string, string>;
  path: string;
  fields: Record<string, string>;
}

/** What the server answers. There are no other headers, because wx.uploadFile does not return any. */
export interface Answer {
  status: number;
  body: string;
  /** The version of what was read or saved, or "". */
  etag: string;
}

/** Sends requests. A promise is rejected if there is no answer. */
export interface Transport {
  send(request: Request): Promise<Answer>;
  upload(upload: Upload): Promise<Answer>;
}
