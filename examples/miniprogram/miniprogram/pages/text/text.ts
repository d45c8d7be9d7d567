import type { AudioSegment, FeedbackSession } from "../../api/types.js";
import { Problem } from "../../api/problem.js";
import { client, outbox, play, report, silence } from "../../service.js";
import { texts } from "../../texts.js";

const pollMS = 3000;
const autosaveMS = 2000;

/** Lesson is what the page shows of a lesson. */
interface Lesson {
  lesson_id: string;
  number: number;
  parts: { id: string; text: string; audible: boolean }[];
  waiting: AudioSegment[];
  failed: AudioSegment[];
  doubtful: AudioSegment[];
}

Page({
  data: { t: texts, session: "", student: "", date: "", lessons: [] as Lesson[], text: "", saved: "", message: "" },
  timer: 0,
  saving: 0,
  visible: false,

  onLoad(query: Record<string, string | undefined>) {
    this.setData({ session: query["session"] ?? "" });
  },

  onShow() {
    this.visible = true;
    void this.refresh();
  },

  onHide() {
    this.visible = false;
    clearTimeout(this.timer);
    if (this.saving) void this.keep();
  },

  onUnload() {
    silence();
    this.visible = false;
    clearTimeout(this.timer);
    if (this.saving) void this.keep();
  },

  // The session is polled: its event stream would arrive cut inside characters, over HTTP/1 only.
  async refresh() {
    clearTimeout(this.timer);
    try {
      const session = await client.session(this.data.session);
      const lessons = await Promise.all(session.lessons.map(lessonOf));
      this.setData({
        student: session.profile_id, date: session.feedback_date, lessons,
        text: this.data.text || session.feedback_text,
      });
      if (this.visible && lessons.some((lesson) => lesson.waiting.length > 0)) {
        this.timer = setTimeout(() => void this.refresh(), pollMS);
      }
    } catch (error) {
      report(error);
    }
  },

  async listen(event: WechatMiniprogram.TouchEvent) {
    await play(event.currentTarget.dataset["id"]).catch(report);
  },

  async retry(event: WechatMiniprogram.TouchEvent) {
    try {
      await client.retrySegment(event.currentTarget.dataset["id"]);
      await this.refresh();
    } catch (error) {
      report(error);
    }
  },

  async generate() {
    try {
      const { text } = await client.generate(this.data.session);
      this.setData({ text: this.data.text ? this.data.text + "\n" + text : text });
    } catch (error) {
      report(error);
    }
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value, message: "" });
    clearTimeout(this.saving);
    this.saving = setTimeout(() => void this.keep(), autosaveMS);
  },

  /** Saves what was typed in the session, from which the pages go on later. */
  async keep() {
    clearTimeout(this.saving);
    this.saving = 0;
    const { session, date, text, saved } = this.data;
    if (saved) return;
    try {
      await client.saveSession(session, { feedback_text: text, feedback_date: date });
    } catch (error) {
      report(error);
    }
  },

  /** What a chat shows of the message. The text is the title: a chat takes nothing longer. */
  onShareAppMessage() {
    return { title: this.data.message || this.data.text, path: "/pages/signin/signin" };
  },

  /** Shows what the guardian gets, and copies it. */
  async copy() {
    const { session, date, text, saved } = this.data;
    try {
      if (!saved) await client.saveSession(session, { feedback_text: text, feedback_date: date });
      const message = await client.message(saved ? { record: saved } : { session });
      this.setData({ message });
      await wx.setClipboardData({ data: message }).catch(() => {
        throw new Error(texts.copyRefused);
      });
    } catch (error) {
      report(error);
    }
  },

  async save() {
    clearTimeout(this.saving);
    this.saving = 0;
    const { session, student, date, text } = this.data;
    try {
      const ours = this.data.lessons.map((lesson) => lesson.lesson_id);
      if ((await outbox.recordings()).some((r) => !r.refused && ours.includes(r.lessonID))) {
        throw new Error(texts.onPhone);
      }
      // The key is the session: it becomes one record, however often the button is tapped. Where
      // the answer to the last time was lost, the session has ended already.
      await client.saveSession(session, { feedback_text: text, feedback_date: date }).catch((error) => {
        if (!(error instanceof Problem && error.code === "session_completed")) throw error;
      });
      const record = await client.createRecord(
        { profile_id: student, feedback_session_id: session, feedback_date: date, content: text }, session);
      this.setData({ saved: record.record_id });
    } catch (error) {
      report(error);
    }
  },
});

async function lessonOf(lesson: FeedbackSession["lessons"][number]): Promise<Lesson> {
  const segments = lesson.truncated ? await client.segments(lesson.lesson_id) : lesson.segments;
  return {
    lesson_id: lesson.lesson_id,
    number: lesson.number,
    parts: segments.map((s) => ({ id: s.segment_id, text: s.edited_text ?? s.text, audible: !s.audio_deleted_at }))
      .filter((part) => part.text),
    waiting: segments.filter((s) => s.state === "queued" || s.state === "transcribing"),
    failed: segments.filter((s) => s.state === "failed"),
    doubtful: segments.filter((s) => s.text && s.warning),
  };
}
