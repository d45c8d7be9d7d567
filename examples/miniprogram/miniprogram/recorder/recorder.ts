import { texts } from "../texts.js";

/** What happens to a recorder. */
export interface Events {
  /** A segment is in a temporary file. */
  segment(temporary: string, durationMS: number): void;
  /** Recording goes on, is paused by a call, for example, or has ended. */
  state(recording: boolean, paused: boolean): void;
}

/** Segments are short, so that little is lost with the phone, and text appears while one speaks. */
const segmentMS = 60_000; // the platform allows ten minutes

/**
 * Records the microphone in segments, one after the other. There is one recorder manager in a mini
 * program, so there must be one Recorder.
 */
export class Recorder {
  private readonly manager = wx.getRecorderManager();
  isWanted = false; // from start until stop
  private running = false; // until the platform tells the end
  private events: Events = { segment() {}, state() {} };
  private following = this.events; // of what was started last

  constructor() {
    this.manager.onStart(() => this.events.state(true, false));
    this.manager.onStop((result) => {
      const { events } = this;
      this.running = false;
      if (this.isWanted) this.next(); // before anything else: what is said meanwhile is lost
      events.segment(result.tempFilePath, Math.round(result.duration));
      if (!this.running || events !== this.events) events.state(false, false);
    });
    this.manager.onError(({ errMsg }) => {
      this.running = false;
      this.want(false);
      this.events.state(false, false);
      void explain(errMsg);
    });
    const paused = () => { if (this.isWanted) this.events.state(true, true); };
    this.manager.onInterruptionBegin(paused);
    this.manager.onPause(paused);
    this.manager.onResume(() => { if (this.isWanted) this.events.state(true, false); });
    // After a call the platform has paused the recording. What was said before is delivered.
    this.manager.onInterruptionEnd(() => { if (this.isWanted) this.manager.stop(); });
  }

  /** Starts recording, unless it has been started. The events of this recording go to events. */
  start(events: Events): void {
    if (this.isWanted) return; // the button was tapped twice
    this.following = events;
    this.want(true);
    if (!this.running) this.next(); // else after the end of the recording before
  }

  /** Ends recording. The last segment follows. */
  stop(): void {
    if (!this.isWanted) return;
    this.want(false);
    this.manager.stop();
  }

  private want(wanted: boolean): void {
    this.isWanted = wanted;
    void wx.setKeepScreenOn({ keepScreenOn: wanted }); // with a dark screen the platform may end a recording
  }

  private next(): void {
    this.running = true;
    this.events = this.following;
    this.manager.start({
      duration: segmentMS, format: "mp3", sampleRate: 16000, numberOfChannels: 1, encodeBitRate: 48000,
    });
  }
}

/** Says why nothing is recorded, until the teacher has seen it, and offers the settings of the microphone. */
async function explain(failure: string): Promise<void> {
  const showCancel = /auth|permission/.test(failure);
  const content = showCancel ? texts.noMicrophone : texts.failed + failure;
  const { confirm } = await wx.showModal({ content, showCancel, cancelText: texts.no, confirmText: texts.ok });
  if (showCancel && confirm) await wx.openSetting();
}
