// Records the microphone in segments that each decode on their own.

import { happens } from "./events.js";

// Safari's webm did not always play; others cannot record AAC.
const types = ["audio/mp4;codecs=mp4a.40.2", "audio/webm;codecs=opus", "audio/ogg;codecs=opus"];

const shortest = 20_000; // ms of a segment, from which on a pause ends it
const longest = 60_000;
const pause = 300; // ms of silence that are a pause
const sliver = 300; // ms: a shorter recording contains no sound
const tick = 100; // ms between two looks at the level

/** Recorder records a stream. */
export class Recorder {
	/**
	 * @param {MediaStream} stream
	 * @param {(type: string) => Sink} open starts a segment
	 * @param {(level: number, seconds: number) => void} meter receives the level in dBFS
	 * @param {() => void} ended is called if the microphone goes away
	 */
	constructor(stream, open, meter, ended) {
		this.stream = stream;
		this.open = open;
		this.meter = meter;
		this.began = performance.now();
		this.context = new AudioContext();
		this.analyser = this.context.createAnalyser();
		this.analyser.fftSize = 4096;
		this.samples = new Float32Array(this.analyser.fftSize);
		this.context.createMediaStreamSource(stream).connect(this.analyser);
		this.floor = 0; // dBFS of the quietest moment lately
		this.quiet = 0; // ms since the last sound
		this.cutting = false;
		/** @type {Promise<void>[]} */
		this.stopping = []; // the ends of all segments
		stream.getAudioTracks()[0]?.addEventListener("ended", ended);
	}

	async start() {
		await this.context.resume();
		this.segment = await this.record();
		this.timer = setInterval(() => this.look(), tick);
	}

	/** Starts a segment. It returns when the browser has begun to record it. */
	async record() {
		const type = types.find((t) => MediaRecorder.isTypeSupported(t));
		const recorder = new MediaRecorder(this.stream, type ? { mimeType: type } : undefined);
		const sink = this.open((recorder.mimeType || type || "audio/webm").split(";")[0] ?? "");
		recorder.addEventListener("dataavailable", (e) => e.data.size > 0 && sink.chunk(e.data));
		const started = happens(recorder, "start");
		// In slices, so that little is lost with the page. Only together they are a recording.
		recorder.start(500);
		await started;
		const began = performance.now();
		this.stopping.push(happens(recorder, "stop").then(() => sink.end(performance.now() - began)));
		return { recorder, began };
	}

	look() {
		this.analyser.getFloatTimeDomainData(this.samples);
		let sum = 0;
		for (const sample of this.samples) sum += sample * sample;
		const level = Math.max(-100, 10 * Math.log10(sum / this.samples.length + 1e-10));
		this.floor = Math.min(level, this.floor + 0.05);
		this.quiet = level < Math.max(-50, this.floor + 6) ? this.quiet + tick : 0;
		const now = performance.now();
		this.meter(level, (now - this.began) / 1000);
		const age = this.segment ? now - this.segment.began : 0;
		if (age > longest || age > shortest && this.quiet >= pause) void this.cut();
	}

	/** Begins the next segment before the last one ends: they overlap by some 50 ms, and none is lost. */
	async cut() {
		if (this.cutting) return;
		this.cutting = true;
		try {
			const previous = this.segment;
			this.segment = await this.record();
			if (previous?.recorder.state === "recording") previous.recorder.stop();
		} finally {
			this.cutting = false;
		}
	}

	/** Ends the recording. It returns when the last segment has all its audio. */
	async stop() {
		clearInterval(this.timer);
		const last = this.segment;
		if (last && last.recorder.state !== "inactive") {
			if (performance.now() - last.began < sliver) await new Promise((r) => setTimeout(r, sliver));
			last.recorder.stop();
		}
		await Promise.all(this.stopping);
		for (const track of this.stream.getTracks()) track.stop();
		await this.context.close();
	}
}

/** Asks for the microphone. */
export function microphone() {
	if (!navigator.mediaDevices) return Promise.reject(new DOMException("", "SecurityError"));
	return navigator.mediaDevices.getUserMedia({
		audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false },
	});
}

/**
 * Keeps the screen on until the signal is aborted, where the browser can.
 * @param {AbortSignal} signal
 */
export function keepAwake(signal) {
	const acquire = async () => {
		if (document.hidden || !("wakeLock" in navigator)) return;
		const lock = await navigator.wakeLock.request("screen").catch(() => null);
		if (signal.aborted) void lock?.release();
		else signal.addEventListener("abort", () => void lock?.release(), { once: true });
	};
	// The browser releases the lock whenever the page is hidden.
	document.addEventListener("visibilitychange", acquire, { signal });
	void acquire();
}
