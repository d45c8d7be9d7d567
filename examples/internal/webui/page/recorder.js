// Records the microphone in segments that decode alone.

import { delay, happens } from "./dom.js";

// Safari's webm did not always play; others cannot record AAC.
const types = ["audio/mp4;codecs=mp4a.40.2", "audio/webm;codecs=opus", "audio/ogg;codecs=opus"];

const shortest = 20_500; // ms from which on a pause ends a segment, which is at least 20 s then
const longest = 60_000;
const pause = 300; // ms of silence that are a pause; shorter recordings have no sound
const tick = 100; // ms between two looks at the level

/** @param {MediaRecorder} recorder */
async function flush(recorder) {
	const data = happens(recorder, "dataavailable", AbortSignal.timeout(2000));
	recorder.requestData();
	return (await data).data?.size;
}

/** Ends a recorder when all is encoded: a busy device is late, and the end drops the rest. @param {MediaRecorder} recorder */
async function finish(recorder) {
	if (recorder.state === "recording") recorder.pause();
	do await delay(pause); while (recorder.state === "paused" && await flush(recorder));
	if (recorder.state === "paused") recorder.stop();
}

/** @type {RecordStream} */
export async function recordStream(stream, on) {
	const context = new AudioContext();
	const analyser = context.createAnalyser();
	analyser.fftSize = 4096;
	const samples = new Float32Array(analyser.fftSize);
	context.createMediaStreamSource(stream).connect(analyser);
	const track = stream.getAudioTracks()[0];
	/** Milliseconds of sound that the device has delivered, where the browser counts them. */
	const delivered = () => /** @type {any} */ (track)?.stats?.deliveredFramesDuration ?? performance.now();
	let floor = 0; // dBFS of the quietest moment lately
	let quiet = 0; // ms since the last sound
	/** @type {Promise<void> | null} */
	let cutting = null;
	/** @type {Promise<void>[]} */
	const ends = [];

	async function start() {
		const type = types.find((t) => MediaRecorder.isTypeSupported(t));
		const recorder = new MediaRecorder(stream, type ? { mimeType: type } : undefined);
		const stopped = happens(recorder, "stop");
		const started = Promise.race([happens(recorder, "start"), stopped.then(() => { throw new Error(); })]);
		// In slices, so that little is lost with the page. Only together they are a recording.
		recorder.start(500);
		await started;
		const sink = on.segment((recorder.mimeType || type || "audio/webm").split(";")[0] ?? "");
		recorder.addEventListener("dataavailable", (e) => e.data.size > 0 && sink.chunk(e.data));
		const began = performance.now();
		ends.push(stopped.then(() => sink.end(performance.now() - began)));
		return { recorder, began };
	}

	function look() {
		analyser.getFloatTimeDomainData(samples);
		let sum = 0;
		for (const sample of samples) sum += sample * sample;
		const level = 10 * Math.log10(sum / samples.length + 1e-10);
		floor = Math.min(level, floor + 0.05);
		quiet = level < Math.max(-50, floor + 6) ? quiet + tick : 0;
		const now = performance.now();
		on.level(level, (now - began) / 1000, (now - began - delivered() + before) / 1000);
		const age = now - segment.began;
		if (!cutting && (age > longest || age > shortest && quiet >= pause)) {
			// The end of the recording waits for this.
			cutting = cut().catch(() => { on.ended(); }).finally(() => { cutting = null; });
		}
	}

	async function cut() {
		const { recorder } = segment;
		segment = await start();
		while (timer && !await flush(segment.recorder)) await delay(tick);
		await finish(recorder);
	}

	track?.addEventListener("ended", on.ended);
	void context.resume(); // the meter may wait for a device
	let segment = await start().catch(async (error) => {
		await context.close();
		throw error;
	});
	const { began } = segment;
	const before = delivered();
	let timer = setInterval(look, tick);
	return async () => {
		clearInterval(timer);
		timer = 0;
		await cutting;
		await delay(pause);
		await finish(segment.recorder);
		await Promise.all(ends);
		for (const track of stream.getTracks()) track.stop();
		await context.close();
	};
}

export function microphone() {
	if (!navigator.mediaDevices) return Promise.reject(new DOMException("", "SecurityError"));
	return navigator.mediaDevices.getUserMedia({
		audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false },
	});
}

/** @type {KeepAwake} */
export function keepAwake(signal) {
	const acquire = async () => {
		if (document.hidden) return;
		const lock = await navigator.wakeLock?.request("screen").catch(() => null);
		if (signal.aborted) void lock?.release();
		else signal.addEventListener("abort", () => void lock?.release(), { once: true });
	};
	// The browser releases the lock whenever the page is hidden.
	document.addEventListener("visibilitychange", acquire, { signal });
	void acquire();
}
