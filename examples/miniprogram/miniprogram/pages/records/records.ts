import { client, report } from "../../service.js";
import { texts } from "../../texts.js";

/** A record as the page shows one. */
interface Row { id: string; day: string; name: string; content: string }

Page({
  data: { t: texts, records: [] as Row[], text: "", opened: "", message: "", reading: true },
  cursor: "",
  names: {} as Record<string, string>,

  async onLoad() {
    try {
      for (const student of await client.students()) this.names[student.profile_id] = student.name;
    } catch (error) {
      report(error);
    }
    await this.read();
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value });
  },

  /** Reads the first page of what is searched for. */
  async read() {
    this.cursor = "";
    this.setData({ records: [] });
    await this.next();
  },

  async onReachBottom() {
    if (this.cursor && !this.data.reading) await this.next();
  },

  async next() {
    this.setData({ reading: true });
    try {
      const page = await client.records({ text: this.data.text, cursor: this.cursor });
      this.cursor = page.next_cursor ?? "";
      this.setData({ records: [...this.data.records, ...page.items.map((r) => ({
        id: r.record_id, day: r.feedback_date, name: this.names[r.profile_id] ?? "", content: r.content,
      }))] });
    } catch (error) {
      report(error);
    } finally {
      this.setData({ reading: false });
    }
  },

  /** Unfolds a record and reads what its guardian gets, or folds it. */
  async open(event: WechatMiniprogram.TouchEvent) {
    const id = event.currentTarget.dataset["id"];
    const opened = id === this.data.opened ? "" : id;
    this.setData({ opened, message: "" });
    if (!opened) return;
    try {
      const message = await client.message({ record: opened });
      if (this.data.opened === opened) this.setData({ message });
    } catch (error) {
      report(error);
    }
  },

  onShareAppMessage() {
    return { title: this.data.message, path: "/pages/signin/signin" };
  },

  async copy() {
    try {
      await wx.setClipboardData({ data: this.data.message }).catch(() => {
        throw new Error(texts.copyRefused);
      });
    } catch (error) {
      report(error);
    }
  },
});
