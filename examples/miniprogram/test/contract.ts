import { Client } from "../miniprogram/api/client.js";
import { Problem } from "../miniprogram/api/problem.js";
import type { Transport } from "../miniprogram/api/transport.js";

/** What the contract is tested with: login codes that are valid, and the paths of two different recordings. */
export interface Fixture {
  server: string;
  code: string;
  recordings: [string, string];
}

/** Tests that a transport carries what the service promises. */
export async function contract(transport: Transport, fixture: Fixture): Promise<void> {
  let token = "";
  const tokens = { get: () => token, set: (value: string) => { token = value; } };
  const client = new Client(fixture.server, transport, tokens);

  equal((await refusal(client.sessions())).code, "token_missing");
  const login = await client.signIn(fixture.code);
  equal(token, login.token);
  equal((await refusal(client.signIn(fixture.code))).code, "login_code_invalid"); // it was used
  equal((await client.sessions()).map((s) => s.current), [true]);

  const invalid = await refusal(client.createStudent({ name: "" }, "none"));
  equal([invalid.status, invalid.code, invalid.permanent], [422, "invalid_fields", true]);
  const student = await client.createStudent({ name: "小明 & Ming", start_time: "09:00" }, "student");
  equal(student.name, "小明 & Ming");
  equal((await client.students("明 &")).map((s) => s.profile_id), [student.profile_id]);

  equal(await client.activeSession(student.profile_id), undefined);
  const session = await client.openSession(student.profile_id);
  equal((await client.activeSession(student.profile_id))?.etag, session.etag);
  equal((await client.openSession(student.profile_id)).session_id, session.session_id);
  const lesson = await client.startLesson(session.session_id);
  equal((await client.startLesson(session.session_id)).lesson_id, lesson.lesson_id); // it is recording

  const [first, second] = fixture.recordings;
  const segment = await client.upload(lesson.lesson_id, first, 0, 5000);
  equal(segment.sequence, 0);
  equal((await client.upload(lesson.lesson_id, first, 0, 5000)).segment_id, segment.segment_id);
  const taken = await refusal(client.upload(lesson.lesson_id, second, 0, 5000));
  equal([taken.status, taken.code, taken.permanent], [409, "sequence_taken", true]);
  await client.upload(lesson.lesson_id, second, 1, 5000);
  equal((await client.segments(lesson.lesson_id)).map((s) => s.sequence), [0, 1]);
  const { segment_id: id, etag: read } = await client.segment(segment.segment_id);
  const corrected = await client.correctSegment(id, "<b>👩‍👩‍👧</b>\n", read);
  equal(corrected.edited_text, "<b>👩‍👩‍👧</b>\n");
  const stale = await refusal(client.correctSegment(id, "other", '"-1"'));
  equal([stale.status, stale.code], [412, "stale_version"]);
  const gone = await refusal(client.upload(session.session_id, first, 0, 0));
  equal([gone.status, gone.code], [404, "not_found"]);
  equal((await client.finishLesson(lesson.lesson_id)).summary.total, 2);

  const fields = {
    profile_id: student.profile_id, feedback_session_id: session.session_id, feedback_date: session.feedback_date,
    content: "She mixed her own greens today.",
  };
  await client.saveSession(session.session_id, { feedback_text: fields.content });
  const record = await client.createRecord(fields, session.session_id);
  equal((await client.createRecord(fields, session.session_id)).record_id, record.record_id);
  equal((await client.session(session.session_id)).state, "completed");

  const { etag } = await client.record(record.record_id);
  const edit = { content: "She mixed greens.", feedback_date: "2026-02-28" };
  const edited = await client.editRecord(record.record_id, edit, etag);
  equal([edited.content, edited.feedback_date], ["She mixed greens.", "2026-02-28"]);
  equal((await refusal(client.editRecord(record.record_id, edit, etag))).code, "stale_version");
  equal((await client.recordText(record.record_id)).includes("She mixed greens."), true);
  equal((await client.report(student.profile_id, { from: "2026-02-01", to: "2026-02-28" })).records, 1);

  const nobody = new Client("http://127.0.0.1:1", transport, tokens);
  equal((await refusal(nobody.sessions())).status, 0);
  equal((await limited(client)).retryAfter > 0, true); // though the transport returns no headers
}

/** Signs in with wrong codes until the server wants to be left alone. */
async function limited(client: Client): Promise<Problem> {
  for (let i = 0; i < 100; i++) {
    const problem = await refusal(client.signIn("wrong"));
    if (problem.status === 429) return problem;
  }
  throw new Error("sign-ins are not limited");
}

async function refusal(call: Promise<unknown>): Promise<Problem> {
  const result = await call.catch((error: unknown) => error);
  if (result instanceof Problem) return result;
  throw new Error("want a problem, got " + JSON.stringify(result) + String(result));
}

function equal(got: unknown, want: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}
