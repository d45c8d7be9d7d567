import { client, outbox, recorder, report } from "../../service.js";
import { texts } from "../../texts.js";

Page({
  data: {
    t: texts, session: "", lesson: "", recording: false, problem: "",
    seconds: 0, // recorded in this lesson
    waiting: 0, // recordings that the server does not have yet
    refused: [] as string[], // codes of those that it does not want
  },
  sequence: 0, // of the next segment

  async onLoad(query: Record<string, string | undefined>) {
    outbox.onChange((left, problem) => {
      this.setData({
        waiting: left.filter((r) => !r.refused).length,
        refused: left.filter((r) => r.refused).map((r) => r.refused),
        problem: problem ? problem.message : "",
      });
      if (problem && problem.status === 401) report(problem);
    });
    try {
      const session = await client.openSession(query["student"] ?? "");
      this.setData({ session: session.session_id });
    } catch (error) {
      report(error);
    }
  },

  onUnload() {
    if (this.data.recording) recorder.stop();
  },

  async record() {
    try {
      const { lesson_id: lesson } = await client.startLesson(this.data.session);
      if (lesson !== this.data.lesson) this.sequence = await next(lesson);
      this.setData({ lesson, problem: "" });
      recorder.start({
        segment: (temporary, durationMS) => {
          this.setData({ seconds: this.data.seconds + Math.round(durationMS / 1000) });
          outbox.add(lesson, this.sequence++, durationMS, temporary).catch(report);
        },
        state: (recording, problem) => this.setData({ recording, problem }),
      });
    } catch (error) {
      report(error);
    }
  },

  stop() {
    recorder.stop();
  },

  async finish() {
    try {
      await outbox.flush();
      await client.finishLesson(this.data.lesson);
      this.setData({ lesson: "", seconds: 0 });
      await wx.navigateTo({ url: `/pages/text/text?session=${this.data.session}` });
    } catch (error) {
      report(error);
    }
  },
});

/** Returns the first sequence that neither the server nor the outbox has. */
async function next(lesson: string): Promise<number> {
  const left = (await outbox.recordings()).filter((r) => r.lessonID === lesson);
  const taken = [...left, ...await client.segments(lesson)].map((s) => s.sequence);
  return Math.max(-1, ...taken) + 1;
}
