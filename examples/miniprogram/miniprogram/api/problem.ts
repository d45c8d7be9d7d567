/** An answer of the server that is an error, or no answer: status 0. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    /** What went wrong, for a program. */
    readonly code: string,
    message: string,
    /** How many seconds to wait before the request is sent again; 0 if the server does not say. */
    readonly retryAfter = 0,
    /** With the code lesson_in_progress, the lesson that is still recording. */
    readonly lessonID = "",
    /** With the code invalid_fields, their names. */
    readonly fields: string[] = [],
  ) {
    super(message);
    this.name = "Problem";
  }

  /** Reports whether the server would refuse the same request again. A proxy, which has no code, may not. */
  get permanent(): boolean {
    return !/^http_|^upload_broken_off/.test(this.code) && [400, 404, 409, 413, 415, 422].includes(this.status);
  }
}

/** Returns the problem in an answer, which may come from a proxy and be in any form. */
export function problemOf(status: number, body: string): Problem {
  let fields: Record<string, unknown> = {};
  try {
    fields = Object(JSON.parse(body)) as Record<string, unknown>;
  } catch {
    // the status says enough
  }
  const text = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string) : "");
  const errors: unknown[] = Array.isArray(fields["errors"]) ? fields["errors"] : [];
  const names = errors.map((e) => String(Object(e).location).replace(/^\w+\.|\W.*/g, ""));
  const seconds = Number(fields["retry_after_seconds"]);
  const code = names.includes("profile_id") ? "student_deleted" : text("code") || "http_" + status;
  return new Problem(status, code, text("detail") || text("title") || "HTTP " + status,
    seconds > 0 ? seconds : 0, text("lesson_id"), names);
}
