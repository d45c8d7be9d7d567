import type { Problem } from "../../api/problem.js";
import type { ProfileFields } from "../../api/types.js";
import { client, draftKey, idOf, keptStudents, readStudents, report, store } from "../../service.js";
import { texts } from "../../texts.js";

const none = {
  name: "", guardian_title: "", grade: "", subject: "", academic_year: "", term: "", start_time: "", end_time: "",
};
const names = Object.keys(none) as (keyof typeof none)[];

/** What the phone keeps of a form until it is saved. */
interface Form {
  changed: Partial<typeof none>;
  key: string; // names the request that adds the student
  sent?: ProfileFields | undefined; // by it, perhaps: the answer was lost
}

// The form of a student: a new one, or the one in the address.
Page({
  data: {
    t: texts, fields: names.slice(0, 6), times: names.slice(6), id: "", p: none, kept: false, ready: false,
    busy: false,
  },
  form: undefined as unknown as Form,
  isLeft: false,

  async onLoad(query: Record<string, string | undefined>) {
    const id = idOf(query["student"]);
    void wx.setNavigationBarTitle({ title: id ? texts.student : texts.addStudent });
    this.setData({ id });
    const kept: Form | "" = wx.getStorageSync(draftKey("edit-" + id));
    this.form = kept || { changed: {}, key: `${Date.now()}-${Math.random()}` };
    try {
      this.setData({ p: { ...(await this.read()), ...this.form.changed }, kept: !!kept, ready: true });
    } catch (error) {
      report(error);
    }
  },

  /** Returns the student as the server has them now. */
  async read() {
    const p = { ...none };
    const known = this.data.id ? await client.student(this.data.id) : none;
    for (const name of names) p[name] = String(known[name]);
    return p;
  },

  keep(change: Partial<Form>) {
    Object.assign(this.form, change);
    store(draftKey("edit-" + this.data.id), this.form); // on a full phone it stays in view
  },

  /** Takes what was typed or picked; a tap that has no value empties a field. */
  change(event: WechatMiniprogram.CustomEvent<{ value?: string }>) {
    const { name } = event.currentTarget.dataset;
    const changed = { ...this.form.changed, [name]: event.detail.value ?? "" };
    const p = { ...this.data.p, ...changed };
    // An end that is too early now takes the usual duration.
    if (name === "start_time" && (!p.start_time || p.end_time <= p.start_time)) p.end_time = changed.end_time = "";
    this.setData({ p });
    this.keep({ changed });
  },

  /** Gives up what was typed. */
  discard() {
    wx.removeStorageSync(draftKey("edit-" + this.data.id));
    return this.onLoad({ student: this.data.id });
  },

  onUnload() {
    this.isLeft = true;
  },

  async save() {
    if (this.data.busy) return; // it was tapped twice
    this.setData({ busy: true });
    try {
      const { id } = this.data;
      // What another device has changed meanwhile stays.
      const p = { ...(await this.read()), ...this.form.changed };
      const fields: ProfileFields = { name: p.name };
      for (const name of names) { // those that are left empty take the teacher's defaults
        if (p[name].trim()) Object.assign(fields, { [name]: name === "academic_year" ? Number(p[name]) : p[name] });
      }
      await (id ? client.replaceStudent(id, fields) : this.add(fields));
      wx.removeStorageSync(draftKey("edit-" + id));
      await readStudents().catch(keptStudents); // the other pages show those of the phone
      if (!this.isLeft) await wx.navigateBack(); // else another page would be closed
    } catch (error) {
      this.setData({ busy: false });
      report(error);
    }
  },

  /** Adds the student once, also if the answer was lost and something was changed after that. */
  async add(fields: ProfileFields) {
    const { key, sent = fields } = this.form;
    this.keep({ sent });
    const { profile_id } = await client.createStudent(sent, key).catch((error: Problem) => {
      if (error.permanent) this.keep({ sent: undefined });
      throw error;
    });
    if (JSON.stringify(sent) !== JSON.stringify(fields)) await client.replaceStudent(profile_id, fields);
  },
});
