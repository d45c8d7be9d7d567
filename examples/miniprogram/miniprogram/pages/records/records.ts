import type { FeedbackRecord } from "../../api/types.js";
import { leaving } from "../../draft.js";
import {
  client, copy, deleteRecord, draftKey, explain, go, idOf, isDeleting, isOffline, keptStudents, namesOf, readStudents,
  removedRecords, report, store,
} from "../../service.js";
import { texts } from "../../texts.js";

/** A record as the page shows one. */
interface Row { id: string; day: string; name: string; content: string; unsaved: boolean }

const undoMS = 10_000;

Page({
  data: {
    t: texts, records: [] as Row[], text: "", opened: "", message: "", refusedCopy: "", reading: true,
    failed: "", // why they cannot be read
    removed: {} as Record<string, "soon" | "now">, // when a record is deleted, unless it is brought back
  },
  cursor: "",
  turn: 0,
  timers: {} as Record<string, number>,
  names: {} as Record<string, string>,
  student: "", // whose records they are, or "" for those of all

  async onLoad(query: Record<string, string | undefined>) {
    this.student = idOf(query["student"]);
    const name = namesOf(keptStudents())[this.student];
    void wx.setNavigationBarTitle({ title: [name, texts.records].filter(Boolean).join(" · ") });
    for (const id of removedRecords()) this.takeOut(id);
    this.names = namesOf(await readStudents().catch(keptStudents));
    await this.read();
  },

  /** Reads the record anew that was unfolded: it may have been edited. */
  async onShow() {
    const { opened } = this.data;
    this.setData({ records: this.data.records.map((r) => ({ ...r, unsaved: isUnsaved(r.id) })) });
    if (!opened) return;
    await leaving; // it may be being saved
    try {
      const changed = this.rowOf(await client.record(opened));
      const message = await client.message({ record: opened });
      this.setData({
        records: this.data.records.map((r) => (r.id === opened ? changed : r)),
        ...(this.data.opened === opened ? { message } : {}),
      });
    } catch (error) {
      report(error);
    }
  },

  onUnload() {
    void this.settle();
  },

  remove() {
    const { opened } = this.data;
    this.setData({ opened: "" });
    if (opened) this.takeOut(opened); // else it was tapped twice
  },

  /** Takes a record out of the list, and deletes it when it can no longer be brought back. */
  takeOut(id: string) {
    store(draftKey("removed-" + id), true); // the program may end before
    this.setData({ removed: { ...this.data.removed, [id]: "soon" } });
    if (isDeleting(id)) void this.deleteNow(id);
    else this.timers[id] = setTimeout(() => void this.deleteNow(id), undoMS);
  },

  undo(event: WechatMiniprogram.TouchEvent) {
    const id = event.currentTarget.dataset["id"];
    if (this.data.removed[id] === "soon") this.bringBack(id);
  },

  bringBack(id: string) {
    clearTimeout(this.timers[id] ?? 0);
    wx.removeStorageSync(draftKey("removed-" + id));
    const { [id]: _, ...removed } = this.data.removed;
    this.setData({ removed });
  },

  async deleteNow(id: string) {
    const { removed } = this.data;
    if (removed[id] !== "soon") return;
    this.setData({ removed: { ...removed, [id]: "now" } });
    const gone = () => this.setData({ records: this.data.records.filter((r) => r.id !== id) });
    await deleteRecord(id).then(gone, report);
    this.bringBack(id);
  },

  /** Deletes now what was taken out. */
  settle() {
    return Promise.all(Object.keys(this.data.removed).map((id) => this.deleteNow(id)));
  },

  rowOf({ record_id: id, feedback_date: day, profile_id, content }: FeedbackRecord): Row {
    return { id, day, name: this.names[profile_id] ?? "", content, unsaved: isUnsaved(id) };
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value });
  },

  /** Reads the first page of what is searched for. What can be brought back stays. */
  async read() {
    this.cursor = "";
    this.setData({ records: this.data.records.filter((r) => this.data.removed[r.id]) });
    await this.next();
  },

  async onReachBottom() {
    if (this.cursor && !this.data.reading) await this.next();
  },

  async next() {
    const turn = ++this.turn;
    this.setData({ reading: true, failed: "" });
    try {
      const page = await client.records({ student: this.student, text: this.data.text, cursor: this.cursor });
      if (turn !== this.turn) return; // something else is searched for by now
      this.cursor = page.next_cursor ?? "";
      const { records } = this.data;
      const more = page.items.filter((r) => !records.some(({ id }) => id === r.record_id));
      this.setData({ records: [...records, ...more.map((r) => this.rowOf(r))] });
    } catch (error) {
      if (turn !== this.turn) return;
      this.setData({ failed: explain(error) });
      if (!isOffline(error)) report(error);
    } finally {
      if (turn === this.turn) this.setData({ reading: false });
    }
  },

  /** Unfolds a record and reads what its guardian gets, or folds it. */
  async open(event: WechatMiniprogram.TouchEvent) {
    const id = event.currentTarget.dataset["id"];
    const opened = id === this.data.opened ? "" : id;
    this.setData({ opened, message: "", refusedCopy: "" });
    if (!opened) return;
    await client.message({ record: opened }).then((message) => {
      if (this.data.opened === opened) this.setData({ message });
    }, report);
  },

  edit() {
    go("edit/edit?record=" + this.data.opened);
  },

  /** Reports whether the unfolded record was edited and is not saved, and says so. */
  async hasUnsaved(): Promise<boolean> {
    const row = () => this.data.records.find((r) => r.id === this.data.opened);
    if (row()?.unsaved) await this.onShow(); // it may be saved by now
    const unsaved = !!row()?.unsaved;
    if (unsaved) report(new Error(texts.unsaved));
    return unsaved;
  },

  async copy() {
    const { opened } = this.data;
    if (await this.hasUnsaved() || this.data.opened !== opened) return;
    this.setData({ refusedCopy: await copy(this.data.message) });
  },

  /** Copies the record with what was said in its lessons. */
  async copyAll() {
    const { opened } = this.data;
    if (await this.hasUnsaved() || this.data.opened !== opened) return;
    await client.recordText(opened).then(async (text) => this.setData({ refusedCopy: await copy(text) }), report);
  },
});

/** Reports whether the phone has a text of a record that the server does not have. */
const isUnsaved = (id: string): boolean => !!wx.getStorageSync(draftKey(id));
