// A teacher's first lesson, by the generated client: what the compiler accepts is what the server
// answers.
import { readFileSync } from "node:fs";
import {
  createProfile, createRecord, finishLesson, getSession, listProfiles, me, openSession, startLesson, uploadSegment,
} from "./client";
import { client } from "./client/client.gen";

function env(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(name + " is not set");
  return value;
}

function equal<T>(got: T, want: T) {
  if (got !== want) throw new Error(`got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

async function main() {
  client.setConfig({
    baseUrl: env("BASE_URL"),
    auth: ({ type, in: place }) => (type === "apiKey" && place !== "cookie" ? "typescript" : undefined),
  });
  const throwOnError = true;
  equal((await me({ throwOnError })).data.method, "development");
  const profile = (await createProfile({ throwOnError, body: { name: "Ming", start_time: "09:00" } })).data;
  equal(profile.name, "Ming");
  const page = (await listProfiles({ throwOnError, query: { query: "ming", limit: 1 } })).data;
  equal(page.items[0]?.profile_id, profile.profile_id);
  equal(page.next_cursor, null);

  const refused = await createProfile({ body: { name: "" } });
  equal(refused.response?.status, 422);
  equal(refused.error?.code, "invalid_fields");
  equal(refused.error?.errors?.[0]?.location, "body.name");

  const opened = (await openSession({ throwOnError, body: { profile_id: profile.profile_id } })).data;
  const path = { session_id: opened.session_id };
  const lesson = (await startLesson({ throwOnError, path })).data;
  const file = new Blob([readFileSync(env("RECORDING"))], { type: "audio/mpeg" });
  const lessonPath = { lesson_id: lesson.lesson_id };
  const segment = (await uploadSegment({ throwOnError, path: lessonPath, body: { file, sequence: 3 } })).data;
  equal(segment.sequence, 3);
  const state: "queued" | "transcribing" | "transcribed" | "failed" = segment.state;
  equal(state, "queued");
  equal((await finishLesson({ throwOnError, path: lessonPath })).data.summary?.queued, 1);
  equal((await getSession({ throwOnError, path })).data.lessons[0]?.segments[0]?.segment_id, segment.segment_id);

  const record = (await createRecord({
    throwOnError,
    body: {
      profile_id: profile.profile_id, feedback_session_id: opened.session_id, feedback_date: opened.feedback_date,
      content: "Ming mixed her own greens today.",
    },
  })).data;
  equal(record.feedback_session_id, opened.session_id);
  console.log("saved", record.record_id);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
