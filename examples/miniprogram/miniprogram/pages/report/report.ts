import { today } from "../../api/client.js";
import {
  ask, client, copy, draftKey, idOf, keptStudents, namesOf, report, store, warningsOf,
} from "../../service.js";
import { texts } from "../../texts.js";

const quarter = 91; // days

// A text over the records of a term or of some days, which can be changed before it is sent.
Page({
  data: {
    t: texts, student: "", year: 0, term: "", from: "", to: "", busy: false,
    text: "", made: "", unsaid: [] as string[], warnings: [] as string[], refusedCopy: "",
  },

  onLoad(query: Record<string, string | undefined>) {
    const student = idOf(query["student"]);
    const { academic_year: year = 0, term = "" } = keptStudents().find((s) => s.profile_id === student) ?? {};
    const text = String(wx.getStorageSync(draftKey("report-" + student))); // what was rewritten
    this.setData({ student, year, term, from: today(quarter), to: today(), text });
    const name = namesOf(keptStudents())[student];
    void wx.setNavigationBarTitle({ title: [name, texts.report].filter(Boolean).join(" · ") });
  },

  pick(event: WechatMiniprogram.CustomEvent<{ value: string }>) {
    this.setData({ [event.currentTarget.dataset["day"]]: event.detail.value });
  },

  ofTerm() {
    const { year, term } = this.data;
    return this.make({ academic_year: year, ...(term ? { term } : {}) });
  },

  ofDays() {
    const { from, to } = this.data;
    return this.make({ from, to });
  },

  async make(range: Parameters<typeof client.report>[1]) {
    const draft = draftKey("report-" + this.data.student);
    if (wx.getStorageSync(draft) && !(await ask(texts.replaceReport, texts.no, texts.ok))) return;
    this.setData({ busy: true });
    try {
      const made = await client.report(this.data.student, range);
      const { text, records, sentences } = made;
      wx.removeStorageSync(draft);
      const unsaid = sentences.filter((s) => !s.supported).map((s) => s.text);
      this.setData({
        text, unsaid, warnings: warningsOf(made), refusedCopy: "",
        made: texts.reportMade.replace("{n}", String(records)),
      });
    } catch (error) {
      report(error);
    } finally {
      this.setData({ busy: false });
    }
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value });
    store(draftKey("report-" + this.data.student), event.detail.value); // on a full phone it stays in view
  },

  async copy() {
    this.setData({ refusedCopy: await copy(this.data.text) });
  },
});
