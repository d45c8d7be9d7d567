import { Problem } from "./api/problem.js";
import type { SegmentWithSentences, Sentence } from "./api/types.js";
import { client, recorder, report } from "./service.js";
import { texts } from "./texts.js";

/** What is heard: the segment, or "", and where its sentence begins and ends in the text, if that is known. */
export interface Heard { playing: string; from: number; to: number }

void wx.setInnerAudioOption({ obeyMuteSwitch: false }); // what is tapped is heard, also on a muted iPhone

const silent: Heard = { playing: "", from: 0, to: 0 };
// A new one for each sound, because one that was stopped starts at the beginning.
let player: WechatMiniprogram.InnerAudioContext | undefined;
let heard = silent;
let file = { segment: "", path: "" };
let asked = 0;
let listener: (heard: Heard) => void = () => {};

function tell(now: Heard): void {
  if (now.playing === heard.playing && now.from === heard.from && now.to === heard.to) return;
  heard = now;
  listener(now);
}

/** Names the one who is told what is heard. */
export function onHeard(f: (heard: Heard) => void): void { listener = f; }

export function silence(): void {
  asked++;
  player?.destroy();
  player = undefined;
  tell(silent);
}

/** Plays a recording from where something is said in it: at a place of its text, or these words. */
export async function play(segment: string, said: number | string = 0): Promise<void> {
  silence();
  if (recorder.isWanted) return; // it would be recorded
  const turn = asked;
  try {
    const text = await client.segment(segment); // first: a download cannot tell that the session has ended
    const path = await download(segment);
    if (turn !== asked) return; // another one was tapped
    const sentences = placesOf(text);
    const p = (player = wx.createInnerAudioContext());
    p.onTimeUpdate(() => {
      const now = sentences.find((s) => p.currentTime * 1000 < s.end_ms);
      if (now) tell({ playing: segment, from: now.from, to: now.to });
    });
    p.onEnded(silence);
    p.onError(() => { // iPhones play less than what browsers record
      if (p !== player) return;
      file.segment = ""; // the phone may have deleted it
      silence();
      report(new Error(texts.notPlayed));
    });
    p.startTime = startOf(text, sentences, said) / 1000;
    p.src = path;
    tell({ playing: segment, from: 0, to: 0 });
    p.play();
  } catch (error) {
    report(error);
  }
}

async function download(segment: string): Promise<string> {
  if (file.segment === segment) return file.path;
  const { statusCode, tempFilePath } = await new Promise<WechatMiniprogram.DownloadFileSuccessCallbackResult>(
    (success, fail) => wx.downloadFile({
      ...client.audio(segment), success, fail: ({ errMsg }) => fail(new Problem(0, "no_answer", errMsg)),
    }));
  if (statusCode >= 500) throw new Problem(statusCode, "http_500", "HTTP " + statusCode); // it may be there later
  if (statusCode !== 200) throw new Error(texts.cannotPlay);
  file = { segment, path: tempFilePath };
  return tempFilePath;
}

/** A sentence with its place in the text. */
type Placed = Sentence & { from: number; to: number };

function placesOf(segment: SegmentWithSentences): Placed[] {
  const text = segment.edited_text ?? segment.text;
  let end = 0;
  return segment.sentences.map((s) => {
    const from = text.indexOf(s.text, end);
    const to = from + s.text.length;
    if (from >= 0) end = to;
    return { ...s, from, to };
  }).filter((s) => s.from >= 0);
}

function startOf(segment: SegmentWithSentences, places: Placed[], said: number | string): number {
  const at = typeof said === "number" ? said : (segment.edited_text ?? segment.text).indexOf(said);
  // A generated sentence may be more than was said.
  const sentence = at < 0 ? places.find((s) => String(said).includes(s.text.slice(0, -1)))
    : places.filter((s) => s.from <= at).pop();
  return sentence?.start_ms ?? 0;
}
