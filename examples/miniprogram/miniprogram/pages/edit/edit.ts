import type { FeedbackRecord, SegmentWithSentences } from "../../api/types.js";
import { Draft, type Source } from "../../draft.js";
import { onHeard, play, silence } from "../../player.js";
import { client, draftKey, idOf, report, store } from "../../service.js";
import { languages, texts } from "../../texts.js";

// Edits the text of a segment or of a record.

Page({
  data: {
    t: texts, segment: "", record: "", day: "", text: "", state: "", other: "", playing: "", ready: false,
    audible: false, corrected: false, busy: false,
  },
  isLeft: false,
  first: "", // the text of a record as it was
  theirs: "", // the day of a record as the server has it
  draft: undefined as unknown as Draft,

  async onLoad(query: Record<string, string | undefined>) {
    const [segment, record] = [idOf(query["segment"]), idOf(query["record"])];
    const isTyped = !!wx.getStorageSync(draftKey(segment || record)); // and not saved, as is the date
    this.setData({ segment, record, day: isTyped ? String(wx.getStorageSync(draftKey("day-" + record))) : "" });
    void wx.setNavigationBarTitle({ title: segment ? texts.said : texts.oneRecord });
    const source: Source = segment ? {
      read: async () => this.takeSegment(await client.segment(segment)),
      write: async (text, etag) => this.takeSegment(await client.correctSegment(segment, text, etag)),
    } : {
      read: async () => this.takeRecord(await client.record(record)),
      write: async (text, etag) => {
        if (!this.data.day) this.takeRecord(await client.record(record)); // it was opened without a network
        const { day } = this.data;
        const saved = await client.editRecord(record, { content: text, feedback_date: day }, etag);
        if (day === this.data.day) wx.removeStorageSync(draftKey("day-" + record));
        return this.takeRecord(saved);
      },
    };
    this.draft = new Draft(segment || record, source, (state, other) => this.setData({ state, other }));
    try {
      const version = await source.read();
      this.first = version.text;
      this.setData({ text: this.draft.open(version), ready: true });
    } catch (error) {
      report(error);
      if (isTyped) this.setData({ text: this.draft.open({ text: "", etag: "" }), ready: true });
    }
  },

  takeSegment(s: SegmentWithSentences & { etag: string }) {
    this.setData({ audible: !s.audio_deleted_at, corrected: s.edited_text !== null });
    return { text: s.edited_text ?? s.text, etag: s.etag };
  },

  takeRecord(r: FeedbackRecord & { etag: string }) {
    this.theirs = r.feedback_date;
    if (!this.data.day) this.setData({ day: r.feedback_date });
    return { text: r.content, etag: r.etag };
  },

  onShow() {
    onHeard(({ playing }) => this.setData({ playing }));
  },

  onHide() {
    silence();
    void this.draft.save();
  },

  onUnload() {
    this.isLeft = true;
    silence();
    this.draft.close();
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value });
    this.draft.type(event.detail.value);
  },

  keepMine() {
    this.draft.choose(true);
  },

  takeOther() {
    wx.removeStorageSync(draftKey("day-" + this.data.record));
    this.setData({ text: this.draft.choose(false), day: this.theirs });
  },

  pickDay(event: WechatMiniprogram.CustomEvent<{ value: string }>) {
    this.setData({ day: event.detail.value });
    this.draft.type(this.data.text);
    store(draftKey("day-" + this.data.record), event.detail.value); // on a full phone it stays in view
  },

  async listen() {
    if (this.data.playing) silence();
    else await play(this.data.segment);
  },

  /** Goes back to what was recognised, or to the record as it was. */
  async restore() {
    try {
      const { segment } = this.data;
      if (!segment) {
        this.first ||= (await client.record(this.data.record)).content; // it was opened without a network
        this.setData({ text: this.first });
        return this.draft.type(this.first);
      }
      if (!(await this.draft.save())) return report(new Error(this.data.state));
      const { etag } = await client.segment(segment);
      const now = this.takeSegment(await client.correctSegment(segment, null, etag));
      this.setData({ text: this.draft.open(now) });
    } catch (error) {
      report(error);
    }
  },

  again(event: WechatMiniprogram.CustomEvent<{ value: string }>) {
    const language = languages[Number(event.detail.value)];
    return this.finish(() => client.recogniseAgain({ segment: this.data.segment }, language));
  },

  done() {
    return this.finish(async () => {});
  },

  /** Saves, and goes back after work, unless the teacher did meanwhile: another page would be closed. */
  async finish(work: () => Promise<void>) {
    if (this.data.busy) return; // it was tapped twice
    this.setData({ busy: true });
    try {
      if (!(await this.draft.save())) throw new Error(this.data.state);
      await work();
      if (!this.isLeft) await wx.navigateBack();
    } catch (error) {
      this.setData({ busy: false });
      report(error);
    }
  },
});
