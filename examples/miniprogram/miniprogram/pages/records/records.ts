import type { FeedbackRecord } from "../../api/types.js";
import { Problem } from "../../api/problem.js";
import { client, copy, keptStudents, readStudents, report } from "../../service.js";
import { texts } from "../../texts.js";

/** A record as the page shows one. */
interface Row { id: string; day: string; name: string; content: string }

const undoMS = 10_000;

Page({
  data: {
    t: texts, records: [] as Row[], text: "", opened: "", message: "", refusedCopy: "", reading: true,
    removed: "", // the record that is deleted soon, unless it is brought back
    deleting: false, // now
  },
  cursor: "",
  timer: 0,
  settled: Promise.resolve(),
  names: {} as Record<string, string>,

  async onLoad() {
    void wx.setNavigationBarTitle({ title: texts.records });
    for (const { profile_id, name } of await readStudents().catch(keptStudents)) this.names[profile_id] = name;
    await this.read();
  },

  /** Reads the record anew that was unfolded: it may have been edited. */
  async onShow() {
    const { opened, records } = this.data;
    if (!opened) return;
    try {
      const changed = this.rowOf(await client.record(opened));
      const message = await client.message({ record: opened });
      this.setData({ records: records.map((r) => (r.id === opened ? changed : r)), message });
    } catch (error) {
      report(error);
    }
  },

  onHide() { void this.settle(); },

  onUnload() { void this.settle(); },

  /** Takes the record out of the list that is unfolded, and deletes it when it can no longer be brought back. */
  async remove() {
    const { opened } = this.data;
    if (!opened) return; // it was tapped twice
    this.setData({ opened: "" });
    await this.settle();
    this.setData({ removed: opened });
    this.timer = setTimeout(() => void this.settle(), undoMS);
  },

  undo() {
    if (this.data.deleting) return;
    clearTimeout(this.timer);
    this.setData({ removed: "" });
  },

  /** Deletes now what was taken out. */
  settle(): Promise<void> {
    clearTimeout(this.timer);
    this.settled = this.settled.then(async () => {
      const { removed } = this.data;
      if (!removed) return;
      this.setData({ deleting: true });
      const error = await client.deleteRecord(removed).catch((e: unknown) => e);
      const isGone = !error || (error instanceof Problem && error.code === "not_found"); // the answer was lost
      if (!isGone) report(error);
      const { records } = this.data;
      this.setData({
        removed: "", deleting: false, records: isGone ? records.filter((r) => r.id !== removed) : records,
      });
    });
    return this.settled;
  },

  rowOf({ record_id: id, feedback_date: day, profile_id, content }: FeedbackRecord): Row {
    return { id, day, name: this.names[profile_id] ?? "", content };
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value });
  },

  /** Reads the first page of what is searched for. */
  async read() {
    await this.settle();
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
      this.setData({ records: [...this.data.records, ...page.items.map((r) => this.rowOf(r))] });
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
    this.setData({ opened, message: "", refusedCopy: "" });
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

  edit() {
    void wx.navigateTo({ url: "/pages/edit/edit?record=" + this.data.opened });
  },

  async copy() {
    this.setData({ refusedCopy: await copy(this.data.message) });
  },

  /** Copies the record with what was said in its lessons. */
  async copyAll() {
    try {
      this.setData({ refusedCopy: await copy(await client.recordText(this.data.opened)) });
    } catch (error) {
      report(error);
    }
  },
});
